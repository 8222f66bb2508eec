"""Kernels for the tests of `fdlib.trace`, and calls that launch them."""

from __future__ import annotations

import fdlib  # noqa: F401  (chooses the mode before triton is imported)

import torch  # isort: skip
import triton  # isort: skip
import triton.language as tl  # isort: skip


@triton.jit
def sum_kernel(X, Out, n, REPEAT: tl.constexpr, SKIP: tl.constexpr, BLOCK: tl.constexpr):
    """A program sums its share of X in two blocks; it can load the second again, or leave it out."""
    offs = tl.program_id(0) * 2 * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(X + offs, mask=offs < n, other=0.0)
    if not SKIP:
        for _ in tl.static_range(REPEAT):
            total += tl.load(X + BLOCK + offs, mask=BLOCK + offs < n, other=0.0)
    tl.store(Out + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def gather_kernel(X, Index, Out, BLOCK: tl.constexpr):
    """Loads X where the index is not negative, and stores to Out there."""
    at = tl.load(Index + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(Out + at, tl.load(X + at, mask=at >= 0, other=0.0), mask=at >= 0)


@triton.jit
def tile_kernel(X, Out, stride, ROWS: tl.constexpr, COLS: tl.constexpr, ACROSS: tl.constexpr):
    """Copies a tile, rows along the first axis or, ACROSS, along the second."""
    rows, cols = tl.arange(0, ROWS), tl.arange(0, COLS)
    if ACROSS:
        at = rows[None, :] * stride + cols[:, None]
        to = rows[None, :] * COLS + cols[:, None]
    else:
        at = rows[:, None] * stride + cols[None, :]
        to = rows[:, None] * COLS + cols[None, :]
    tl.store(Out + to, tl.load(X + at))


@triton.jit
def in_place_kernel(X, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + offs, tl.load(X + offs) + 1)


@triton.jit
def grid_kernel(Out):
    """Program (x, y, z) stores x + 1 elements, y times."""
    offs = tl.arange(0, 4)
    for _ in range(tl.program_id(1)):
        tl.store(Out + 4 * tl.program_id(2) + offs, 1.0, mask=offs <= tl.program_id(0))


@triton.jit
def half_way_kernel(X, Out):
    tl.store(Out, tl.load(X))
    tl.static_assert(tl.program_id(0) < 1)


def sum_blocks(x, *, programs=2, repeat=1, skip=False, block=16):
    out = torch.zeros(programs, device=x.device)
    sum_kernel[(programs,)](x, out, x.numel(), REPEAT=repeat, SKIP=skip, BLOCK=block)
    return out


def copy_tile(x, rows, cols, across=False):
    out = torch.empty(rows, cols, dtype=x.dtype, device=x.device)
    tile_kernel[(1,)](x, out, x.stride(0), ROWS=rows, COLS=cols, ACROSS=across)
    return out
