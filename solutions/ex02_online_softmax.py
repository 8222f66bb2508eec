"""Exercise 02: softmax in one pass (torch, about 30 minutes).

Read notebook 02_online_softmax first. Keys arrive block by block. You keep three running values per
query row, and no block is ever looked at twice:

    m     (..., M)      the largest score so far
    l     (..., M)      the sum of exp(score - m) so far
    acc   (..., M, D)   the sum of exp(score - m) * v so far, not yet divided by l

"..." stands for any number of leading dimensions: two in `attention` (batch, heads), and none, one,
three or four as well. M is the number of query rows, N the keys in one block. The state keeps its
dtype: float32, float64 or bfloat16.

Write only between a line that begins with "# >>> write" and the next "# <<<".
Check yourself: `fdlib check 2` in a terminal, or `check(2)` in the notebook.
"""

import math

import torch

NEG_INF = float("-inf")


def empty_state(rows, head_dim, like):
    """(m, l, acc) before the first key, in the dtype and on the device of `like`; `rows` is (..., M).

    No maximum yet, nothing summed.
    """
    m = torch.full(rows, NEG_INF, dtype=like.dtype, device=like.device)
    return m, torch.zeros_like(m), m.new_zeros(*rows, head_dim)


def update(m, l, acc, scores, v):  # noqa: E741
    """Fold one block into the state: scores (..., M, N), already scaled, hidden ones -inf; v (...,
    N, D).

    Returns the new (m, l, acc). v must stay as it was; the other arguments may be overwritten.
    """
    # m_new (..., M): the largest score of old and new together. alpha (..., M), between 0 and 1: what
    # the old sums are multiplied with. They were measured against m, and now count against m_new.
    # Careful: a row whose scores were all -inf until now has m = m_new = -inf, and (-inf) - (-inf)
    # is NaN. Such a row has to keep l = 0 and acc = 0.
    # >>> write: the new maximum and the correction factor
    m_new = torch.maximum(m, scores.amax(dim=-1))
    m_safe = torch.where(m_new == NEG_INF, 0.0, m_new)
    alpha = torch.exp(m - m_safe)
    # <<<

    # l_new (..., M) and acc_new (..., M, D): the corrected old sums plus what this block adds.
    # >>> write: the new sum and the new accumulator
    p = torch.exp(scores - m_safe[..., None])
    l_new = l * alpha + p.sum(dim=-1)
    acc_new = acc * alpha[..., None] + p @ v
    # <<<
    return m_new, l_new, acc_new


def finish(m, l, acc):  # noqa: E741
    """(out, lse) when all blocks are folded in: out (..., M, D), lse (..., M), natural log.

    A row that saw no key at all (l = 0) gives out = 0 and lse = -inf, not NaN.
    """
    # >>> write: the output and the LSE
    seen = l > 0
    l_safe = torch.where(seen, l, 1.0)
    out = acc / l_safe[..., None]
    lse = torch.where(seen, m + torch.log(l_safe), NEG_INF)
    # <<<
    return out, lse


def attention(q, k, v, block_n):
    """Attention in blocks of `block_n` keys, with your update: q (B, L_q, H, D), k, v (B, L_kv, H,
    D).

    Nothing to write here. Returns out (B, L_q, H, D) and lse (B, H, L_q).
    """
    batch, len_q, heads, head_dim = q.shape
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # (B, H, L, D)
    m, l, acc = empty_state((batch, heads, len_q), head_dim, q)  # noqa: E741
    for start in range(0, k.shape[2], block_n):
        k_block, v_block = k[:, :, start : start + block_n], v[:, :, start : start + block_n]
        scores = q @ k_block.transpose(-1, -2) / math.sqrt(head_dim)  # (B, H, L_q, N)
        m, l, acc = update(m, l, acc, scores, v_block)  # noqa: E741
    out, lse = finish(m, l, acc)
    return out.transpose(1, 2), lse
