"""fdlib.plan: ranges, grids and split counts as integers, and the GPU's formula held to them."""

from __future__ import annotations

import importlib.util
import itertools
import math

import pytest

from fdlib import AttentionShape, plan_splits
from fdlib.gpus import GPUS, get_gpu
from fdlib.plan import (
    MERGES_PER_BLOCK,
    cdiv,
    choose_num_splits,
    flash_attention_programs,
    key_block,
    row_block,
    split_range,
    split_ranges,
)

LENGTHS = (0, 1, 15, 16, 17, 63, 64, 65, 100, 128, 129, 300, 1000, 4097, 100_000, 2**31 - 1)
SPLITS = (1, 2, 3, 7, 10, 16, 33, 132, 264)
BLOCKS = (16, 32, 64)


@pytest.mark.parametrize("block_n", BLOCKS)
@pytest.mark.parametrize("len_kv", LENGTHS)
def test_ranges_cover_the_keys_once_in_order(len_kv, block_n):
    for num_splits in SPLITS:
        ranges = split_ranges(len_kv, num_splits, block_n)
        assert len(ranges) == num_splits
        assert ranges[0][0] == 0
        assert ranges[-1][1] == len_kv
        for (_, end), (start, _) in itertools.pairwise(ranges):
            assert end == start
        assert all(start <= end for start, end in ranges)


@pytest.mark.parametrize("block_n", BLOCKS)
@pytest.mark.parametrize("len_kv", LENGTHS)
def test_ranges_are_whole_blocks_and_even(len_kv, block_n):
    for num_splits in SPLITS:
        ranges = split_ranges(len_kv, num_splits, block_n)
        assert all(start % block_n == 0 or start == len_kv for start, _ in ranges)
        blocks = [cdiv(end - start, block_n) for start, end in ranges]
        assert max(blocks) - min(blocks) <= 1
        assert sum(blocks) == cdiv(len_kv, block_n)


def test_more_splits_than_blocks_leaves_empty_splits():
    ranges = split_ranges(130, 20, 64)
    assert sum(start == end for start, end in ranges) == 17
    assert [r for r in ranges if r[0] < r[1]] == [(0, 64), (64, 128), (128, 130)]


def _device_ranges(triples, block_n):
    """`_split_range` for (len_kv, num_splits, split) triples, as the kernel computes it."""
    import torch
    from attention.cases import DEVICE
    from attention.split_range_kernel import write_split_ranges

    asked = torch.tensor(triples, dtype=torch.int32, device=DEVICE)
    answers = torch.full((len(triples), 2), -1, dtype=torch.int32, device=DEVICE)
    write_split_ranges[(len(triples),)](asked, answers, BLOCK_N=block_n)
    return [tuple(pair) for pair in answers.tolist()]


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no triton on this platform")
@pytest.mark.parametrize("block_n", BLOCKS)
def test_the_kernel_computes_the_same_ranges(block_n):
    triples = [
        (len_kv, num_splits, split)
        for len_kv, num_splits in itertools.product(LENGTHS[:-1], (1, 3, 10, 264))
        for split in sorted({0, 1, num_splits // 2, num_splits - 1})
        if split < num_splits
    ]
    triples += [(2**31 - 65, 264, split) for split in (0, 131, 262, 263)]  # products beyond 2^31
    expected = [split_range(*triple, block_n) for triple in triples]
    assert _device_ranges(triples, block_n) == expected


def test_tiles_fit_what_they_are_made_for():
    for head_dim, element_bytes in itertools.product(range(16, 257), (2, 4)):
        block_n = key_block(head_dim, element_bytes)
        assert 16 <= block_n <= 64
        assert block_n & (block_n - 1) == 0
        assert block_n * head_dim * element_bytes <= 16 * 1024
        for rows in (1, 15, 16, 17, 64, 1000):
            block_m = row_block(rows, head_dim, element_bytes)
            assert 16 <= block_m <= 64
            assert block_m & (block_m - 1) == 0
            assert block_m * head_dim <= 64 * 128


@pytest.mark.parametrize("num_sms", [40, 58, 132])
@pytest.mark.parametrize("programs", [0, 1, 2, 7, 8, 40, 64, 105, 106, 131, 132, 1000])
def test_split_count_is_within_its_limits(programs, num_sms):
    for key_blocks in (0, 1, 2, 3, 4, 64, 1024, 8192):
        splits = choose_num_splits(programs, key_blocks, num_sms)
        assert splits >= 1
        if splits > 1:
            assert splits**2 <= MERGES_PER_BLOCK * key_blocks  # the combine stays the smaller part
            fewer = cdiv(key_blocks, splits - 1)
            assert fewer > cdiv(key_blocks, splits)  # one fewer would make the longest part longer
            # one fewer is further from one program per SM
            near = programs * (splits - 0.5) <= num_sms
            assert near or (splits == 2 and programs < 0.9 * num_sms)


@pytest.mark.parametrize("num_sms", sorted({gpu.num_sms for gpu in GPUS.values()}))
def test_split_count_is_monotone(num_sms):
    """More keys never make the longest part shorter, more programs never more splits, more SMs never fewer."""
    for programs in (1, 2, 8, 17, 64):
        sizes = range(1, 2000, 7)
        longest = [cdiv(n, choose_num_splits(programs, n, num_sms)) for n in sizes]
        assert longest == sorted(longest)
    counts = [choose_num_splits(programs, 1024, num_sms) for programs in range(1, 400)]
    assert counts == sorted(counts, reverse=True)
    assert choose_num_splits(8, 1024, num_sms + 10) >= choose_num_splits(8, 1024, num_sms)


@pytest.mark.parametrize("gpu", sorted(GPUS))
def test_one_long_sequence_fills_the_gpu(gpu):
    """At batch 1 and 64k keys at least three quarters of the SMs have work, whatever the head count."""
    for heads_kv in (1, 2, 4, 8, 16, 32):
        plan = plan_splits(AttentionShape(heads_q=32, heads_kv=heads_kv, len_kv=65_536), gpu)
        assert plan.busy_sms >= 0.75 * plan.num_sms


def test_plan_numbers():
    shape = AttentionShape(
        batch=2, heads_q=12, heads_kv=2, len_q=3, len_kv=1000, head_dim=96, dtype="float16"
    )
    plan = plan_splits(shape, "H100", num_splits=5)
    assert (
        plan
        == plan_splits(shape, get_gpu("H100"), num_splits=5)
        == plan_splits(shape, 132, num_splits=5)
    )
    # 6 heads x 3 positions in one tile
    assert (plan.block_m, plan.block_n, plan.row_blocks) == (32, 64, 1)
    assert plan.programs == 2 * 2 * 1 * 5
    assert (plan.busy_sms, plan.idle_fraction) == (20, 1 - 20 / 132)
    assert plan.ranges == split_ranges(1000, 5, 64)
    assert plan.scratch_bytes == 5 * 2 * 12 * 3 * (96 + 1) * 4
    assert plan_splits(shape, get_gpu("H100"), num_splits=1).scratch_bytes == 0


@pytest.mark.parametrize("heads_kv", [1, 2, 4, 8])
def test_no_batch_size_falls_off_a_cliff(heads_kv):
    """Batch 1 to 32: as long as the grid alone does not fill the GPU, splitting brings it near one program per SM.

    At least two thirds of the SMs get a program; two splits, which spread better than one, at most 1.8 a SM.
    """
    for batch in range(1, 33):
        plan = plan_splits(
            AttentionShape(batch=batch, heads_q=32, heads_kv=heads_kv, len_kv=32_768), "H200"
        )
        most = math.isqrt(MERGES_PER_BLOCK * cdiv(32_768, plan.block_n))
        if batch * heads_kv <= plan.num_sms and plan.num_splits < 0.8 * most:
            assert 2 / 3 <= plan.programs / plan.num_sms <= 1.8, (batch, plan.num_splits)


def test_plan_of_nothing():
    for sizes in ({"batch": 0, "len_kv": 100}, {"len_q": 0, "len_kv": 100}, {"len_kv": 0}):
        plan = plan_splits(AttentionShape(heads_q=8, heads_kv=2, **sizes), "T4")
        assert plan.num_splits == 1
        assert sum(end - start for start, end in plan.ranges) == sizes["len_kv"]


def test_flash_attention_leaves_the_keys_alone():
    grids = {
        flash_attention_programs(AttentionShape(batch=3, heads_q=8, heads_kv=2, len_q=1, len_kv=n))
        for n in LENGTHS
    }
    assert grids == {24}
    assert (
        flash_attention_programs(AttentionShape(heads_q=8, heads_kv=2, len_q=257, len_kv=257)) == 24
    )


def test_partials_stay_below_one_percent_of_the_keys_and_values():
    for heads_kv, head_dim in itertools.product((1, 2, 8, 32), (64, 128, 256)):
        shape = AttentionShape(heads_q=32, heads_kv=heads_kv, len_kv=131_072, head_dim=head_dim)
        if shape.group_size <= 4:
            assert plan_splits(shape, "H200").scratch_bytes <= 0.01 * shape.kv_bytes


@pytest.mark.parametrize("num_splits", [-1, -264])
def test_negative_splits_are_refused(num_splits):
    shape = AttentionShape(heads_q=8, heads_kv=2, len_kv=100)
    with pytest.raises(ValueError, match=rf"num_splits: got {num_splits}, takes"):
        plan_splits(shape, "H100", num_splits)


@pytest.mark.parametrize("num_splits", [True, 2.0, "4", None])
def test_a_split_count_is_an_int(num_splits):
    shape = AttentionShape(heads_q=8, heads_kv=2, len_kv=100)
    with pytest.raises((ValueError, TypeError), match="num_splits: got .*, takes"):
        plan_splits(shape, "H100", num_splits)


@pytest.mark.parametrize("gpu", [0, -1, True, None, 1.5])
def test_a_number_of_sms_is_a_positive_int(gpu):
    with pytest.raises((ValueError, TypeError), match="gpu: got .*, takes"):
        plan_splits(AttentionShape(heads_q=8, heads_kv=2, len_kv=100), gpu)


def test_an_unknown_gpu_is_refused():
    with pytest.raises(ValueError, match="Voodoo"):
        plan_splits(AttentionShape(heads_q=8, heads_kv=2, len_kv=100), "Voodoo 2")
