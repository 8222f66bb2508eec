"""The Triton forward kernel against the float64 oracle."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("triton")

import torch
from attention.cases import DEVICE, LAYOUTS, Case, build, launches
from attention.oracle import assert_close, oracle

from fdlib import flash_attention
from fdlib.plan import cdiv, key_block, row_block

HEAD_DIMS = (16, 17, 31, 64, 80, 96, 100, 128, 200, 256)
LEN_KV = (0, 1, 15, 16, 17, 63, 64, 65, 128, 130)


def check(case, **arguments):
    inputs = build(case)
    out, lse = flash_attention(inputs.q, inputs.k, inputs.v, causal=case.causal, **arguments)
    assert out.dtype == inputs.q.dtype
    assert out.is_contiguous()
    expected = oracle(
        inputs.q, inputs.k, inputs.v, causal=case.causal, scale=arguments.get("softmax_scale")
    )
    assert_close(out, lse, expected, case)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("head_dim", HEAD_DIMS)
def test_head_dims_and_dtypes(head_dim, dtype):
    check(
        Case(
            batch=1,
            heads_q=2,
            heads_kv=1,
            len_q=3,
            len_kv=70,
            head_dim=head_dim,
            dtype=dtype,
            causal=True,
        )
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("len_kv", LEN_KV)
def test_lengths(len_kv, causal):
    check(Case(batch=1, heads_q=2, heads_kv=1, len_q=2, len_kv=len_kv, head_dim=64, causal=causal))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    ("len_q", "len_kv"), [(1, 65), (15, 15), (17, 100), (33, 20), (65, 65), (70, 129)]
)
def test_causal_over_several_row_blocks(len_q, len_kv, dtype):
    assert row_block(70, 64, 2) < 70
    check(Case(batch=1, heads_q=1, len_q=len_q, len_kv=len_kv, dtype=dtype))


@pytest.mark.parametrize(("heads_q", "heads_kv"), [(1, 1), (3, 3), (4, 2), (6, 2), (4, 1), (12, 2)])
def test_each_query_head_reads_its_own_key_head(heads_q, heads_kv):
    check(Case(batch=2, heads_q=heads_q, heads_kv=heads_kv, len_q=2, len_kv=20, head_dim=32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, dtype):
    check(
        Case(
            batch=2,
            heads_q=4,
            heads_kv=2,
            len_q=3,
            len_kv=66,
            head_dim=24,
            dtype=dtype,
            layout=layout,
        )
    )


@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0, 3, -0.5])
def test_softmax_scale(scale):
    check(
        Case(batch=1, heads_q=2, len_q=2, len_kv=40, head_dim=32, dtype="float32"),
        softmax_scale=scale,
    )


@pytest.mark.parametrize(
    ("batch", "len_q", "len_kv"), [(1, 1, 0), (0, 2, 5), (2, 0, 5), (1, 6, 2), (1, 20, 1)]
)
def test_empty_rows_without_a_warning(batch, len_q, len_kv):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(
            Case(batch=batch, heads_q=2, len_q=len_q, len_kv=len_kv, head_dim=16, dtype="float32")
        )


@pytest.mark.parametrize("size", [100.0, 1e4])
def test_scores_beyond_the_range_of_exp(size):
    """Scores of +-10^4 and more, in either order: exp of any of them alone is inf or 0."""
    for flip in (False, True):
        inputs = build(Case(len_q=2, len_kv=100, head_dim=32, dtype="float32", causal=False))
        k = inputs.k.flip(1) if flip else inputs.k
        out, lse = flash_attention(inputs.q * size, k, inputs.v)
        assert_close(out, lse, oracle(inputs.q * size, k, inputs.v, causal=False))


def test_nan_in_a_query_row_stays_in_its_row():
    inputs = build(Case(batch=2, heads_q=2, len_q=3, len_kv=40, head_dim=32, dtype="float32"))
    clean = flash_attention(inputs.q, inputs.k, inputs.v)
    inputs.q[1, 1, 0] = float("nan")
    out, lse = flash_attention(inputs.q, inputs.k, inputs.v)
    assert out[1, 1, 0].isnan().all()
    assert lse[1, 0, 1].isnan()
    assert out.isnan().sum() == 32
    keep = ~out.isnan()
    assert torch.equal(out[keep], clean[0][keep])


def test_the_grid_is_row_blocks_times_heads_times_batch():
    inputs = build(Case(batch=2, heads_q=4, heads_kv=2, len_q=70, len_kv=3, head_dim=16))
    with launches() as seen:
        flash_attention(inputs.q, inputs.k, inputs.v)
    assert seen == [("flash_attention", (cdiv(70, row_block(70, 16, 2)) * 4 * 2,))]


def test_inputs_are_not_changed_and_runs_are_equal():
    case = Case(batch=2, heads_q=4, heads_kv=2, len_q=2, len_kv=key_block(64, 2) + 3)
    inputs, before = build(case), build(case)
    first, second = (flash_attention(inputs.q, inputs.k, inputs.v, causal=True) for _ in range(2))
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])
    assert torch.equal(inputs.q, before.q)
    assert torch.equal(inputs.k, before.k)
    assert torch.equal(inputs.v, before.v)
    assert first[0].device.type == DEVICE
