"""A kernel to learn from: a grid of three axes, a loop over part of the keys, running values.

Notebook 05 shows it. It has the bones of exercise 05 and computes something else.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from fdlib.device import require_triton

require_triton()

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

__all__ = ["longest_key"]


@triton.jit
def longest_key_kernel(
    K, Longest, Total, len_kv, part_len, num_parts, heads,
    stride_kb, stride_kn, stride_kh,
    HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Program (part, head, batch): the largest squared length, and the sum, of a part's keys."""
    part, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    start = part * part_len
    end = tl.minimum(start + part_len, len_kv)
    offs_d = tl.arange(0, HEAD_DIM)
    k_base = K + batch * stride_kb + head * stride_kh  # key 0 of this sequence and head

    longest = float("-inf")  # running: one number
    total = tl.zeros([HEAD_DIM], tl.float32)  # running: one vector
    for first in range(start, end, BLOCK_N):
        offs_n = first + tl.arange(0, BLOCK_N)
        in_keys = offs_n < end
        k = tl.load(
            k_base + offs_n[:, None] * stride_kn + offs_d[None, :], mask=in_keys[:, None], other=0.0
        )
        k = k.to(tl.float32)  # [BLOCK_N, HEAD_DIM]
        squared = tl.sum(k * k, 1)  # [BLOCK_N]: axis 1, head_dim, is gone
        squared = tl.where(in_keys, squared, float("-inf"))  # a key past the end must not win
        longest = tl.maximum(longest, tl.max(squared, 0))  # one number: axis 0, the keys, is gone
        total = total + tl.sum(k, 0)  # [HEAD_DIM]: axis 0, the keys, is gone

    place = (batch * heads + head) * num_parts + part
    tl.store(Longest + place, longest)
    tl.store(Total + place * HEAD_DIM + offs_d, total)


def longest_key(
    k: torch.Tensor, num_parts: int, block_n: int = 16
) -> tuple[torch.Tensor, torch.Tensor]:
    """``longest (B, H, P)`` and ``total (B, H, P, D)`` of P parts of the keys, float32.

    ``k (B, L, H, D)``, D a power of two. A part has ceil(L / P) keys, the last ones what is left;
    a part without keys gives -inf and 0.

    >>> k = torch.arange(40.0).reshape(1, 10, 1, 4)
    >>> longest, total = longest_key(k, 3)
    >>> longest.flatten().tolist()
    [734.0, 3486.0, 5630.0]
    """
    batch, len_kv, heads, head_dim = k.shape
    longest = torch.empty(batch, heads, num_parts, dtype=torch.float32, device=k.device)
    total = torch.empty(batch, heads, num_parts, head_dim, dtype=torch.float32, device=k.device)
    longest_key_kernel[(num_parts, heads, batch)](
        k, longest, total, len_kv, triton.cdiv(len_kv, num_parts), num_parts, heads,
        *k.stride()[:3], HEAD_DIM=head_dim, BLOCK_N=block_n,
    )  # fmt: skip
    return longest, total
