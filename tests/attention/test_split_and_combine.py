"""The two halves of Flash-Decoding on their own: each partial, and the kernel that merges them."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import torch
from attention.cases import DEVICE, Case, build
from attention.oracle import assert_close, oracle

from fdlib import AttentionShape, flash_decode, merge_states, plan_splits
from fdlib.attention.combine import combine_splits
from fdlib.attention.flash_decoding import split_kv_attention
from fdlib.plan import key_block, split_ranges

NEG_INF = float("-inf")


@pytest.mark.parametrize("num_splits", [1, 3, 7])
@pytest.mark.parametrize("lens", [None, (300, 65)])
def test_each_partial_is_attention_over_its_range(num_splits, lens):
    case = Case(
        batch=2, heads_q=4, heads_kv=2, len_kv=300, num_splits=num_splits, lens=lens, causal=False
    )
    inputs = build(case)
    q, k, v = inputs.q, inputs.k, inputs.v
    out, lse = split_kv_attention(
        q, k, v, num_splits, cache_seqlens=inputs.cache_seqlens, causal=False
    )
    assert out.shape == (num_splits, *q.shape)
    assert lse.shape == (num_splits, 2, 4, 1)
    assert out.dtype == lse.dtype == torch.float32
    for b, length in enumerate(lens or (300, 300)):
        for split, (start, end) in enumerate(split_ranges(length, num_splits, key_block(64, 2))):
            rows = slice(b, b + 1)
            expected = oracle(q[rows], k[rows, start:end], v[rows, start:end], causal=False)
            assert_close(
                out[split, rows], lse[split, rows], expected, f"split {split} of sequence {b}"
            )


def test_partials_of_bfloat16_follow_the_plan():
    shape = AttentionShape(heads_q=2, heads_kv=1, len_kv=300, head_dim=128, dtype="bfloat16")
    plan = plan_splits(shape, "H100", num_splits=2)
    inputs = build(Case(heads_q=2, heads_kv=1, len_kv=300, head_dim=128, dtype="bfloat16"))
    out, lse = split_kv_attention(inputs.q, inputs.k, inputs.v, 2)
    for split, (start, end) in enumerate(plan.ranges):
        expected = oracle(inputs.q, inputs.k[:, start:end], inputs.v[:, start:end], causal=False)
        assert_close(out[split], lse[split], expected, f"split {split}")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_split_then_combine_is_decode(dtype):
    case = Case(
        batch=2,
        heads_q=4,
        heads_kv=2,
        len_q=2,
        len_kv=150,
        head_dim=48,
        dtype=dtype,
        lens=(150, 1),
        num_splits=3,
    )
    inputs = build(case)
    arguments = {"cache_seqlens": inputs.cache_seqlens, "num_splits": 3, "return_lse": True}
    out, lse = flash_decode(inputs.q, inputs.k, inputs.v, **arguments)
    parts = split_kv_attention(inputs.q, inputs.k, inputs.v, 3, cache_seqlens=inputs.cache_seqlens)
    combined = combine_splits(*parts, dtype=inputs.q.dtype)
    assert torch.equal(combined[0], out)
    assert torch.equal(combined[1], lse)
    merged_out, merged_lse = merge_states(*parts)
    torch.testing.assert_close(combine_splits(*parts)[0], merged_out, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(lse, merged_lse, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("num_splits", [1, 2, 15, 16, 17, 40])
@pytest.mark.parametrize("head_dim", [16, 40, 130])
def test_combine_is_merge(num_splits, head_dim):
    """Partials of any size, some empty (their `out` is NaN: never read), one row empty in all."""
    out = torch.randn(num_splits, 2, 2, 3, head_dim, device=DEVICE)
    lse = 30 * torch.randn(num_splits, 2, 3, 2, device=DEVICE)
    lse[torch.rand(lse.shape, device=DEVICE) < 0.3] = NEG_INF
    lse[:, 1, 2, 0] = NEG_INF
    out[lse.transpose(2, 3) == NEG_INF] = float("nan")
    got_out, got_lse = combine_splits(out, lse)
    want_out, want_lse = merge_states(out.double(), lse.double())
    torch.testing.assert_close(got_out.double(), want_out, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(got_lse.double(), want_lse, rtol=1e-6, atol=1e-6)
    assert (got_out[1, 0, 2] == 0).all()
    assert got_lse[1, 2, 0] == NEG_INF


class TestCombine:
    out, lse = torch.zeros(3, 1, 2, 4, 16, device=DEVICE), torch.zeros(3, 1, 4, 2, device=DEVICE)

    @pytest.mark.parametrize(
        ("argument", "error", "out", "lse"),
        [
            ("out_partial", TypeError, out.half(), lse),
            ("lse_partial", TypeError, out, lse.double()),
            ("out_partial", TypeError, [out], lse),
            ("out_partial", ValueError, out[0], lse),
            ("lse_partial", ValueError, out, lse[0]),
            ("out_partial", ValueError, out[:0], lse[:0]),
            ("lse_partial", ValueError, out, lse[:2]),
            ("lse_partial", ValueError, out, lse.transpose(2, 3).contiguous()),
            ("out_partial", ValueError, out.repeat_interleave(2, dim=-1)[..., ::2], lse),
            ("lse_partial", ValueError, out, torch.zeros(3, 1, 4, 2, device="meta")),
        ],
    )
    def test_refusals(self, argument, error, out, lse):
        with pytest.raises(error, match=rf"^{argument}: got .*, takes "):
            combine_splits(out, lse)
