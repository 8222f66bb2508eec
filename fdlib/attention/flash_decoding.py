"""Flash-Decoding in Triton: split the keys, attend to each part, merge the parts exactly.

Source: Dao, Haziza, Massa, Sizov 2023, "Flash-Decoding for long-context inference",
https://pytorch.org/blog/flash-decoding/.
"""

from __future__ import annotations

import functools

import torch

from fdlib.attention import inputs
from fdlib.attention.combine import combine_splits, launch_combine
from fdlib.attention.flash_attention import (
    LOG2_E,
    attend_visible,
    finalize_rows,
    kernel_dtype,
)
from fdlib.device import launching_on, require_triton
from fdlib.gpus import get_gpu
from fdlib.plan import SplitPlan, num_stages, plan_splits
from fdlib.shapes import AttentionShape

require_triton()

import triton  # noqa: E402  (interpreter mode is chosen before triton is imported)
import triton.language as tl  # noqa: E402

__all__ = ["combine_splits", "flash_decode", "split_kv_attention"]

MAX_PROGRAMS = 2**31 - 1  # CUDA's limit for the first grid axis
# One compilation serves all key lengths and all split counts from 2 up (1 writes out's own dtype).
RUN_TIME_SIZES = "len_q len_kv heads_kv num_splits stride_ls stride_lb stride_lh".split()


@triton.jit
def _split_range(len_kv, num_splits, split, BLOCK_N: tl.constexpr):
    """Keys of one split: the same formula as `fdlib.plan.split_range`."""
    blocks = tl.cdiv(len_kv, BLOCK_N).to(tl.int64)
    start = split * blocks // num_splits * BLOCK_N
    end = (split + 1) * blocks // num_splits * BLOCK_N
    return tl.minimum(start, len_kv).to(tl.int32), tl.minimum(end, len_kv).to(tl.int32)


@triton.jit(do_not_specialize=RUN_TIME_SIZES)
def _split_kernel(
    Q, K, V, Out, Lse, CacheSeqlens, len_q, len_kv, heads_kv, num_splits, scale,
    stride_qb, stride_qm, stride_qh, stride_kb, stride_kn, stride_kh, stride_vb, stride_vn, stride_vh,
    stride_os, stride_ob, stride_om, stride_oh, stride_ls, stride_lb, stride_lh,
    GROUP: tl.constexpr, CAUSAL: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """One program: the rows of one key/value head of one sequence, against one split of the keys."""
    pid = tl.program_id(0)  # one axis: the others end at 65,535
    split = (pid % num_splits).to(tl.int64)
    head_kv = (pid // num_splits % heads_kv).to(tl.int64)  # offsets can pass 2^31
    row_blocks = tl.cdiv(len_q * GROUP, BLOCK_M)
    row_start = pid // num_splits // heads_kv % row_blocks * BLOCK_M
    batch = (pid // num_splits // heads_kv // row_blocks).to(tl.int64)

    # A row is one query head of the group at one position: all rows share every key that is read.
    rows = row_start + tl.arange(0, BLOCK_M)
    position = (rows // GROUP).to(tl.int64)
    head = head_kv * GROUP + rows % GROUP
    offs_d = tl.arange(0, BLOCK_D)
    in_rows = rows < len_q * GROUP
    in_tile = in_rows[:, None] & (offs_d < HEAD_DIM)[None, :]
    q_rows = Q + batch * stride_qb + position * stride_qm + head * stride_qh
    q = tl.load(q_rows[:, None] + offs_d[None, :], mask=in_tile, other=0.0)

    # A length that the cache cannot have gives NaN, and reads nothing.
    length = tl.load(CacheSeqlens + batch) if CacheSeqlens is not None else len_kv
    valid = (length >= 0) & (length <= len_kv)
    length = tl.where(valid, length, 0).to(tl.int32)
    start, end = _split_range(length, num_splits, split, BLOCK_N)

    # Causal, bottom-right: position i sees i + 1 keys more than this.
    hidden = length - len_q if CAUSAL else length
    end = tl.minimum(end, hidden + 1 + (row_start + BLOCK_M - 1) // GROUP)  # of the last row
    row_limit = tl.minimum(hidden + 1 + rows // GROUP, length)
    full_limit = tl.minimum(hidden + 1 + row_start // GROUP, length)
    m_i, l_i, acc = attend_visible(
        q, K + batch * stride_kb + head_kv * stride_kh, V + batch * stride_vb + head_kv * stride_vh,
        stride_kn, stride_vn, start, end, row_limit, full_limit, scale * LOG2_E,
        HEAD_DIM, BLOCK_M, BLOCK_N, BLOCK_D,
    )  # fmt: skip

    out, lse = finalize_rows(m_i, l_i, acc)
    out = tl.where(valid, out, float("nan"))
    lse = tl.where(valid, lse, float("nan"))
    out_rows = Out + split * stride_os + batch * stride_ob + position * stride_om + head * stride_oh
    tl.store(out_rows[:, None] + offs_d[None, :], out.to(Out.dtype.element_ty), mask=in_tile)
    lse_rows = Lse + split * stride_ls + batch * stride_lb + head * stride_lh + position
    tl.store(lse_rows, lse, mask=in_rows)


def _launch_split(q, k, v, out, lse, seqlens, plan, scale, causal):
    """Fill ``out (S, B, L_q, H_q, D)`` and ``lse (S, B, H_q, L_q)``, S = 1 being the final output."""
    shape = plan.shape
    with launching_on(q):
        _split_kernel[(plan.programs,)](
            q, k, v, out, lse, seqlens,
            shape.len_q, shape.len_kv, shape.heads_kv, plan.num_splits, scale,
            *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *out.stride()[:4], *lse.stride()[:3],
            GROUP=shape.group_size, CAUSAL=causal,
            HEAD_DIM=shape.head_dim, BLOCK_M=plan.block_m, BLOCK_N=plan.block_n,
            BLOCK_D=triton.next_power_of_2(shape.head_dim),
            num_warps=4, num_stages=num_stages(shape.head_dim, shape.element_bytes),
        )  # fmt: skip


@functools.cache
def _num_sms(device: torch.device) -> int:
    """SMs to plan for: the GPU's own; an H100's under the interpreter, where any number will do."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).multi_processor_count
    return get_gpu("H100").num_sms


@functools.lru_cache(maxsize=4096)
def _plan(
    batch, heads_q, heads_kv, len_q, len_kv, head_dim, dtype, num_sms, num_splits
) -> SplitPlan:
    shape = AttentionShape(
        batch=batch, heads_q=heads_q, heads_kv=heads_kv, len_q=len_q, len_kv=len_kv,
        head_dim=head_dim, dtype=str(dtype).removeprefix("torch."),
    )  # fmt: skip
    plan = plan_splits(shape, num_sms, num_splits)
    if plan.programs > MAX_PROGRAMS:
        most = MAX_PROGRAMS * plan.num_splits // plan.programs
        raise ValueError(f"num_splits: got {num_splits}, takes at most {most} for this shape")
    return plan


def _plan_for(q: torch.Tensor, k: torch.Tensor, num_splits: int) -> SplitPlan:
    inputs.check_num_splits(num_splits)
    batch, len_q, heads_q, head_dim = q.shape
    len_kv, heads_kv = k.shape[1:3]
    num_sms = _num_sms(q.device)
    return _plan(batch, heads_q, heads_kv, len_q, len_kv, head_dim, q.dtype, num_sms, num_splits)


def _new_partials(q: torch.Tensor, num_splits: int) -> tuple[torch.Tensor, torch.Tensor]:
    batch, len_q, heads_q, head_dim = q.shape
    new = functools.partial(torch.empty, dtype=torch.float32, device=q.device)
    out_partial = new(num_splits, batch, len_q, heads_q, head_dim)
    return out_partial, new(num_splits, batch, heads_q, len_q)


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
    """The first half of Flash-Decoding: attention over each of ``num_splits`` parts of the keys.

    Arguments and errors are those of `flash_decode`. Returns ``out_partial (S, B, L_q, H_q, D)`` and
    ``lse_partial (S, B, H_q, L_q)``, both float32, S the number of splits; each part is normalised
    by itself.

    >>> q, kv = torch.randn(1, 1, 4, 16), torch.randn(1, 200, 2, 16)
    >>> out_partial, lse_partial = split_kv_attention(q, kv, kv, 3)
    >>> tuple(out_partial.shape), tuple(lse_partial.shape)
    ((3, 1, 1, 4, 16), (3, 1, 4, 1))
    """
    scale, seqlens = _check(q, k_cache, v_cache, cache_seqlens, softmax_scale, causal, validate)
    plan = _plan_for(q, k_cache, num_splits)
    out_partial, lse_partial = _new_partials(q, plan.num_splits)
    if q.numel():
        q, k, v = (kernel_dtype(x) for x in (q, k_cache, v_cache))
        _launch_split(q, k, v, out_partial, lse_partial, seqlens, plan, scale, causal)
    return out_partial, lse_partial


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
    FlashAttention's ``flash_attn_with_kvcache``, but ``causal`` is True here unless told.
    CUDA graphs: call once before the capture. The split count follows from the cache's capacity and
    the lengths are read on the device, so a graph serves whatever ``cache_seqlens`` holds at replay.

    Raises `ValueError`, `TypeError` or `RuntimeError` naming the argument. On a GPU the values of a
    ``cache_seqlens`` tensor are checked only with ``validate=True``, since looking at them waits
    for the device; without it, a sequence with an impossible length gets NaN.

    >>> q, cache = torch.randn(2, 1, 8, 64), torch.randn(2, 300, 2, 64)
    >>> flash_decode(q, cache, cache, cache_seqlens=torch.tensor([300, 17])).shape
    torch.Size([2, 1, 8, 64])
    """
    scale, seqlens = _check(q, k_cache, v_cache, cache_seqlens, softmax_scale, causal, validate)
    inputs.check_flag("return_lse", return_lse)
    batch, len_q, heads_q, _ = q.shape
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    lse = torch.empty(batch, heads_q, len_q, dtype=torch.float32, device=q.device)
    plan = _plan_for(q, k_cache, num_splits)
    if q.numel():
        _decode(q, k_cache, v_cache, out, lse, seqlens, plan, scale, causal)
    return (out, lse) if return_lse else out


def _decode(q, k, v, out, lse, seqlens, plan, scale, causal):
    computed = kernel_dtype(out)  # out itself, but for bfloat16 under the interpreter
    q, k, v = (kernel_dtype(x) for x in (q, k, v))
    if plan.num_splits == 1:  # nothing to merge: the kernel writes the output itself
        _launch_split(q, k, v, computed[None], lse[None], seqlens, plan, scale, causal)
    else:
        out_partial, lse_partial = _new_partials(q, plan.num_splits)
        _launch_split(q, k, v, out_partial, lse_partial, seqlens, plan, scale, causal)
        launch_combine(out_partial, lse_partial, computed, lse)
    if computed is not out:
        out.copy_(computed)


def _check(q, k_cache, v_cache, cache_seqlens, softmax_scale, causal, validate):
    inputs.check_qkv(q, k_cache, v_cache, names=("q", "k_cache", "v_cache"))
    inputs.check_flag("causal", causal)
    inputs.check_flag("validate", validate)
    seqlens = inputs.check_seqlens(
        cache_seqlens, q, k_cache.shape[1], validate=validate or not q.is_cuda
    )
    return inputs.resolve_scale(softmax_scale, q.shape[-1]), seqlens
