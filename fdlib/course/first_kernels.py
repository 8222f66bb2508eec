"""Kernels of a few lines, one Triton idea each: notebook 03 shows them and runs them.

They read and write plain tensors and do nothing that torch could not do. Launch them as the notebook does:
``scale_kernel[(3,)](x, out, x.numel(), 2.0, BLOCK=4)``.
"""

from __future__ import annotations

from fdlib.device import require_triton

require_triton()

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

__all__ = [
    "causal_tile_kernel",
    "program_ids_kernel",
    "row_lse_kernel",
    "row_max_kernel",
    "row_sums_kernel",
    "scale_kernel",
    "tile_dot_kernel",
]


@triton.jit
def program_ids_kernel(out_ptr, num_columns):
    row, column = tl.program_id(0), tl.program_id(1)
    tl.store(out_ptr + row * num_columns + column, 10 * row + column)


@triton.jit
def scale_kernel(x_ptr, out_ptr, length, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # [BLOCK] which elements
    inside = offsets < length  # [BLOCK] True or False
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)  # [BLOCK]
    tl.store(out_ptr + offsets, x * factor, mask=inside)


@triton.jit
def row_sums_kernel(x_ptr, out_ptr, num_columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)  # [BLOCK]
    pointers = x_ptr + row * stride_row + columns * stride_column
    x = tl.load(pointers, mask=columns < num_columns, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


@triton.jit
def row_lse_kernel(x_ptr, out_ptr, num_columns, stride_row, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    inside = columns < num_columns
    x = tl.load(x_ptr + row * stride_row + columns, mask=inside, other=float("-inf")).to(tl.float32)
    largest = tl.max(x, axis=0)
    tl.store(out_ptr + row, largest + tl.log(tl.sum(tl.exp(x - largest), axis=0)))


@triton.jit
def row_max_kernel(
    x_ptr, out_ptr, num_columns, stride_row, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.arange(0, ROWS)  # [ROWS]
    largest = tl.full([ROWS], float("-inf"), tl.float32)
    for start in range(0, num_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)  # [BLOCK]
        pointers = x_ptr + rows[:, None] * stride_row + columns[None, :]  # [ROWS, BLOCK]
        x = tl.load(pointers, mask=columns[None, :] < num_columns, other=float("-inf"))
        largest = tl.maximum(largest, tl.max(x, axis=1))  # [ROWS]
    tl.store(out_ptr + rows, largest)


@triton.jit
def causal_tile_kernel(left_ptr, top_ptr, out_ptr, SIZE: tl.constexpr, CAUSAL: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    left, top = tl.load(left_ptr + offsets), tl.load(top_ptr + offsets)  # [SIZE] each
    tile = left[:, None] + top[None, :]  # [SIZE, SIZE]
    if CAUSAL:
        tile = tl.where(offsets[None, :] <= offsets[:, None], tile, float("-inf"))
    tl.store(out_ptr + offsets[:, None] * SIZE + offsets[None, :], tile)


@triton.jit
def tile_dot_kernel(
    a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr
):  # fmt: skip
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])  # [M, K]
    b = tl.load(b_ptr + columns[:, None] * K + inner[None, :])  # [N, K]
    out = tl.dot(a, tl.trans(b), input_precision=PRECISION)  # [M, N], float32
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], out)
