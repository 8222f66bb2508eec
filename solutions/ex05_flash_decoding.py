"""Exercise 05: the split-KV kernel (Triton, about 60 minutes).

Read notebook 05_flash_decoding first. One new token attends to a long cache. You cut the keys into
`num_splits` parts and give each part to a program of its own. A program does what exercise 03 did,
for one query and its part of the keys, and writes down two things: its partial output, normalised
over its own keys, and their LSE. Exercise 06 merges them.

    q             (B, 1, H_q, D)      one query per sequence and head
    k, v          (B, L_kv, H_kv, D)  query head h reads key/value head h // GROUP, GROUP = H_q / H_kv
    out_partial   (S, B, 1, H_q, D)   float32, S = num_splits
    lse_partial   (S, B, H_q, 1)      float32, natural log

With a single query there is no matrix product to do: a score is the sum of q * k over head_dim, so
tl.sum does the work of tl.dot. Notebook 05 says why.

Write only between a line that begins with "# >>> write" and the next "# <<<".
Check yourself: `fdlib check 5` in a terminal, or `check(5)` in the notebook.
"""

import math

import fdlib  # noqa: F401  (chooses interpreter or GPU before triton is imported)
import torch
import triton
import triton.language as tl


@triton.jit
def split_kernel(
    Q, K, V, OutPartial, LsePartial, len_kv, num_splits, scale,
    stride_qb, stride_qh, stride_kb, stride_kn, stride_kh, stride_vb, stride_vn, stride_vh,
    stride_os, stride_ob, stride_oh, stride_ls, stride_lb, stride_lh,
    GROUP: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Program (split, head, batch): one query head of one sequence against one part of its keys."""
    split, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    offs_d = tl.arange(0, HEAD_DIM)
    q = tl.load(Q + batch * stride_qb + head * stride_qh + offs_d).to(tl.float32)  # [HEAD_DIM]

    # Which keys belong to this split? Cut in whole blocks: there are blocks = ceil(len_kv / BLOCK_N)
    # of them, the last one perhaps not full. Split s owns the blocks
    #     from  s * blocks // num_splits  up to, not including,  (s + 1) * blocks // num_splits
    # start and end: its first key, and one past its last key. end must not pass len_kv.
    # start == end is possible: with more splits than blocks, some get nothing.
    # Use exactly this cut: the check looks at each split.
    # >>> write: the range of keys of this split
    blocks = tl.cdiv(len_kv, BLOCK_N)
    start = split * blocks // num_splits * BLOCK_N
    end = tl.minimum((split + 1) * blocks // num_splits * BLOCK_N, len_kv)
    # <<<

    # k_base and v_base: where key 0 and value 0 of this program's sequence and key/value head lie.
    # All GROUP query heads of a group read the same key/value head.
    # >>> write: the base of the keys and of the values
    head_kv = head // GROUP
    k_base = K + batch * stride_kb + head_kv * stride_kh
    v_base = V + batch * stride_vb + head_kv * stride_vh
    # <<<

    m_i = float("-inf")
    l_i = 0.0
    acc = tl.zeros([HEAD_DIM], tl.float32)
    for first in range(start, end, BLOCK_N):
        offs_n = first + tl.arange(0, BLOCK_N)  # [BLOCK_N]
        in_keys = offs_n < end
        k = tl.load(
            k_base + offs_n[:, None] * stride_kn + offs_d[None, :], mask=in_keys[:, None], other=0.0
        ).to(tl.float32)
        v = tl.load(
            v_base + offs_n[:, None] * stride_vn + offs_d[None, :], mask=in_keys[:, None], other=0.0
        ).to(tl.float32)

        # qk: [BLOCK_N], the score of each key of this block, times scale; -inf past the end. Then
        # the update: m_i and l_i are single numbers here, acc is [HEAD_DIM]. In this loop every
        # block has at least one key, so the new maximum is never -inf.
        # >>> write: the scores and the online softmax update
        qk = tl.sum(q[None, :] * k, 1) * scale
        qk = tl.where(in_keys, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 0))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(qk - m_new)
        l_i = l_i * alpha + tl.sum(p, 0)
        acc = acc * alpha + tl.sum(p[:, None] * v, 0)
        m_i = m_new
        # <<<

    # out: [HEAD_DIM], normalised over this split's own keys; lse: one number, natural log. A split
    # without keys gives out = 0 and lse = -inf: the combine must be able to add it without harm.
    # >>> write: the partial output and its LSE
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    out = acc / l_safe
    lse = tl.where(l_i == 0.0, float("-inf"), m_i + tl.log(l_safe))
    # <<<

    tl.store(OutPartial + split * stride_os + batch * stride_ob + head * stride_oh + offs_d, out)
    tl.store(LsePartial + split * stride_ls + batch * stride_lb + head * stride_lh, lse)


def split_kv(q, k, v, num_splits, block_n=32):
    """Launch the kernel. Returns out_partial (S, B, 1, H_q, D) and lse_partial (S, B, H_q, 1), float32."""
    batch, _, heads_q, head_dim = q.shape
    out_partial = torch.empty(
        num_splits, batch, 1, heads_q, head_dim, dtype=torch.float32, device=q.device
    )
    lse_partial = torch.empty(num_splits, batch, heads_q, 1, dtype=torch.float32, device=q.device)

    # grid: a tuple, how many programs along axis 0, 1 and 2. The kernel reads them as (split, head,
    # batch).
    # >>> write: the grid
    grid = (num_splits, heads_q, batch)
    # <<<

    split_kernel[grid](
        q, k, v, out_partial, lse_partial, k.shape[1], num_splits, 1 / math.sqrt(head_dim),
        q.stride(0), q.stride(2), *k.stride()[:3], *v.stride()[:3],
        out_partial.stride(0), out_partial.stride(1), out_partial.stride(3), *lse_partial.stride()[:3],
        GROUP=heads_q // k.shape[2], HEAD_DIM=head_dim, BLOCK_N=block_n,
    )  # fmt: skip
    return out_partial, lse_partial
