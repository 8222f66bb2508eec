"""Exercise 03: the inner loop of FlashAttention (Triton, about 50 minutes).

Read notebook 03_flash_attention first; it shows every Triton operation that you need here. The
kernel is the loop of exercise 02, but each program loads its own tiles from memory, and the scores
never leave the chip.

One program handles one block of BLOCK_M queries of one head of one sequence. It walks over the
keys, BLOCK_N at a time:

    q      [BLOCK_M, HEAD_DIM]   loaded once, stays in registers
    k, v   [BLOCK_N, HEAD_DIM]   one block of keys and values, loaded in every round
    qk     [BLOCK_M, BLOCK_N]    scores of this block, float32
    m_i, l_i [BLOCK_M] and acc [BLOCK_M, HEAD_DIM]   the running state, float32

HEAD_DIM, BLOCK_M and BLOCK_N are powers of two, known when the kernel is compiled. Any two of them
can differ. q, k and v share one dtype: float32, float16 or, on a GPU, bfloat16.

Write only between a line that begins with "# >>> write" and the next "# <<<".
Check yourself: `fdlib check 3` in a terminal, or `check(3)` in the notebook.
"""

import math

import fdlib  # noqa: F401  (chooses interpreter or GPU before triton is imported)
import torch
import triton
import triton.language as tl


@triton.jit
def flash_attention_kernel(
    Q, K, V, Out, Lse, len_q, len_kv, scale,
    stride_qb, stride_qm, stride_qh, stride_kb, stride_kn, stride_kh, stride_vb, stride_vn, stride_vh,
    stride_ob, stride_om, stride_oh, stride_lb, stride_lh,
    CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Strides count elements: K[b, n, h, d] lies at K + b * stride_kb + n * stride_kn + h * stride_kh + d."""
    batch, head, m_block = tl.program_id(2), tl.program_id(1), tl.program_id(0)
    offs_m = m_block * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M] which queries
    offs_d = tl.arange(0, HEAD_DIM)  # [HEAD_DIM]
    in_rows = offs_m < len_q  # the last block can reach past the end

    q_base = Q + batch * stride_qb + head * stride_qh
    k_base = K + batch * stride_kb + head * stride_kh
    v_base = V + batch * stride_vb + head * stride_vh
    q = tl.load(
        q_base + offs_m[:, None] * stride_qm + offs_d[None, :], mask=in_rows[:, None], other=0.0
    )

    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
    for start in range(0, len_kv, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)  # [BLOCK_N] which keys

        # k and v: [BLOCK_N, HEAD_DIM], like q above, from k_base with stride_kn and from v_base
        # with stride_vn. The last block can reach past len_kv: those rows must not be read. What
        # lies there may be NaN.
        # >>> write: load this block of keys and values
        tl.static_assert(False, "write: load this block of keys and values")
        # <<<

        # qk: [BLOCK_M, BLOCK_N], q times k transposed, times scale. -inf where a query must not
        # look: keys at or past len_kv, and, if CAUSAL, keys after the query. Query i stands at
        # position len_kv - len_q + i. tl.dot(a, b, input_precision="ieee") multiplies in full
        # float32 where the inputs are float32.
        # >>> write: the scores of this block, with the hidden ones at -inf
        tl.static_assert(False, "write: the scores of this block, with the hidden ones at -inf")
        # <<<

        # The update of exercise 02: m_i, l_i and acc, after this block. A row that has seen no key
        # yet stays at m_i = -inf, l_i = 0, acc = 0. l_i sums the float32 p; for acc, tl.dot takes
        # two tiles of one dtype: cast p to v.dtype.
        # >>> write: the online softmax update
        tl.static_assert(False, "write: the online softmax update")
        # <<<

    # out: [BLOCK_M, HEAD_DIM], lse: [BLOCK_M], natural log. A row without keys gives 0 and -inf.
    # >>> write: the output and the LSE
    tl.static_assert(False, "write: the output and the LSE")
    # <<<

    out_ptrs = (
        Out + batch * stride_ob + head * stride_oh + offs_m[:, None] * stride_om + offs_d[None, :]
    )
    tl.store(out_ptrs, out.to(Out.dtype.element_ty), mask=in_rows[:, None])
    tl.store(Lse + batch * stride_lb + head * stride_lh + offs_m, lse, mask=in_rows)


def flash_attention(q, k, v, *, causal=False, block_m=32, block_n=32):
    """Launch the kernel: q (B, L_q, H, D), k, v (B, L_kv, H, D). Returns out like q and lse (B, H,
    L_q) float32.

    Nothing to write here.
    """
    batch, len_q, heads, head_dim = q.shape
    out = torch.empty_like(q)
    lse = torch.empty(batch, heads, len_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(len_q, block_m), heads, batch)
    flash_attention_kernel[grid](
        q, k, v, out, lse, len_q, k.shape[1], 1 / math.sqrt(head_dim),
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *out.stride()[:3], *lse.stride()[:2],
        CAUSAL=causal, HEAD_DIM=head_dim, BLOCK_M=block_m, BLOCK_N=block_n,
    )  # fmt: skip
    return out, lse


# Generated from solutions/ex03_flash_attention.py; write between the markers. 02ee0c3eaf0e
