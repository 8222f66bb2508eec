"""The oracle itself: against loops in plain Python, and against torch's own attention."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from attention.cases import LAYOUTS, Case, build

from fdlib import naive_attention

NEG_INF = float("-inf")


def by_hand(q, k, v, lens, causal, scale):
    """Attention as nested lists of Python floats, from the definition: `out` and `lse` as tensors."""
    (batch, len_q, heads_q, _), heads_kv = q.shape, k.shape[2]
    out = torch.zeros(q.shape, dtype=torch.float64)
    lse = torch.full((batch, heads_q, len_q), NEG_INF, dtype=torch.float64)
    for b in range(batch):
        for h in range(heads_q):
            keys, values = (x[b, :, h * heads_kv // heads_q].tolist() for x in (k, v))
            for i, query in enumerate(q[b, :, h].tolist()):
                visible = lens[b] - len_q + i + 1 if causal else lens[b]
                scores = [
                    scale * math.fsum(map(float.__mul__, query, key))
                    for key in keys[: max(visible, 0)]
                ]
                if scores:
                    weights = [math.exp(score - max(scores)) for score in scores]
                    total = math.fsum(weights)
                    lse[b, h, i] = max(scores) + math.log(total)
                    for d, column in enumerate(zip(*values[: len(scores)], strict=True)):
                        out[b, i, h, d] = math.fsum(map(float.__mul__, weights, column)) / total
    return out, lse


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "case",
    [
        Case(len_kv=7, head_dim=5),
        Case(batch=2, heads_q=6, heads_kv=2, len_q=3, len_kv=9, head_dim=4),
        Case(batch=3, heads_q=4, heads_kv=1, len_q=5, len_kv=8, head_dim=3, lens=(0, 8, 3)),
        Case(batch=1, heads_q=3, heads_kv=3, len_q=6, len_kv=2, head_dim=6),
        Case(batch=2, heads_q=2, heads_kv=1, len_q=2, len_kv=0, head_dim=4),
    ],
    ids=str,
)
def test_is_the_definition(case, causal):
    inputs = build(case, "cpu")
    q, k, v = (x.double() for x in (inputs.q, inputs.k, inputs.v))
    expected = by_hand(
        q, k, v, case.lens or (case.len_kv,) * case.batch, causal, 1 / math.sqrt(case.head_dim)
    )
    got = naive_attention(q, k, v, causal=causal, cache_seqlens=inputs.cache_seqlens)
    for mine, theirs in zip(got, expected, strict=True):
        assert mine.dtype == torch.float64
        torch.testing.assert_close(mine, theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("scale", [None, 0.0, 1.0, -0.3, 5])
def test_softmax_scale(scale):
    inputs = build(Case(batch=2, heads_q=4, heads_kv=2, len_q=2, len_kv=11, head_dim=8), "cpu")
    q, k, v = (x.double() for x in (inputs.q, inputs.k, inputs.v))
    out, lse = naive_attention(q, k, v, softmax_scale=scale)
    expected = by_hand(
        q, k, v, (11, 11), False, 1 / math.sqrt(8) if scale is None else float(scale)
    )
    torch.testing.assert_close((out, lse), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("len_q", "len_kv", "causal"), [(1, 50, False), (4, 50, True), (50, 50, True), (7, 33, False)]
)
def test_agrees_with_torch(len_q, len_kv, causal):
    """SDPA's own causal flag aligns top-left: the mask is built here, bottom-right."""
    case = Case(
        batch=2, heads_q=6, heads_kv=3, len_q=len_q, len_kv=len_kv, head_dim=32, dtype="float32"
    )
    q, k, v = (
        x.double() for x in (build(case, "cpu").q, build(case, "cpu").k, build(case, "cpu").v)
    )
    mask = torch.ones(len_q, len_kv, dtype=torch.bool).tril(len_kv - len_q) if causal else None
    heads_first = (x.transpose(1, 2) for x in (q, k, v))
    expected = torch.nn.functional.scaled_dot_product_attention(
        *heads_first, attn_mask=mask, enable_gqa=True
    )
    out, _ = naive_attention(q, k, v, causal=causal)
    torch.testing.assert_close(out, expected.transpose(1, 2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_computes_in_float32_and_returns_the_dtype_of_q(dtype, layout):
    case = Case(
        batch=2,
        heads_q=4,
        heads_kv=2,
        len_q=2,
        len_kv=20,
        head_dim=24,
        dtype=dtype,
        layout=layout,
        lens=(20, 7),
    )
    inputs = build(case, "cpu")
    out, lse = naive_attention(
        inputs.q, inputs.k, inputs.v, causal=True, cache_seqlens=inputs.cache_seqlens
    )
    exact = naive_attention(
        *(x.double() for x in (inputs.q, inputs.k, inputs.v)),
        causal=True,
        cache_seqlens=inputs.cache_seqlens,
    )
    assert (out.dtype, lse.dtype) == (inputs.q.dtype, torch.float32)
    assert out.is_contiguous()
    eps = torch.finfo(inputs.q.dtype).eps
    torch.testing.assert_close(out.double(), exact[0], rtol=eps, atol=1e-5)
    torch.testing.assert_close(lse.double(), exact[1], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("len_q", "len_kv", "lens"), [(1, 0, None), (3, 5, (0, 5)), (4, 2, None), (2, 6, (1, 0))]
)
def test_empty_rows_are_zero_and_minus_infinity_without_a_warning(len_q, len_kv, lens, causal):
    inputs = build(
        Case(
            batch=2, heads_q=2, len_q=len_q, len_kv=len_kv, head_dim=8, dtype="float32", lens=lens
        ),
        "cpu",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out, lse = naive_attention(
            inputs.q, inputs.k, inputs.v, causal=causal, cache_seqlens=inputs.cache_seqlens
        )
    for b, length in enumerate(lens or (len_kv, len_kv)):
        for i in range(len_q):
            seen = length - len_q + i + 1 if causal else length
            assert (lse[b, :, i] == NEG_INF).all() == (seen <= 0)
            assert (out[b, i] == 0).all() == (seen <= 0)
    assert not out.isnan().any()
    assert not lse.isnan().any()


def test_one_length_for_all_sequences():
    inputs = build(Case(batch=3, heads_q=2, len_kv=10, head_dim=8, dtype="float32"), "cpu")
    out, lse = naive_attention(inputs.q, inputs.k, inputs.v, cache_seqlens=4)
    expected = naive_attention(inputs.q, inputs.k[:, :4], inputs.v[:, :4])
    torch.testing.assert_close((out, lse), expected)


def test_has_a_gradient():
    inputs = build(Case(heads_q=2, len_kv=5, head_dim=4, dtype="float32"), "cpu")
    q = inputs.q.requires_grad_()
    naive_attention(q, inputs.k, inputs.v)[0].sum().backward()
    assert q.grad.isfinite().all()
