"""What one launch has to do: its grid, the bytes of each program, and what a program takes of an SM.

Plans, traces and FlashAttention at a shape are turned into this; the simulation knows nothing else of a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from fdlib.plan import COMBINE_BLOCK, SplitPlan, cdiv, key_block, num_stages, plan_splits, row_block
from fdlib.shapes import AttentionShape
from fdlib.xray.tracing.data import LaunchTrace, Trace

__all__ = ["Work", "flash_attention_work", "plan_works", "trace_works"]

THREADS = 128  # of a program: every kernel here has 4 warps
# Registers of a thread in 16 bits, as compiled for sm_80 to sm_100 by Triton 3.7.1 (attention 80 to 178, 136 for
# head_dim 128; combine 32 to 56). Read with `fdlib.xray.compiled.resources`. The recording's kernels, compiled by
# Triton 3.6.0, have others at head_dim 128: the split kernel 128, FlashAttention 139. Three fit on an SM with each.
ATTENTION_REGISTERS, MERGE_REGISTERS = 136, 40
MERGE_SHARED_BYTES = 2048  # to sum over warps; as compiled


@dataclass(frozen=True, eq=False)
class Work:
    """One launch; arrays are of shape (programs,), in order of the linear id, x fastest.

    ``program_bytes`` int64: what each program asks for. ``program_steps``: how often each goes
    round its loop; a last step that is partly masked takes as long as a full one. `hbm_bytes`: what
    all of them together must bring from or to HBM; the rest comes from L2, also `left_bytes`, which
    the launch before has written, as long as L2 keeps them: `left_parts` programs of that launch
    wrote what one row of this one reads. A full step has `step_bytes` bytes and
    `step_flops` FLOPs (padding counted). `loop` names the kind of step, whose latency the model
    knows. `buffers` tiles of `tile_bytes` are on their way while it computes; they lie in shared
    memory, beside `shared_bytes` of other things.
    """

    kernel: str
    grid: tuple[int, int, int]
    program_bytes: np.ndarray
    program_steps: np.ndarray
    hbm_bytes: int
    step_bytes: int
    tile_bytes: int
    buffers: int = 1
    loop: Literal["attention", "merge"] = "attention"
    left_bytes: int = 0
    left_parts: int = 1
    step_flops: int = 0
    float32: bool = False  # exact float32 products take no tensor cores
    threads: int = THREADS
    shared_bytes: int = 0
    registers: int = ATTENTION_REGISTERS

    @property
    def programs(self) -> int:
        """How many programs the launch has."""
        return len(self.program_bytes)


def _attention_work(
    kernel: str,
    shape: AttentionShape,
    block_m: int,
    keys: np.ndarray,
    row_bytes: np.ndarray,
    written_bytes: int,
) -> Work:
    """The loop over key blocks that FlashAttention and the split kernel share.

    For each program: ``keys`` that it reads, ``row_bytes`` of its queries and results.
    """
    width = 1 << (shape.head_dim - 1).bit_length()  # tiles are powers of two
    block_n = key_block(shape.head_dim, shape.element_bytes)
    key_bytes = 2 * shape.head_dim * shape.element_bytes  # a key and its value
    return Work(
        kernel,
        (len(keys), 1, 1),
        keys * key_bytes + row_bytes,
        -(-keys // block_n),
        shape.q_bytes + shape.kv_bytes + written_bytes,
        step_bytes=block_n * key_bytes,
        tile_bytes=2 * block_n * width * shape.element_bytes,  # of K and of V
        buffers=num_stages(shape.head_dim, shape.element_bytes) - 1,
        step_flops=4 * block_m * block_n * width,
        float32=shape.dtype == "float32",
        shared_bytes=block_m * (width + block_n) * shape.element_bytes,  # q, and the weights p
    )


def flash_attention_work(shape: AttentionShape) -> Work:
    """`fdlib.flash_attention` at a shape, without a causal mask: one program per block of queries, head, sequence.

    Every program reads all keys of its head; programs of one group find them in L2.
    """
    _check_shape(shape)
    block_m = row_block(shape.len_q, shape.head_dim, shape.element_bytes)
    blocks = cdiv(shape.len_q, block_m)
    first_row = np.arange(blocks)[::-1] * block_m  # the kernel takes the last rows first
    rows = np.minimum(shape.len_q - first_row, block_m)
    of_rows = rows * (2 * shape.head_dim * shape.element_bytes + 4)  # q, out, LSE
    row_bytes = np.tile(of_rows, shape.batch * shape.heads_q).astype(np.int64)
    keys = np.full(len(row_bytes), shape.len_kv, np.int64)
    written = shape.out_bytes + _lse_bytes(shape)
    return _attention_work("_flash_attention_kernel", shape, block_m, keys, row_bytes, written)


def plan_works(plan: SplitPlan) -> tuple[Work, ...]:
    """The launches of `fdlib.flash_decode`: the split kernel and, from two splits up, the combine."""
    _check_shape(plan.shape)
    split = _split_work(plan)
    return (split,) if plan.num_splits == 1 else (split, _combine_work(plan))


def _split_work(plan: SplitPlan) -> Work:
    shape = plan.shape
    first_row = np.arange(plan.row_blocks)[:, None] * plan.block_m
    rows = np.minimum(shape.group_size * shape.len_q - first_row, plan.block_m)
    last_position = (first_row + plan.block_m - 1) // shape.group_size
    keys = _keys_seen(plan, last_position)  # (row_blocks, num_splits)
    out_bytes = shape.element_bytes if plan.num_splits == 1 else 4
    of_rows = rows * (shape.head_dim * (shape.element_bytes + out_bytes) + 4)  # q, out, LSE
    written = plan.scratch_bytes or shape.out_bytes + _lse_bytes(shape)
    return _attention_work(
        "_split_kernel",
        shape,
        plan.block_m,
        _over_heads(plan, keys),
        _over_heads(plan, np.broadcast_to(of_rows, keys.shape)),
        written,
    )


def _keys_seen(plan: SplitPlan, position: np.ndarray) -> np.ndarray:
    """How many keys of each split the query at ``position`` (..., 1) sees, causal, bottom-right: (..., splits)."""
    start, end = np.array(plan.ranges, np.int64).reshape(-1, 2).T
    seen = plan.shape.len_kv - plan.shape.len_q + 1 + position
    return np.maximum(np.minimum(end, seen) - start, 0)


def _over_heads(plan: SplitPlan, values: np.ndarray) -> np.ndarray:
    """Of (row_blocks, splits), the same for all: in the order of the split kernel's programs."""
    per_head = np.repeat(values[:, None], plan.shape.heads_kv, axis=1)
    return np.tile(per_head.reshape(-1), plan.shape.batch)


def _lse_bytes(shape: AttentionShape) -> int:
    return 4 * shape.batch * shape.heads_q * shape.len_q


def _combine_work(plan: SplitPlan) -> Work:
    """One program per row of the output; it reads what the split kernel has written, but for empty parts."""
    shape = plan.shape
    parts = (_keys_seen(plan, np.arange(shape.len_q)[:, None]) > 0).sum(1)  # of each position
    of_row = 4 * plan.num_splits + 4 * shape.head_dim * parts
    of_row = of_row + shape.head_dim * shape.element_bytes + 4  # out and its LSE
    program_bytes = np.tile(np.repeat(of_row, shape.heads_q), shape.batch)
    step_bytes = COMBINE_BLOCK * 4 * (shape.head_dim + 1)
    return Work(
        "_combine_kernel",
        (len(program_bytes), 1, 1),
        program_bytes,
        np.full(len(program_bytes), cdiv(plan.num_splits, COMBINE_BLOCK)),
        hbm_bytes=shape.out_bytes + _lse_bytes(shape),
        step_bytes=step_bytes,
        tile_bytes=step_bytes,
        loop="merge",
        left_bytes=plan.scratch_bytes,
        left_parts=plan.num_splits,
        shared_bytes=MERGE_SHARED_BYTES,
        registers=MERGE_REGISTERS,
    )


def trace_works(trace: Trace, **takes: Any) -> tuple[Work, ...]:
    """The launches of a `Trace`: its bytes, on SMs as fdlib's own kernels are, head_dim 128 in 16 bits.

    A trace says what was moved, not what a program takes of an SM or has on its way: ``takes`` are
    fields of `Work` that you know better, ``shared_bytes=0, buffers=1`` for a kernel without a pipeline.
    """
    return tuple(replace(_traced_work(launch), **takes) for launch in trace.launches)


def _traced_work(launch: LaunchTrace) -> Work:
    like = plan_works(plan_splits(AttentionShape(heads_q=1, heads_kv=1, len_kv=128), 1, 2))
    match = next((each for each in like if each.kernel == launch.kernel), like[0])
    program_bytes = launch.program_bytes
    return replace(
        match,
        kernel=launch.kernel,
        grid=launch.grid,
        program_bytes=program_bytes,
        program_steps=program_bytes / match.step_bytes,
        hbm_bytes=launch.hbm_bytes,
        left_bytes=0,
    )


def _check_shape(shape: AttentionShape) -> None:
    if not isinstance(shape, AttentionShape):
        raise TypeError(f"shape: got {type(shape).__name__}, takes an AttentionShape")
