"""Faults that other projects shipped, each as a kind of input; the thread stands in the test's docstring."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import torch
from attention.cases import DEVICE, Case, build, launches
from attention.oracle import assert_close, measure, oracle

from fdlib import (
    AttentionShape,
    flash_attention,
    flash_decode,
    merge_states,
    naive_attention,
    plan_splits,
)
from fdlib.attention.combine import combine_splits
from fdlib.attention.flash_decoding import split_kv_attention
from fdlib.plan import key_block

NEG_INF = float("-inf")


def decode(inputs, **arguments):
    arguments = {"cache_seqlens": inputs.cache_seqlens, "return_lse": True, **arguments}
    return flash_decode(inputs.q, inputs.k, inputs.v, **arguments)


@pytest.mark.parametrize("num_splits", [0, 1, 4])
def test_an_empty_sequence_among_others_with_stale_keys(num_splits):
    """lens [5, 7, 9, 0] over a cache that holds old keys (vllm#57094)."""
    case = Case(batch=4, heads_q=2, heads_kv=1, len_kv=80, head_dim=32, lens=(5, 7, 9, 0))
    inputs = build(case)
    inputs.k[3], inputs.v[3] = 100.0, 7.0  # stale and finite: reading them shows
    out, lse = decode(inputs, num_splits=num_splits)
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, lens=case.lens, causal=True), case)
    assert (out[3] == 0).all()
    assert (lse[3] == NEG_INF).all()


@pytest.mark.parametrize("merge", [merge_states, combine_splits])
def test_merging_states_that_saw_nothing(merge):
    """Two states of lse -inf merge to 0 and -inf, not NaN (vllm#39148)."""
    out, lse = merge(
        torch.randn(2, 1, 1, 3, 16, device=DEVICE), torch.full((2, 1, 3, 1), NEG_INF, device=DEVICE)
    )
    assert (out == 0).all()
    assert (lse == NEG_INF).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("num_splits", [1, 2])
def test_a_length_one_off_a_tile(dtype, over, num_splits):
    """len = tile + 1 (vllm#44850), with NaN in the unused slots of that tile (vllm#47305)."""
    length = key_block(128, 2 if dtype == "float16" else 4) + over
    case = Case(heads_q=2, heads_kv=1, len_kv=130, head_dim=128, dtype=dtype, lens=(length,))
    inputs = build(case)
    out, lse = decode(inputs, num_splits=num_splits)
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, lens=case.lens, causal=True), case)


@pytest.mark.parametrize("num_splits", [0, 3])
def test_all_lengths_zero(num_splits):
    """Batch 16, nothing cached yet (sglang#5516)."""
    inputs = build(Case(batch=16, heads_q=2, heads_kv=1, len_kv=40, head_dim=16, lens=(0,) * 16))
    out, lse = decode(inputs, num_splits=num_splits)
    assert (out == 0).all()
    assert (lse == NEG_INF).all()


@pytest.mark.parametrize("stage", [naive_attention, flash_attention, flash_decode])
def test_more_queries_than_keys_causal(stage):
    """q longer than k: the leading rows see nothing, the others are computed (aotriton#235, FlashAttention#282)."""
    case = Case(heads_q=2, heads_kv=1, len_q=40, len_kv=13, head_dim=16, dtype="float32")
    inputs = build(case)
    extra = {"return_lse": True} if stage is flash_decode else {}
    out, lse = stage(inputs.q, inputs.k, inputs.v, causal=True, **extra)
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, causal=True))
    assert (out[:, :27] == 0).all()
    assert lse[:, :, 27:].isfinite().all()


def test_bottom_right_not_top_left():
    """3 queries, 70 keys: query i sees keys up to 67 + i (FlashAttention#282), and a longer cache moves nothing."""
    inputs = build(Case(heads_q=1, len_q=3, len_kv=90, head_dim=16, dtype="float32", lens=(70,)))
    out, _ = decode(inputs)
    for i in range(3):
        alone, _ = naive_attention(
            inputs.q[:, i : i + 1], inputs.k[:, : 68 + i], inputs.v[:, : 68 + i]
        )
        torch.testing.assert_close(out[:, i : i + 1], alone, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("position", [0, 5, 63, 64])
def test_a_query_at_a_position_of_a_longer_cache(position):
    """The query is the cache's token `position`; what lies behind it is not written yet (gpt-fast#233)."""
    case = Case(heads_q=2, heads_kv=1, len_kv=130, head_dim=32, lens=(position + 1,))
    inputs = build(case)
    assert_close(
        *decode(inputs), oracle(inputs.q, inputs.k, inputs.v, lens=case.lens, causal=True), case
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("num_splits", [1, 3])
def test_lse_is_natural_log_and_float32(dtype, num_splits):
    """A base mix-up is a ratio of 1.4427 (flashinfer#2113); an LSE that passes through bf16 is off by 0.03.

    LSEs from 16 up: bf16 steps by 0.125 there.
    """
    inputs = build(Case(heads_q=2, len_kv=200, dtype=dtype))
    _, lse = decode(inputs, softmax_scale=0.7, num_splits=num_splits)
    expected = oracle(inputs.q, inputs.k, inputs.v, causal=True, scale=0.7).lse
    assert lse.dtype == torch.float32
    assert expected.min() > 16
    torch.testing.assert_close(
        lse.double() / expected, torch.ones_like(expected), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("num_splits", [1, 2])
def test_empty_rows_between_others(num_splits):
    """B 64, 8/2 heads, rows 1 and 10 empty: an early exit must not write another row's LSE (FlashAttention#2842)."""
    lens = tuple(0 if b in (1, 10) else 1 + b % 9 for b in range(64))
    case = Case(batch=64, heads_q=8, heads_kv=2, len_kv=9, head_dim=16, lens=lens)
    inputs = build(case)
    # the combine costs a program per row here: the partials are merged in torch instead
    parts = split_kv_attention(
        inputs.q, inputs.k, inputs.v, num_splits, cache_seqlens=inputs.cache_seqlens
    )
    out, lse = merge_states(*parts)
    assert_close(
        out.to(inputs.q.dtype),
        lse,
        oracle(inputs.q, inputs.k, inputs.v, lens=lens, causal=True),
        case,
    )
    assert [b for b in range(64) if (lse[b] == NEG_INF).all()] == [1, 10]
    assert (lse == NEG_INF).sum() == 2 * 8


@pytest.mark.parametrize("num_splits", [0, 1, 5])
def test_asking_for_the_lse_changes_no_output(num_splits):
    """Split, with no LSE asked for: the merge needs it all the same (flashinfer#50)."""
    inputs = build(Case(batch=2, heads_q=4, heads_kv=2, len_kv=300, head_dim=32))
    out = flash_decode(inputs.q, inputs.k, inputs.v, num_splits=num_splits)
    assert isinstance(out, torch.Tensor)
    assert torch.equal(out, decode(inputs, num_splits=num_splits)[0])


@pytest.mark.parametrize("gpu", ["T4", "A100", "H200"])
def test_one_key_head_and_64k_keys_are_split(gpu):
    """A heuristic that stays at one split for B 1, H_kv 1 (FlashAttention#2901)."""
    plan = plan_splits(AttentionShape(heads_q=8, heads_kv=1, len_kv=65_536), gpu)
    assert plan.num_splits >= 0.8 * plan.num_sms


def test_batch_sizes_eight_to_sixteen():
    """A latency cliff at one batch size (vllm#48076): the busy SMs change by what rounding to whole splits costs."""
    shapes = [
        AttentionShape(batch=batch, heads_q=32, heads_kv=8, len_kv=8192) for batch in range(8, 17)
    ]
    busy = [plan_splits(shape, "H200").busy_sms for shape in shapes]
    assert min(busy) >= 2 / 3 * max(busy)


def test_split_counts_agree_and_each_repeats_bitwise():
    """bf16, 16 and 32 splits: within tolerance, the same bits at a fixed count (FlashAttention#1647)."""
    inputs = build(Case(heads_q=2, heads_kv=1, len_kv=520, head_dim=32, dtype="bfloat16"))
    expected = oracle(inputs.q, inputs.k, inputs.v, causal=True)
    for num_splits in (16, 32):
        (out, lse), again = (
            decode(inputs, num_splits=num_splits),
            decode(inputs, num_splits=num_splits),
        )
        assert_close(out, lse, expected, num_splits)
        assert torch.equal(out, again[0])
        assert torch.equal(lse, again[1])


@pytest.mark.parametrize("layout", ["packed_kv", "mixed_strides"])
@pytest.mark.parametrize("stage", [flash_attention, flash_decode])
def test_keys_and_values_with_strides_of_their_own(layout, stage):
    """K and V unbound from one buffer (aiter#3498); K and V with different strides (FlagAttention)."""
    case = Case(batch=2, heads_q=4, heads_kv=2, len_q=2, len_kv=70, head_dim=32, layout=layout)
    inputs = build(case)
    assert (inputs.k.stride() != inputs.v.stride()) == (layout == "mixed_strides")
    assert inputs.k.stride() != inputs.k.contiguous().stride() or layout == "mixed_strides"
    extra = {"return_lse": True, "num_splits": 2} if stage is flash_decode else {}
    got = stage(inputs.q, inputs.k, inputs.v, causal=True, **extra)
    assert_close(*got, oracle(inputs.q, inputs.k, inputs.v, causal=True), case)


@pytest.mark.parametrize("stage", [flash_attention, flash_decode])
def test_a_group_that_is_no_power_of_two(stage):
    """12 query heads over 2 (pytorch#151359)."""
    inputs = build(Case(heads_q=12, heads_kv=2, len_kv=70, head_dim=32))
    extra = {"return_lse": True} if stage is flash_decode else {}
    out, lse = stage(inputs.q, inputs.k, inputs.v, **extra)
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, causal=False))


def test_grids_have_one_axis():
    """2050 sequences of 32 heads are 65,600 programs, more than the second or third grid axis takes (fla#1096)."""
    inputs = build(Case(batch=3, heads_q=4, heads_kv=2, len_q=2, len_kv=20, head_dim=16))
    with launches() as seen:
        flash_attention(inputs.q, inputs.k, inputs.v)
        decode(inputs, num_splits=2)
    assert [len(grid) for _, grid in seen] == [1, 1, 1]


def test_float32_is_not_tf32():
    """A float32 dot on tensor cores keeps 10 bits of mantissa (triton#8654): errors of 1e-3, not 1e-6.

    Under the interpreter this holds by itself: test_compiles looks for tf32 in the machine code.
    """
    inputs = build(
        Case(heads_q=2, len_q=16, len_kv=200, head_dim=128, dtype="float32", causal=False)
    )
    errors = measure(
        *decode(inputs, causal=False), oracle(inputs.q, inputs.k, inputs.v, causal=False)
    )
    assert errors.out_abs < 1e-5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_bf16_on_a_t4_is_refused(dtype, monkeypatch):
    """bf16 on sm_75 (vllm#45829): the refusal names the argument."""
    from fdlib.attention import inputs as module

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))

    class OnAT4(torch.Tensor):
        is_cuda = True
        device = torch.device("cuda")

    x = torch.zeros(1, 1, 1, 16, dtype=dtype).as_subclass(OnAT4)
    if dtype == torch.float16:
        module.check_for_kernel("q", x)
    else:
        with pytest.raises(TypeError, match="q: got bfloat16, takes float16 or float32"):
            module.check_for_kernel("q", x)
