"""Every stage against the float64 oracle, over inputs that Hypothesis chooses.

The default profile runs the same examples every time; `pytest --hypothesis-profile thorough` looks for new ones.
Under the interpreter a program costs milliseconds: the strategies bound rows, programs and keys, not what they combine.
"""

from __future__ import annotations

import math

import pytest

pytest.importorskip("hypothesis")

import torch
from attention.cases import LAYOUTS, Case, build
from attention.oracle import assert_close, oracle
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fdlib import merge_states, naive_attention, online_softmax_attention
from fdlib.plan import key_block, split_ranges

try:
    from fdlib import flash_attention, flash_decode
    from fdlib.attention.combine import combine_splits
    from fdlib.attention.flash_decoding import split_kv_attention
except RuntimeError:  # no triton on this platform
    flash_decode = None

needs_triton = pytest.mark.skipif(flash_decode is None, reason="no triton on this platform")
MAX_ROWS, MAX_PROGRAMS = 12, 24  # batch x heads_q x len_q; batch x heads_kv x splits
EDGES = [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 193, 256, 257, 300]
KERNEL_HEAD_DIMS = st.sampled_from(
    [16, 17, 24, 32, 33, 64, 80, 96, 100, 128, 160, 255, 256]
) | st.integers(16, 256)
more = settings(max_examples=3 * settings.default.max_examples)  # torch alone: milliseconds each


@st.composite
def cases(draw, head_dims=KERNEL_HEAD_DIMS, ragged=True):
    """A `Case` of at most MAX_ROWS rows and MAX_PROGRAMS programs."""
    group = draw(st.sampled_from([1, 2, 3, 4, 6, 8]))
    heads_kv = draw(st.integers(1, max(MAX_ROWS // group, 1)).map(lambda n: min(n, 3)))
    len_q = draw(st.integers(1, min(9, max(MAX_ROWS // (group * heads_kv), 1))))
    batch = draw(
        st.integers(1, max(MAX_ROWS // (group * heads_kv * len_q), 1)).map(lambda n: min(n, 3))
    )
    len_kv = draw(st.sampled_from(EDGES) | st.integers(0, 300))
    dtype = draw(st.sampled_from(["float16", "bfloat16", "float32"]))
    head_dim = draw(head_dims)
    tile = key_block(max(head_dim, 16), 2 if dtype == "float16" else 4)
    length = st.sampled_from([0, len_kv, min(tile + 1, len_kv), min(1, len_kv)]) | st.integers(
        0, len_kv
    )
    lens = draw(st.none() | st.tuples(*[length] * batch)) if ragged else None
    return Case(
        batch=batch,
        heads_q=heads_kv * group,
        heads_kv=heads_kv,
        len_q=len_q,
        len_kv=len_kv,
        head_dim=head_dim,
        dtype=dtype,
        layout=draw(st.sampled_from(LAYOUTS)),
        causal=draw(st.booleans()),
        num_splits=draw(st.integers(0, min(20, MAX_PROGRAMS // (batch * heads_kv)))),
        lens=lens,
        seed=draw(st.integers(0, 3)),
    )


MORE_SPLITS_THAN_BLOCKS = Case(heads_q=2, heads_kv=1, len_kv=130, num_splits=20, dtype="float32")
TWELVE_OVER_TWO = Case(
    heads_q=12, heads_kv=2, len_kv=65, head_dim=80, num_splits=3, layout="packed_kv", lens=(65,)
)


@more
@given(case=cases(head_dims=st.integers(1, 256)))
def test_naive(case):
    inputs = build(case, "cpu")
    got = naive_attention(
        inputs.q, inputs.k, inputs.v, causal=case.causal, cache_seqlens=inputs.cache_seqlens
    )
    assert_close(
        *got, oracle(inputs.q, inputs.k, inputs.v, lens=case.lens, causal=case.causal), case
    )


@more
@given(case=cases(head_dims=st.integers(1, 256), ragged=False), block_n=st.integers(1, 130))
def test_online_softmax(case, block_n):
    inputs = build(case, "cpu")
    got = online_softmax_attention(
        inputs.q, inputs.k, inputs.v, block_n=block_n, causal=case.causal
    )
    assert_close(*got, oracle(inputs.q, inputs.k, inputs.v, causal=case.causal), case)


@more
@given(case=cases(ragged=False), order=st.randoms(use_true_random=False))
def test_merge_in_any_order(case, order):
    inputs = build(case, "cpu")
    ranges = split_ranges(case.len_kv, max(case.num_splits, 1), 16)
    order.shuffle(ranges)
    q, k, v = (x.float() for x in (inputs.q, inputs.k, inputs.v))
    parts = [naive_attention(q, k[:, start:end], v[:, start:end]) for start, end in ranges]
    got = merge_states(*map(list, zip(*parts, strict=True)))
    assert_close(*got, oracle(q, k, v, causal=False), case)


@needs_triton
@given(case=cases(ragged=False))
def test_flash_attention(case):
    inputs = build(case)
    out, lse = flash_attention(inputs.q, inputs.k, inputs.v, causal=case.causal)
    assert out.dtype == inputs.q.dtype
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, causal=case.causal), case)


@needs_triton
@given(case=cases())
@example(case=MORE_SPLITS_THAN_BLOCKS)
@example(case=TWELVE_OVER_TWO)
def test_flash_decode(case):
    inputs = build(case)
    out, lse = flash_decode(
        inputs.q, inputs.k, inputs.v, cache_seqlens=inputs.cache_seqlens, causal=case.causal,
        num_splits=case.num_splits, return_lse=True,
    )  # fmt: skip
    assert out.dtype == inputs.q.dtype
    assert_close(
        out, lse, oracle(inputs.q, inputs.k, inputs.v, lens=case.lens, causal=case.causal), case
    )


@needs_triton
@given(case=cases(), scale=st.floats(-2, 2).map(lambda x: x / math.sqrt(64)))
@example(case=MORE_SPLITS_THAN_BLOCKS, scale=1.0)
def test_split_then_merge(case, scale):
    inputs = build(case)
    parts = split_kv_attention(
        inputs.q, inputs.k, inputs.v, case.num_splits, cache_seqlens=inputs.cache_seqlens, causal=case.causal,
        softmax_scale=scale,
    )  # fmt: skip
    if case.num_splits:
        assert len(parts[0]) == len(parts[1]) == case.num_splits
    expected = oracle(inputs.q, inputs.k, inputs.v, lens=case.lens, causal=case.causal, scale=scale)
    for merge in (merge_states, combine_splits):
        out, lse = merge(*parts)
        assert out.dtype == lse.dtype == torch.float32
        assert_close(out, lse, expected, f"{merge.__name__}: {case}")
