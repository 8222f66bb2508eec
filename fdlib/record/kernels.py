"""Kernels to measure a GPU with: read, do nothing, stay busy, read the timer."""

from __future__ import annotations

from fdlib.device import require_triton

require_triton()

import triton  # noqa: E402  (compiled mode is chosen before triton is imported)
import triton.language as tl  # noqa: E402
from triton.language.extra.cuda import globaltimer  # noqa: E402

__all__ = ["empty_kernel", "read_kernel", "spin_kernel", "timer_kernel"]


@triton.jit
def read_kernel(X, Out, blocks, BLOCK: tl.constexpr):
    """Sum ``X``, block by block; the programs take turns."""
    acc = tl.zeros([BLOCK], tl.float32)
    for i in tl.range(tl.program_id(0), blocks, tl.num_programs(0)):
        acc += tl.load(X + i.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)).to(tl.float32)
    tl.store(Out + tl.program_id(0), tl.sum(acc, 0))


@triton.jit
def empty_kernel(Out):
    """Nothing: what is left is the launch."""


@triton.jit
def spin_kernel(Out, ns):
    """Stay busy for ``ns`` nanoseconds, and do nothing else."""
    start = globaltimer()
    now = start
    while now - start < ns:
        now = globaltimer()
    tl.store(Out, now - start)


@triton.jit
def timer_kernel(Out, reads):
    """Read the timer ``reads`` times in a row."""
    for i in tl.range(0, reads):
        tl.store(Out + i, globaltimer())
