"""Flash-Decoding in Triton: split the keys, attend to each part, merge the parts exactly.

Source: Dao, Haziza, Massa, Sizov 2023, "Flash-Decoding for long-context inference",
https://pytorch.org/blog/flash-decoding/.
"""

from __future__ import annotations

import functools

import torch

from fdlib.attention.flash_attention import (
    LOG2_E,
    attend_visible,
    finalize_rows,
    kernel_dtype,
    num_stages,
)
from fdlib.attention.inputs import check_num_splits, check_qkv, check_seqlens, resolve_scale
from fdlib.device import interpreting, require_triton
from fdlib.gpus import get_gpu
from fdlib.plan import cdiv, choose_num_splits, key_block, row_block

require_triton()

import triton  # noqa: E402  (interpreter mode is chosen before triton is imported)
import triton.language as tl  # noqa: E402

__all__ = ["combine_splits", "flash_decode", "split_kv_attention"]

MAX_PROGRAMS = 2**31 - 1  # CUDA's limit for the first grid axis

# Splits merged per step of the combine kernel: 16 x 128 float32 are 8 KiB in flight.
COMBINE_BLOCK = 16


@triton.jit
def _split_range(len_kv, num_splits, split, BLOCK_N: tl.constexpr):
    """Keys of one split: the same formula as `fdlib.plan.split_range`."""
    blocks = tl.cdiv(len_kv, BLOCK_N).to(tl.int64)
    start = split * blocks // num_splits * BLOCK_N
    end = (split + 1) * blocks // num_splits * BLOCK_N
    return tl.minimum(start, len_kv).to(tl.int32), tl.minimum(end, len_kv).to(tl.int32)


@triton.jit(do_not_specialize=["len_q", "len_kv", "heads_kv", "num_splits"])
def _split_kernel(
    Q, K, V, Out, Lse, CacheSeqlens, len_q, len_kv, heads_kv, num_splits, scale,
    stride_qb, stride_qm, stride_qh, stride_kb, stride_kn, stride_kh, stride_vb, stride_vn, stride_vh,
    stride_os, stride_ob, stride_om, stride_oh, stride_ls, stride_lb, stride_lh,
    GROUP: tl.constexpr, CAUSAL: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """One program: the query rows of one key/value head of one sequence, against one split of the keys."""
    pid = tl.program_id(0)  # one axis: the others end at 65,535
    split = pid % num_splits
    head_kv = pid // num_splits % heads_kv
    row_blocks = tl.cdiv(len_q * GROUP, BLOCK_M)
    row_start = pid // num_splits // heads_kv % row_blocks * BLOCK_M
    batch = (pid // num_splits // heads_kv // row_blocks).to(tl.int64)

    # A row is one query head of the group at one query position: all rows share every key that is
    # read.
    rows = row_start + tl.arange(0, BLOCK_M)
    position = (rows // GROUP).to(tl.int64)
    head = head_kv * GROUP + rows % GROUP
    offs_d = tl.arange(0, BLOCK_D)
    in_rows = rows < len_q * GROUP
    in_tile = in_rows[:, None] & (offs_d < HEAD_DIM)[None, :]
    q_rows = Q + batch * stride_qb + position * stride_qm + head * stride_qh
    q = tl.load(q_rows[:, None] + offs_d[None, :], mask=in_tile, other=0.0)

    length = tl.load(CacheSeqlens + batch) if CacheSeqlens is not None else len_kv
    valid = (length >= 0) & (
        length <= len_kv
    )  # a length that the cache cannot have gives NaN, and reads nothing
    length = tl.where(valid, length, 0).to(tl.int32)
    start, end = _split_range(length, num_splits, split, BLOCK_N)
    hidden = (
        length - len_q if CAUSAL else length
    )  # bottom-right: position i sees i + 1 keys more than this
    row_limit = tl.minimum(hidden + 1 + rows // GROUP, length)
    full_limit = tl.minimum(hidden + 1 + row_start // GROUP, length)
    m_i, l_i, acc = attend_visible(
        q, K + batch * stride_kb + head_kv * stride_kh, V + batch * stride_vb + head_kv * stride_vh,
        stride_kn, stride_vn, start, end, row_limit, full_limit, scale * LOG2_E, HEAD_DIM, BLOCK_M, BLOCK_N, BLOCK_D,
    )  # fmt: skip

    out, lse = finalize_rows(m_i, l_i, acc)
    out = tl.where(valid, out, float("nan"))
    lse = tl.where(valid, lse, float("nan"))
    out_rows = Out + split * stride_os + batch * stride_ob + position * stride_om + head * stride_oh
    tl.store(out_rows[:, None] + offs_d[None, :], out.to(Out.dtype.element_ty), mask=in_tile)
    tl.store(
        Lse + split * stride_ls + batch * stride_lb + head * stride_lh + position, lse, mask=in_rows
    )


@triton.jit(do_not_specialize=["num_splits", "len_q", "heads_q"])
def _combine_kernel(
    OutPartial, LsePartial, Out, Lse, num_splits, len_q, heads_q, stride_os, stride_ls,
    HEAD_DIM: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """One program: one output row, the sum of its parts weighted by exp(lse_part - lse). An online softmax over splits."""
    row = tl.program_id(0).to(tl.int64)  # (batch, position, head) of out
    head, position = row % heads_q, row // heads_q % len_q
    lse_row = (
        row // heads_q // len_q * heads_q + head
    ) * len_q + position  # the same row of lse (B, H_q, L_q)
    offs_s = tl.arange(0, BLOCK_S)
    offs_d = tl.arange(0, BLOCK_D)
    m_i = tl.full([], float("-inf"), tl.float32)
    l_i = tl.zeros([], tl.float32)
    acc = tl.zeros([BLOCK_D], tl.float32)
    for first in tl.range(0, num_splits, BLOCK_S):
        splits = (first + offs_s).to(tl.int64)
        lse = tl.load(
            LsePartial + splits * stride_ls + lse_row, mask=splits < num_splits, other=float("-inf")
        )
        seen = lse != float(
            "-inf"
        )  # an empty split is the identity: its partial output is not even read
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
    tl.store(
        Out + row * HEAD_DIM + offs_d,
        (acc / l_safe).to(Out.dtype.element_ty),
        mask=offs_d < HEAD_DIM,
    )
    tl.store(Lse + lse_row, tl.where(empty, float("-inf"), m_i + tl.log(l_safe)))


def _launch_split(q, k, v, out, lse, seqlens, num_splits, scale, causal):
    """``out (S, B, L_q, H_q, D)`` and ``lse (S, B, H_q, L_q)`` of every split; S is 1 for the final output itself."""
    batch, len_q, heads_q, head_dim = q.shape
    heads_kv = k.shape[2]
    block_m = row_block(heads_q // heads_kv * len_q, head_dim, q.element_size())
    row_blocks = cdiv(heads_q // heads_kv * len_q, block_m)
    _split_kernel[(num_splits * heads_kv * row_blocks * batch,)](
        q, k, v, out, lse, seqlens, len_q, k.shape[1], heads_kv, num_splits, scale,
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *out.stride()[:4], *lse.stride()[:3],
        GROUP=heads_q // heads_kv, CAUSAL=causal,
        HEAD_DIM=head_dim, BLOCK_M=block_m, BLOCK_N=key_block(head_dim, q.element_size()),
        BLOCK_D=triton.next_power_of_2(head_dim), num_warps=4, num_stages=num_stages(head_dim, q.element_size()),
    )  # fmt: skip


def _launch_combine(out_partial, lse_partial, out, lse):
    num_splits, batch, len_q, heads_q, head_dim = out_partial.shape
    _combine_kernel[(batch * len_q * heads_q,)](
        out_partial, lse_partial, out, lse, num_splits, len_q, heads_q, out_partial.stride(0), lse_partial.stride(0),
        HEAD_DIM=head_dim, BLOCK_S=COMBINE_BLOCK, BLOCK_D=triton.next_power_of_2(head_dim), num_warps=4,
    )  # fmt: skip


def _new_partials(q: torch.Tensor, num_splits: int) -> tuple[torch.Tensor, torch.Tensor]:
    batch, len_q, heads_q, head_dim = q.shape
    out_partial = torch.empty(
        num_splits, batch, len_q, heads_q, head_dim, dtype=torch.float32, device=q.device
    )
    lse_partial = torch.empty(
        num_splits, batch, heads_q, len_q, dtype=torch.float32, device=q.device
    )
    return out_partial, lse_partial


@functools.cache
def _num_sms(device: torch.device) -> int:
    """SMs to plan for: the GPU's own; an H100's under the interpreter, where any number gives the same answer."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).multi_processor_count
    return get_gpu("H100").num_sms


def _resolve_num_splits(q: torch.Tensor, k: torch.Tensor, num_splits: int) -> int:
    group_rows = q.shape[2] // k.shape[2] * q.shape[1]
    programs = (
        q.shape[0]
        * k.shape[2]
        * cdiv(group_rows, row_block(group_rows, q.shape[3], q.element_size()))
    )
    if num_splits == 0:
        key_blocks = cdiv(k.shape[1], key_block(q.shape[3], q.element_size()))
        num_splits = choose_num_splits(programs, key_blocks, _num_sms(q.device))
    if programs * num_splits > MAX_PROGRAMS:
        raise ValueError(
            f"num_splits: got {num_splits}, takes at most {MAX_PROGRAMS // programs} for this shape"
        )
    return num_splits


def split_kv_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    num_splits: int,
    *,
    cache_seqlens: torch.Tensor | int | None = None,
    softmax_scale: float | None = None,
    causal: bool = True,
    validate: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The first half of Flash-Decoding: attention over each of ``num_splits`` parts of the keys, on
    its own.

    Arguments are those of `flash_decode`. Returns ``out_partial (S, B, L_q, H_q, D)`` and
    ``lse_partial (S, B, H_q, L_q)``, both float32, S the number of splits; each part is normalised
    by itself.

    >>> q, kv = torch.randn(1, 1, 4, 16), torch.randn(1, 200, 2, 16)
    >>> out_partial, lse_partial = split_kv_attention(q, kv, kv, 3)
    >>> tuple(out_partial.shape), tuple(lse_partial.shape)
    ((3, 1, 1, 4, 16), (3, 1, 4, 1))
    """
    scale, seqlens = _check(q, k_cache, v_cache, cache_seqlens, softmax_scale, num_splits, validate)
    num_splits = _resolve_num_splits(q, k_cache, num_splits)
    out_partial, lse_partial = _new_partials(q, num_splits)
    if q.numel():
        q, k, v = (kernel_dtype(x) for x in (q, k_cache, v_cache))
        _launch_split(q, k, v, out_partial, lse_partial, seqlens, num_splits, scale, causal)
    return out_partial, lse_partial


def combine_splits(
    out_partial: torch.Tensor, lse_partial: torch.Tensor, *, dtype: torch.dtype | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The second half of Flash-Decoding: the exact merge of the parts, one program per output row.

    ``out_partial (S, B, L_q, H_q, D)`` and ``lse_partial (S, B, H_q, L_q)``, float32, contiguous.
    Returns ``out (B, L_q, H_q, D)`` in ``dtype`` (float32 unless given) and ``lse (B, H_q, L_q)``
    float32. A part with ``lse = -inf`` changes nothing. Raises `ValueError` or `TypeError` naming
    the argument.
    """
    for name, x, dims in (("out_partial", out_partial, 5), ("lse_partial", lse_partial, 4)):
        if not isinstance(x, torch.Tensor) or x.dtype != torch.float32:
            raise TypeError(
                f"{name}: got {getattr(x, 'dtype', type(x).__name__)}, takes a float32 tensor"
            )
        if x.dim() != dims or x.shape[0] == 0 or not x.is_contiguous():
            raise ValueError(
                f"{name}: got shape {tuple(x.shape)}, takes {dims} dimensions, contiguous, at least one part"
            )
    num_splits, batch, len_q, heads_q, head_dim = out_partial.shape
    if tuple(lse_partial.shape) != (num_splits, batch, heads_q, len_q):
        raise ValueError(
            f"lse_partial: got shape {tuple(lse_partial.shape)}, takes {(num_splits, batch, heads_q, len_q)} to fit out_partial"
        )
    if lse_partial.device != out_partial.device:
        raise ValueError(
            f"lse_partial: got a tensor on {lse_partial.device}, takes {out_partial.device} as out_partial"
        )
    out = torch.empty(batch, len_q, heads_q, head_dim, device=out_partial.device)
    lse = torch.empty(batch, heads_q, len_q, device=out_partial.device)
    if out.numel():
        _launch_combine(out_partial, lse_partial, out, lse)
    return out if dtype is None else out.to(dtype), lse


def flash_decode(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    *,
    cache_seqlens: torch.Tensor | int | None = None,
    softmax_scale: float | None = None,
    causal: bool = True,
    num_splits: int = 0,
    return_lse: bool = False,
    validate: bool = False,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Attention of a few new queries over a long KV cache: Flash-Decoding.

    ``q (B, L_q, H_q, D)``: L_q is 1 when decoding token by token; ``k_cache, v_cache (B, L_cache,
    H_kv, D)``. float16, bfloat16 or float32, H_q a multiple of H_kv, D from 16 to 256, any strides
    with a contiguous last dimension. ``cache_seqlens``: an int or an int32/int64 tensor ``(B,)``,
    how many keys of each sequence count; the rest of the cache is never read. ``causal`` aligns
    bottom-right: query i sees keys up to ``len - L_q + i``. ``num_splits=0`` lets
    `fdlib.plan.choose_num_splits` decide; the same count gives the same bits every time.

    Returns ``out (B, L_q, H_q, D)`` in q's dtype, with ``return_lse`` also ``lse (B, H_q, L_q)``
    float32, natural log; a row that sees no key gives 0 and -inf. The conventions are those of
    FlashAttention's ``flash_attn_with_kvcache``.

    Raises `ValueError`, `TypeError` or `RuntimeError` naming the argument. On a GPU the values of a
    ``cache_seqlens`` tensor are checked only with ``validate=True``, since looking at them waits
    for the device; without it, a sequence with an impossible length gets NaN.

    >>> q, cache = torch.randn(2, 1, 8, 64), torch.randn(2, 300, 2, 64)
    >>> flash_decode(q, cache, cache, cache_seqlens=torch.tensor([300, 17])).shape
    torch.Size([2, 1, 8, 64])
    """
    scale, seqlens = _check(q, k_cache, v_cache, cache_seqlens, softmax_scale, num_splits, validate)
    num_splits = _resolve_num_splits(q, k_cache, num_splits)
    dtype, q, k, v = q.dtype, *(kernel_dtype(x) for x in (q, k_cache, v_cache))
    batch, len_q, heads_q, _ = q.shape
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    lse = torch.empty(batch, heads_q, len_q, dtype=torch.float32, device=q.device)
    if q.numel() and num_splits == 1:  # nothing to merge: the kernel writes the output itself
        _launch_split(q, k, v, out[None], lse[None], seqlens, 1, scale, causal)
    elif q.numel():
        out_partial, lse_partial = _new_partials(q, num_splits)
        _launch_split(q, k, v, out_partial, lse_partial, seqlens, num_splits, scale, causal)
        _launch_combine(out_partial, lse_partial, out, lse)
    out = out.to(dtype)
    return (out, lse) if return_lse else out


def _check(q, k_cache, v_cache, cache_seqlens, softmax_scale, num_splits, validate):
    check_qkv(q, k_cache, v_cache, names=("q", "k_cache", "v_cache"))
    check_num_splits(num_splits)
    seqlens = check_seqlens(cache_seqlens, q, k_cache.shape[1], validate=validate or not q.is_cuda)
    return resolve_scale(softmax_scale, q.shape[-1]), seqlens
