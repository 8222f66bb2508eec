"""Attention in three kernels that pass the scores through memory: what FlashAttention does without.

Each kernel does one step of ``softmax(q kᵀ / √D) v``. They are here to be traced and measured beside the tiled
kernel; `fdlib.flash_attention` computes the same.
"""

from __future__ import annotations

import math

import torch

from fdlib.device import launching_on, require_triton
from fdlib.plan import cdiv

require_triton()

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

__all__ = ["naive_attention_kernels", "scores_to_memory", "softmax_rows", "weighted_values"]

_DTYPES = (torch.float16, torch.float32)


@triton.jit
def naive_scores_kernel(
    q_ptr, k_ptr, scores_ptr, len_q, len_kv, heads_q, heads_kv, scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """One program: one tile of scores of one head."""
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    keys = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD_DIM)
    pair = tl.program_id(2).to(tl.int64)
    batch, head = pair // heads_q, pair % heads_q
    head_kv = head // (heads_q // heads_kv)
    q_rows = (batch * len_q + rows) * heads_q + head
    k_rows = (batch * len_kv + keys) * heads_kv + head_kv
    in_q, in_k = rows < len_q, keys < len_kv
    q = tl.load(q_ptr + q_rows[:, None] * HEAD_DIM + dims, mask=in_q[:, None], other=0.0)
    k = tl.load(k_ptr + k_rows[:, None] * HEAD_DIM + dims, mask=in_k[:, None], other=0.0)
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    at = (pair * len_q + rows)[:, None] * len_kv + keys[None, :]
    tl.store(
        scores_ptr + at,
        scores.to(scores_ptr.dtype.element_ty),
        mask=in_q[:, None] & in_k[None, :],
    )


@triton.jit
def naive_softmax_kernel(scores_ptr, len_kv, BLOCK: tl.constexpr):
    """One program: one row of scores becomes weights, in place."""
    row = scores_ptr + tl.program_id(0).to(tl.int64) * len_kv
    keys = tl.arange(0, BLOCK)
    x = tl.load(row + keys, mask=keys < len_kv, other=float("-inf")).to(tl.float32)
    p = tl.exp(x - tl.max(x, 0))
    p = p / tl.sum(p, 0)
    tl.store(row + keys, p.to(scores_ptr.dtype.element_ty), mask=keys < len_kv)


@triton.jit
def naive_output_kernel(
    weights_ptr, v_ptr, out_ptr, len_q, len_kv, heads_q, heads_kv,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """One program: one block of output rows of one head."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD_DIM)
    pair = tl.program_id(1).to(tl.int64)
    batch, head = pair // heads_q, pair % heads_q
    head_kv = head // (heads_q // heads_kv)
    in_q = (rows < len_q)[:, None]
    acc = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    for first in tl.range(0, len_kv, BLOCK_N):
        keys = first + tl.arange(0, BLOCK_N)
        in_k = keys < len_kv
        at = (pair * len_q + rows)[:, None] * len_kv + keys[None, :]
        p = tl.load(weights_ptr + at, mask=in_q & in_k[None, :], other=0.0)
        v_rows = (batch * len_kv + keys) * heads_kv + head_kv
        v = tl.load(v_ptr + v_rows[:, None] * HEAD_DIM + dims, mask=in_k[:, None], other=0.0)
        acc = tl.dot(p, v, acc, input_precision="ieee")
    out_rows = (batch * len_q + rows) * heads_q + head
    out = acc.to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + out_rows[:, None] * HEAD_DIM + dims, out, mask=in_q)


def scores_to_memory(q: torch.Tensor, k: torch.Tensor, *, block: int = 64) -> torch.Tensor:
    """The first step: ``q kᵀ / √D``, all of it, as a tensor ``(B, H_q, L_q, L_kv)`` of q's dtype.

    ``q (B, L_q, H_q, D)``, ``k (B, L_kv, H_kv, D)``, contiguous float16 or float32, D a power of
    two from 16 to 256. ``block``: rows and keys of a tile. Raises `ValueError` or `TypeError`.
    """
    _check("q", q)
    _check("k", k, like=q)
    batch, len_q, heads_q, head_dim = q.shape
    len_kv, heads_kv = k.shape[1:3]
    scores = q.new_empty(batch, heads_q, len_q, len_kv)
    with launching_on(q):
        naive_scores_kernel[(cdiv(len_kv, block), cdiv(len_q, block), batch * heads_q)](
            q, k, scores, len_q, len_kv, heads_q, heads_kv, 1 / math.sqrt(head_dim),
            HEAD_DIM=head_dim, BLOCK_M=block, BLOCK_N=block, num_warps=8,
        )  # fmt: skip
    return scores


def softmax_rows(scores: torch.Tensor) -> None:
    """The second step, in place: each row of ``scores (B, H_q, L_q, L_kv)`` becomes weights."""
    _check("scores", scores)
    len_kv = scores.shape[-1]
    with launching_on(scores):
        naive_softmax_kernel[(scores.numel() // len_kv,)](
            scores, len_kv, BLOCK=triton.next_power_of_2(len_kv), num_warps=8
        )


def weighted_values(weights: torch.Tensor, v: torch.Tensor, *, block: int = 64) -> torch.Tensor:
    """The third step: ``weights (B, H_q, L_q, L_kv)`` times ``v (B, L_kv, H_kv, D)``, as q is laid out."""
    _check("weights", weights)
    _check("v", v)
    batch, heads_q, len_q, len_kv = weights.shape
    heads_kv, head_dim = v.shape[2:]
    out = v.new_empty(batch, len_q, heads_q, head_dim)
    with launching_on(v):
        naive_output_kernel[(cdiv(len_q, block), batch * heads_q)](
            weights, v, out, len_q, len_kv, heads_q, heads_kv,
            HEAD_DIM=head_dim, BLOCK_M=block, BLOCK_N=block, num_warps=8, num_stages=2,
        )  # fmt: skip
    return out


def naive_attention_kernels(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, block: int = 64
) -> torch.Tensor:
    """``softmax(q kᵀ / √D) v`` in three launches, with the scores in memory between them.

    Shapes and errors as `scores_to_memory`; ``v`` as ``k``. Returns ``out (B, L_q, H_q, D)``.

    >>> q, kv = torch.randn(1, 5, 4, 16), torch.randn(1, 20, 2, 16)
    >>> naive_attention_kernels(q, kv, kv).shape
    torch.Size([1, 5, 4, 16])
    """
    _check("v", v, like=k)
    weights = scores_to_memory(q, k, block=block)
    softmax_rows(weights)
    return weighted_values(weights, v, block=block)


def _check(name: str, x: torch.Tensor, like: torch.Tensor | None = None) -> None:
    if x.dtype not in _DTYPES or (like is not None and x.dtype != like.dtype):
        takes = "float16 or float32" if like is None else like.dtype
        raise TypeError(f"{name}: got {x.dtype}, takes {takes}")
    if x.dim() != 4 or x.numel() == 0 or not x.is_contiguous():
        got = f"shape {tuple(x.shape)}, strides {x.stride()}"
        raise ValueError(f"{name}: got {got}, takes a contiguous tensor of 4 dimensions")
    if name in ("q", "k", "v") and x.shape[-1] not in (16, 32, 64, 128, 256):
        raise ValueError(f"{name}: got D = {x.shape[-1]}, takes 16, 32, 64, 128 or 256")
    if like is not None and (x.shape[0] != like.shape[0] or x.shape[3] != like.shape[3]):
        raise ValueError(
            f"{name}: got shape {tuple(x.shape)}, takes B and D as in {tuple(like.shape)}"
        )
