"""FlashAttention's forward pass in Triton, and the inner loop that Flash-Decoding uses unchanged.

Source: Dao 2023, "FlashAttention-2", algorithm 1, https://arxiv.org/abs/2307.08691.
"""

from __future__ import annotations

import torch

from fdlib.attention.inputs import check_flag, check_qkv, resolve_scale
from fdlib.device import interpreting, launching_on, require_triton
from fdlib.plan import cdiv, key_block, num_stages, row_block

require_triton()

import triton  # noqa: E402  (interpreter mode is chosen before triton is imported)
import triton.language as tl  # noqa: E402

__all__ = [
    "attend_keys",
    "attend_visible",
    "finalize_rows",
    "flash_attention",
    "kernel_dtype",
]

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def attend_keys(
    q, m_i, l_i, acc, k_base, v_base, stride_kn, stride_vn, start, end, row_limit, scale_log2,
    HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Fold keys ``start`` to ``end - 1`` into the running ``(m_i, l_i, acc)`` of ``q``'s rows.

    Row r sees the keys below ``row_limit[r]``. Scores are in base 2 (``scale_log2`` holds log2 e):
    exp2 is one instruction. ``MASKED=False`` promises whole blocks that every row sees, and saves
    the comparisons.
    """
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    in_head = offs_d < HEAD_DIM
    guarded: tl.constexpr = MASKED or HEAD_DIM != BLOCK_D
    wide_n = offs_n.to(tl.int64)  # past 2^31 elements an int32 offset would wrap
    k_ptrs = k_base + offs_d[:, None] + wide_n[None, :] * stride_kn  # (D, N): already transposed
    v_ptrs = v_base + wide_n[:, None] * stride_vn + offs_d[None, :]  # (N, D)
    for n in tl.range(start, end, BLOCK_N):
        first = tl.cast(n, tl.int64)
        in_range = offs_n < end - n
        k = _load(k_ptrs + first * stride_kn, in_head[:, None] & in_range[None, :], guarded)
        qk = tl.dot(q, k, input_precision="ieee") * scale_log2  # (M, N), float32, base 2
        if MASKED:
            qk = tl.where(n + offs_n[None, :] < row_limit[:, None], qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)  # -inf - -inf is NaN
        alpha = tl.exp2(m_i - m_safe)  # the correction factor
        p = tl.exp2(qk - m_safe[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = _load(v_ptrs + first * stride_vn, in_range[:, None] & in_head[None, :], guarded)
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        m_i = m_new
    return m_i, l_i, acc


@triton.jit
def _load(ptrs, mask, GUARDED: tl.constexpr):
    if GUARDED:
        tile = tl.load(ptrs, mask=mask, other=0.0)  # what lies beyond may be NaN: it is never read
    else:
        tile = tl.load(ptrs)
    return tile


@triton.jit
def attend_visible(
    q, k_base, v_base, stride_kn, stride_vn, start, end, row_limit, full_limit, scale_log2,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """``(m_i, l_i, acc)`` over keys ``start`` to ``end - 1``: whole blocks, then the masked tail.

    ``full_limit``: every row sees the keys below it.
    """
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    whole = tl.maximum(tl.minimum(end, full_limit) - start, 0) // BLOCK_N * BLOCK_N
    m_i, l_i, acc = attend_keys(
        q, m_i, l_i, acc, k_base, v_base, stride_kn, stride_vn, start, start + whole,
        row_limit, scale_log2, HEAD_DIM, BLOCK_N, BLOCK_D, MASKED=False,
    )  # fmt: skip
    return attend_keys(
        q, m_i, l_i, acc, k_base, v_base, stride_kn, stride_vn, start + whole, end,
        row_limit, scale_log2, HEAD_DIM, BLOCK_N, BLOCK_D, MASKED=True,
    )  # fmt: skip


@triton.jit
def finalize_rows(m_i, l_i, acc):
    """Output rows and LSE (natural log): the one division, at the very end. No key: 0 and -inf."""
    empty = l_i == 0.0
    l_safe = tl.where(empty, 1.0, l_i)
    lse = tl.where(empty, float("-inf"), (m_i + tl.log2(l_safe)) * LN_2)
    return acc / l_safe[:, None], lse


@triton.jit(do_not_specialize=["len_q", "len_kv", "heads_q"])
def _flash_attention_kernel(
    Q, K, V, Out, Lse, len_q, len_kv, heads_q, scale,
    stride_qb, stride_qm, stride_qh, stride_kb, stride_kn, stride_kh, stride_vb, stride_vn, stride_vh,
    GROUP: tl.constexpr, CAUSAL: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """One program: one block of queries of one head, against all the keys that they see."""
    row_blocks = tl.cdiv(len_q, BLOCK_M)
    pid = tl.program_id(0)
    # Longest rows first: causal blocks differ in work.
    m_start = (row_blocks - 1 - pid % row_blocks) * BLOCK_M
    head = (pid // row_blocks % heads_q).to(tl.int64)
    head_kv = head // GROUP
    batch = (pid // row_blocks // heads_q).to(tl.int64)

    offs_m = m_start + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    in_rows = (offs_m < len_q)[:, None] & (offs_d < HEAD_DIM)[None, :]
    rows = offs_m.to(tl.int64)
    q = tl.load(
        Q + batch * stride_qb + head * stride_qh + rows[:, None] * stride_qm + offs_d[None, :],
        mask=in_rows,
        other=0.0,
    )

    # Causal, bottom-right: query i sees i + 1 keys more than this.
    hidden = len_kv - len_q if CAUSAL else len_kv
    row_limit = tl.minimum(hidden + 1 + offs_m, len_kv)
    end = tl.maximum(tl.minimum(hidden + m_start + BLOCK_M, len_kv), 0)
    full_limit = tl.minimum(hidden + 1 + m_start, len_kv)
    m_i, l_i, acc = attend_visible(
        q, K + batch * stride_kb + head_kv * stride_kh, V + batch * stride_vb + head_kv * stride_vh,
        stride_kn, stride_vn, 0, end, row_limit, full_limit, scale * LOG2_E,
        HEAD_DIM, BLOCK_M, BLOCK_N, BLOCK_D,
    )  # fmt: skip

    out, lse = finalize_rows(m_i, l_i, acc)
    out_ptrs = Out + ((batch * len_q + rows[:, None]) * heads_q + head) * HEAD_DIM + offs_d[None, :]
    tl.store(out_ptrs, out.to(Out.dtype.element_ty), mask=in_rows)
    tl.store(Lse + (batch * heads_q + head) * len_q + rows, lse, mask=offs_m < len_q)


def flash_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention that never writes a score to memory: FlashAttention's forward pass.

    ``q (B, L_q, H_q, D)``, ``k, v (B, L_kv, H_kv, D)`` in float16, bfloat16 or float32, H_q a
    multiple of H_kv, D from 16 to 256, any strides with a contiguous last dimension. Returns ``out
    (B, L_q, H_q, D)`` in q's dtype and ``lse (B, H_q, L_q)`` float32, natural log. ``causal``
    aligns bottom-right. Raises `ValueError`, `TypeError` or `RuntimeError` naming the argument.
    Reads q once and, per query head and block of rows, the keys and values that it sees.

    >>> q, kv = torch.randn(1, 5, 4, 16), torch.randn(1, 20, 2, 16)
    >>> out, lse = flash_attention(q, kv, kv, causal=True)
    >>> tuple(out.shape), tuple(lse.shape)
    ((1, 5, 4, 16), (1, 4, 5))
    """
    check_qkv(q, k, v)
    check_flag("causal", causal)
    scale = resolve_scale(softmax_scale, q.shape[-1])
    batch, len_q, heads_q, head_dim = q.shape
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    lse = torch.empty(batch, heads_q, len_q, dtype=torch.float32, device=q.device)
    if q.numel() == 0:
        return out, lse
    q, k, v, out_kernel = (kernel_dtype(x) for x in (q, k, v, out))
    block_m = row_block(len_q, head_dim, q.element_size())
    block_n = key_block(head_dim, q.element_size())
    with launching_on(q):
        _flash_attention_kernel[(cdiv(len_q, block_m) * heads_q * batch,)](
            q, k, v, out_kernel, lse, len_q, k.shape[1], heads_q, scale,
            *q.stride()[:3], *k.stride()[:3], *v.stride()[:3],
            GROUP=heads_q // k.shape[2], CAUSAL=causal,
            HEAD_DIM=head_dim, BLOCK_M=block_m, BLOCK_N=block_n,
            BLOCK_D=triton.next_power_of_2(head_dim), num_warps=4, num_stages=num_stages(head_dim, q.element_size()),
        )  # fmt: skip
    return out_kernel.to(out.dtype), lse


def kernel_dtype(x: torch.Tensor) -> torch.Tensor:
    """``x``, or its float32 copy where bfloat16 meets the interpreter, which computes it wrongly."""
    if interpreting() and x.dtype == torch.bfloat16:
        return x.to(torch.float32, memory_format=torch.contiguous_format)
    return x
