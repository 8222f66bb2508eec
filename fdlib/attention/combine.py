"""The second kernel of Flash-Decoding: the exact merge of the parts, one program per output row."""

from __future__ import annotations

import functools

import torch

from fdlib.attention.inputs import KERNEL_DTYPES, check_for_kernel, check_memory, check_tensor
from fdlib.device import launching_on, require_triton
from fdlib.plan import COMBINE_BLOCK

require_triton()

import triton  # noqa: E402  (interpreter mode is chosen before triton is imported)
import triton.language as tl  # noqa: E402

__all__ = ["combine_splits", "launch_combine"]


@triton.jit(do_not_specialize=["num_splits", "len_q", "heads_q", "stride_ls"])
def _combine_kernel(
    OutPartial, LsePartial, Out, Lse, num_splits, len_q, heads_q, stride_os, stride_ls,
    HEAD_DIM: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """One program, one output row: an online softmax over the splits, each weighted by exp(lse)."""
    row = tl.program_id(0).to(tl.int64)  # (batch, position, head) of out
    head, position = row % heads_q, row // heads_q % len_q
    batch = row // heads_q // len_q
    lse_row = (batch * heads_q + head) * len_q + position  # the same row of lse (B, H_q, L_q)
    offs_s = tl.arange(0, BLOCK_S)
    offs_d = tl.arange(0, BLOCK_D)
    m_i = tl.full([], float("-inf"), tl.float32)
    l_i = tl.zeros([], tl.float32)
    acc = tl.zeros([BLOCK_D], tl.float32)
    for first in tl.range(0, num_splits, BLOCK_S):
        splits = (first + offs_s).to(tl.int64)
        lse_ptrs = LsePartial + splits * stride_ls + lse_row
        lse = tl.load(lse_ptrs, mask=splits < num_splits, other=float("-inf"))
        seen = lse != float("-inf")  # an empty split is the identity: its output is not even read
        part_ptrs = OutPartial + splits[:, None] * stride_os + row * HEAD_DIM + offs_d[None, :]
        part = tl.load(part_ptrs, mask=seen[:, None] & (offs_d < HEAD_DIM)[None, :], other=0.0)
        m_new = tl.maximum(m_i, tl.max(lse, 0))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp(m_i - m_safe)
        weights = tl.exp(lse - m_safe)
        l_i = l_i * alpha + tl.sum(weights, 0)
        acc = acc * alpha + tl.sum(weights[:, None] * part, 0)
        m_i = m_new
    empty = l_i == 0.0
    l_safe = tl.where(empty, 1.0, l_i)
    out = (acc / l_safe).to(Out.dtype.element_ty)
    tl.store(Out + row * HEAD_DIM + offs_d, out, mask=offs_d < HEAD_DIM)
    tl.store(Lse + lse_row, tl.where(empty, float("-inf"), m_i + tl.log(l_safe)))


def launch_combine(
    out_partial: torch.Tensor, lse_partial: torch.Tensor, out: torch.Tensor, lse: torch.Tensor
) -> None:
    """Run the kernel on checked, contiguous tensors; ``out`` may have any dtype."""
    num_splits, batch, len_q, heads_q, head_dim = out_partial.shape
    with launching_on(out):
        _combine_kernel[(batch * len_q * heads_q,)](
            out_partial, lse_partial, out, lse, num_splits, len_q, heads_q,
            out_partial.stride(0), lse_partial.stride(0),
            HEAD_DIM=head_dim, BLOCK_S=COMBINE_BLOCK, BLOCK_D=triton.next_power_of_2(head_dim),
            num_warps=4,
        )  # fmt: skip


def combine_splits(
    out_partial: torch.Tensor, lse_partial: torch.Tensor, *, dtype: torch.dtype | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The second half of Flash-Decoding: the exact merge of the parts, one program per output row.

    ``out_partial (S, B, L_q, H_q, D)`` and ``lse_partial (S, B, H_q, L_q)``, float32, contiguous.
    Returns ``out (B, L_q, H_q, D)`` in ``dtype`` (float32 unless given) and ``lse (B, H_q, L_q)``
    float32. D is 16 to 256. A part with ``lse = -inf`` changes nothing. Raises `ValueError`,
    `TypeError` or `RuntimeError` naming the argument. Source: as `fdlib.merge_states`.

    >>> out, lse = combine_splits(torch.ones(2, 1, 1, 4, 16), torch.zeros(2, 1, 4, 1))
    >>> tuple(out.shape), round(lse[0, 0, 0].item(), 4)
    ((1, 1, 4, 16), 0.6931)
    """
    for name, x, dims in (("out_partial", out_partial, 5), ("lse_partial", lse_partial, 4)):
        check_tensor(name, x)
        _check_partial(name, x, dims)
    check_for_kernel("out_partial", out_partial)
    check_memory("lse_partial", lse_partial)
    num_splits, batch, len_q, heads_q, head_dim = out_partial.shape
    fitting = (num_splits, batch, heads_q, len_q)
    if tuple(lse_partial.shape) != fitting:
        got = tuple(lse_partial.shape)
        raise ValueError(f"lse_partial: got shape {got}, takes {fitting} to fit out_partial")
    if lse_partial.device != out_partial.device:
        got, takes = lse_partial.device, out_partial.device
        raise ValueError(f"lse_partial: got a tensor on {got}, takes {takes} as out_partial")
    if dtype is not None and dtype not in KERNEL_DTYPES:
        raise TypeError(f"dtype: got {dtype!r}, takes {', '.join(map(str, KERNEL_DTYPES))}")
    new = functools.partial(torch.empty, dtype=torch.float32, device=out_partial.device)
    out, lse = new(batch, len_q, heads_q, head_dim), new(batch, heads_q, len_q)
    if out.numel():
        launch_combine(out_partial, lse_partial, out, lse)
    return out if dtype is None else out.to(dtype), lse


def _check_partial(name: str, x: torch.Tensor, dims: int) -> None:
    if x.dtype != torch.float32:
        raise TypeError(f"{name}: got {x.dtype}, takes float32")
    if x.dim() != dims or x.shape[0] == 0:
        got = tuple(x.shape)
        raise ValueError(f"{name}: got shape {got}, takes {dims} dimensions and at least one part")
    if not x.is_contiguous():
        raise ValueError(f"{name}: got strides {x.stride()}, takes a contiguous tensor")
