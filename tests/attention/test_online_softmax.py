"""The streaming update and the merge: exact, in any order, with an identity."""

from __future__ import annotations

import warnings

import pytest
import torch
from attention.cases import LAYOUTS, Case, build
from attention.oracle import assert_close, oracle

from fdlib import naive_attention, online_softmax_attention
from fdlib.attention.online_softmax import SoftmaxState, finalize, update

NEG_INF = float("-inf")


@pytest.mark.parametrize("block", [1, 3, 16, 200])
@pytest.mark.parametrize("descending", [False, True])
def test_update_over_blocks_is_softmax(block, descending):
    """A maximum that moves at every block, or never after the first."""
    scores = (
        torch.randn(2, 3, 50, dtype=torch.float64).sort(dim=-1, descending=descending).values * 20
    )
    v = torch.randn(2, 50, 7, dtype=torch.float64)
    state = SoftmaxState.empty((2, 3), 7, v)
    for start in range(0, 50, block):
        state = update(state, scores[..., start : start + block], v[:, start : start + block])
    out, lse = finalize(state)
    torch.testing.assert_close(out, scores.softmax(-1) @ v, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(lse, scores.logsumexp(-1), rtol=1e-14, atol=0)
    assert torch.equal(state.m, scores.amax(-1))


def test_a_masked_block_changes_nothing():
    v = torch.randn(1, 6, 4, dtype=torch.float64)
    hidden = torch.full((1, 2, 6), NEG_INF, dtype=torch.float64)
    empty = SoftmaxState.empty((1, 2), 4, v)
    for start in (empty, update(empty, torch.randn(1, 2, 6, dtype=torch.float64), v)):
        after = update(start, hidden, v)
        assert torch.equal(after.m, start.m)
        assert torch.equal(after.l, start.l)
        assert torch.equal(after.acc, start.acc)
    out, lse = finalize(empty)
    assert (out == 0).all()
    assert (lse == NEG_INF).all()


@pytest.mark.parametrize("block_n", [1, 16, 64, 1000])
@pytest.mark.parametrize("causal", [False, True])
def test_online_attention_is_attention(block_n, causal):
    case = Case(batch=2, heads_q=6, heads_kv=2, len_q=5, len_kv=70, head_dim=24, dtype="float32")
    q, k, v = (
        x.double() for x in (build(case, "cpu").q, build(case, "cpu").k, build(case, "cpu").v)
    )
    got = online_softmax_attention(q, k, v, block_n=block_n, causal=causal)
    torch.testing.assert_close(got, naive_attention(q, k, v, causal=causal), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dtypes_and_layouts(dtype, layout):
    case = Case(
        batch=2, heads_q=4, heads_kv=2, len_q=3, len_kv=90, head_dim=40, dtype=dtype, layout=layout
    )
    inputs = build(case, "cpu")
    out, lse = online_softmax_attention(
        inputs.q, inputs.k, inputs.v, block_n=32, causal=True, softmax_scale=0.3
    )
    assert out.dtype == inputs.q.dtype
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, causal=True, scale=0.3), case)


@pytest.mark.parametrize(
    ("batch", "len_q", "len_kv"),
    [
        (1, 1, 0),
        (1, 5, 2),
        (2, 3, 1),
        (1, 0, 5),
        (0, 1, 5),
    ],
)
def test_empty_rows(batch, len_q, len_kv):
    inputs = build(
        Case(batch=batch, heads_q=2, len_q=len_q, len_kv=len_kv, head_dim=8, dtype="float32"), "cpu"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out, lse = online_softmax_attention(inputs.q, inputs.k, inputs.v, causal=True)
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, causal=True))


@pytest.mark.parametrize("block_n", [0, -1, 1.5, True, None])
def test_a_block_has_a_key_at_least(block_n):
    q = torch.zeros(1, 1, 1, 8)
    with pytest.raises(ValueError, match=rf"^block_n: got {block_n}, takes "):
        online_softmax_attention(q, q, q, block_n=block_n)
