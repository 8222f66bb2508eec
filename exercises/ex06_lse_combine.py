"""Exercise 06: the combine kernel and Flash-Decoding (torch and Triton, about 40 minutes).

Read notebook 06_lse_combine first. The parts of exercise 05 become one answer, exactly. Part i
holds out_i, normalised over its own keys, and lse_i, the log of the sum of exp(score) over its own
keys. So exp(lse_i) is that part's share of the whole softmax's denominator, and

    lse = log( sum over i of exp(lse_i) )            out = sum over i of exp(lse_i - lse) * out_i

Subtract the largest lse_i before you take exp, as always: exp(lse_i) alone overflows.

First you merge two parts in torch, then any number of parts in a Triton kernel, then you put
Flash-Decoding together.

Write only between a line that begins with "# >>> write" and the next "# <<<".
Check yourself: `fdlib check 6` in a terminal, or `check(6)` in the notebook.
"""

import fdlib  # noqa: F401  (chooses interpreter or GPU before triton is imported)
import torch
import triton
import triton.language as tl
from fdlib.attention.flash_decoding import split_kv_attention


def merge(out_a, lse_a, out_b, lse_b):
    """Two parts become one: out_a, out_b (..., D), lse_a, lse_b (...). Returns (out, lse).

    `...` is any number of axes, one or more: (10,), (H, B) or (B, H, 1), the same for all four.
    The LSEs are natural logarithms. A part that saw no key has out = 0 and lse = -inf, and changes
    nothing: merging with it gives back the other part. Two such parts give 0 and -inf, not NaN. The
    arguments stay as they are.
    """
    # >>> write: the merge of two parts
    raise NotImplementedError("write: the merge of two parts")
    # <<<
    return out, lse


@triton.jit
def combine_kernel(
    OutPartial, LsePartial, Out, Lse, num_splits,
    stride_ps, stride_pb, stride_ph, stride_ls, stride_lb, stride_lh,
    stride_ob, stride_oh, stride_zb, stride_zh,
    HEAD_DIM: tl.constexpr, BLOCK_S: tl.constexpr,
):  # fmt: skip
    """Program (head, batch): all parts of one output row. BLOCK_S is a power of two, at least num_splits."""
    head, batch = tl.program_id(0), tl.program_id(1)
    offs_s = tl.arange(0, BLOCK_S)  # [BLOCK_S] which split
    offs_d = tl.arange(0, HEAD_DIM)
    in_splits = offs_s < num_splits
    lse_ptrs = LsePartial + batch * stride_lb + head * stride_lh + offs_s * stride_ls  # [BLOCK_S]
    parts_of_row = OutPartial + batch * stride_pb + head * stride_ph
    part_ptrs = parts_of_row + offs_s[:, None] * stride_ps + offs_d[None, :]  # [BLOCK_S, HEAD_DIM]

    # lse_parts: [BLOCK_S]; parts: [BLOCK_S, HEAD_DIM]. Where there is no split (offs_s >=
    # num_splits), lse must be -inf.
    # >>> write: load the LSEs and the partial outputs
    tl.static_assert(False, "write: load the LSEs and the partial outputs")
    # <<<

    # out: [HEAD_DIM] and lse: one number, from the two formulas above. All parts may be empty: then
    # 0 and -inf.
    # >>> write: the combined output and LSE
    tl.static_assert(False, "write: the combined output and LSE")
    # <<<

    tl.store(Out + batch * stride_ob + head * stride_oh + offs_d, out.to(Out.dtype.element_ty))
    tl.store(Lse + batch * stride_zb + head * stride_zh, lse)


def combine(out_partial, lse_partial, dtype=torch.float32):
    """Launch the kernel: one program per head and batch entry. Returns (out, lse).

    out_partial (S, B, 1, H_q, D), lse_partial (S, B, H_q, 1); out (B, 1, H_q, D), lse (B, H_q, 1).
    Nothing to write here.
    """
    num_splits, batch, _, heads_q, head_dim = out_partial.shape
    out = torch.empty(batch, 1, heads_q, head_dim, dtype=dtype, device=out_partial.device)
    lse = torch.empty(batch, heads_q, 1, dtype=torch.float32, device=out_partial.device)
    combine_kernel[(heads_q, batch)](
        out_partial, lse_partial, out, lse, num_splits,
        out_partial.stride(0), out_partial.stride(1), out_partial.stride(3), *lse_partial.stride()[:3],
        out.stride(0), out.stride(2), *lse.stride()[:2],
        HEAD_DIM=head_dim, BLOCK_S=triton.next_power_of_2(num_splits),
    )  # fmt: skip
    return out, lse


def given_split_kv(q, k, v, num_splits):
    """fdlib's own split kernel, with the parameters that yours has. Nothing to write here."""
    return split_kv_attention(q, k, v, num_splits)


def flash_decode(q, k, v, num_splits, split_kv=given_split_kv):
    """Flash-Decoding: q (B, 1, H_q, D), k, v (B, L_kv, H_kv, D). Returns (out, lse).

    out like q, in q's dtype; lse (B, H_q, 1) float32.
    `split_kv(q, k, v, num_splits)` returns (out_partial, lse_partial), and its parameters have these
    names. It is fdlib's kernel unless you pass your own from exercise 05. Cut the keys into
    num_splits parts, and merge them with combine: what combine returns is the answer.
    """
    # >>> write: split, then combine
    raise NotImplementedError("write: split, then combine")
    # <<<
    return out, lse


# Generated from solutions/ex06_lse_combine.py; write between the markers. 64b391cc2ec9
