"""Exercise 01: attention with a KV cache (torch, about 25 minutes).

Read notebook 01_naive_attention first. You write attention as the formula says it, and then one
step of decoding: put the new token's key and value into the cache, and let its query look at all of
them.

Everything here has the layout of the whole course:

    q        (B, L_q,  H, D)   queries: batch, positions, heads, head_dim
    k, v     (B, L_kv, H, D)   keys and values
    out      (B, L_q,  H, D)   like q
    lse      (B, H, L_q)       natural log of the sum of exp(score): you need it from notebook 02 on

Write only between a line that begins with "# >>> write" and the next "# <<<".
Check yourself: `fdlib check 1` in a terminal, or `check(1)` in the notebook.
"""

import math

import torch


def attention(q, k, v, *, causal=False):
    """out = softmax(q kᵀ / sqrt(D)) v, and the LSE of each row of scores. Returns (out, lse).

    With causal=True len_q is at most len_kv: every query sees at least one key. q, k and v share one
    dtype, float32 or bfloat16, and out has it too. They stay as they are.
    """
    len_q, len_kv, head_dim = q.shape[1], k.shape[1], q.shape[3]
    # (B, H, L, D): @ works on the last two.
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    # scores: (B, H, L_q, L_kv). Entry [i, j] is the dot product of query i with key j, divided by
    # sqrt(D).
    # >>> write: the scaled scores
    scores = q @ k.transpose(-1, -2) / math.sqrt(head_dim)
    # <<<

    # Causal: the queries are the LAST len_q positions of the sequence, so query i stands at
    # position len_kv - len_q + i and sees the keys up to and including that position. A hidden
    # score becomes -inf.
    if causal:
        # >>> write: hide the keys that come after each query
        position = len_kv - len_q + torch.arange(len_q, device=q.device)
        hidden = torch.arange(len_kv, device=q.device) > position[:, None]  # (L_q, L_kv)
        scores = scores.masked_fill(hidden, float("-inf"))
        # <<<

    # lse: (B, H, L_q), log of the sum over the keys of exp(score). out: (B, H, L_q, D), the
    # weighted sum of v. The weights are exp(score - lse); they are softmax(score). Large scores
    # must not overflow.
    # >>> write: the LSE and the output
    lse = torch.logsumexp(scores, dim=-1)
    out = torch.exp(scores - lse[..., None]) @ v
    # <<<
    return out.transpose(1, 2), lse


def decode_step(q, k_new, v_new, k_cache, v_cache, length):
    """One step of decoding: store the new token's key and value, then attend to every token so far.

    q, k_new, v_new (B, 1, H, D); k_cache, v_cache (B, L_max, H, D), of which the first `length`
    positions are in use (the rest holds garbage; 0 <= length < L_max). Writes into the caches in
    place. Returns (out, lse, length + 1).
    """
    # >>> write: append to the cache and attend to the part in use
    k_cache[:, length] = k_new[:, 0]
    v_cache[:, length] = v_new[:, 0]
    length = length + 1
    out, lse = attention(q, k_cache[:, :length], v_cache[:, :length])
    # <<<
    return out, lse, length
