"""A kernel that asks `_split_range` for ranges, one program each: what tests/test_plan.py compares with fdlib.plan."""

from __future__ import annotations

from fdlib.attention.flash_decoding import _split_range

import triton  # isort: skip  (fdlib chooses the mode before triton is imported)
import triton.language as tl  # isort: skip


@triton.jit
def write_split_ranges(Asked, Answers, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    len_kv, num_splits, split = (
        tl.load(Asked + 3 * pid),
        tl.load(Asked + 3 * pid + 1),
        tl.load(Asked + 3 * pid + 2),
    )
    start, end = _split_range(len_kv, num_splits, split, BLOCK_N)
    tl.store(Answers + 2 * pid, start)
    tl.store(Answers + 2 * pid + 1, end)
