"""The smallest kernel that tells whether Triton works on this machine; ``fdlib doctor`` runs it before any of ours.

It uses what every kernel of the course uses: a loop whose bounds are known at run time only, a masked load, a
reduction. With some pairs of Triton and numpy just these fail or give wrong numbers under the interpreter.
"""

from __future__ import annotations

from fdlib.device import launching_on, require_triton

require_triton()

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

__all__ = ["masked_sum"]


@triton.jit
def _masked_sum_kernel(x_ptr, out_ptr, length, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, length, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < length, other=0.0)
    tl.store(out_ptr, tl.sum(total, axis=0))


def masked_sum(x: torch.Tensor, length: int) -> torch.Tensor:
    """Return the sum of the first ``length`` elements of ``x`` (N,) float32, as a float32 tensor of one element.

    Raises ``ValueError`` when ``length`` does not lie in 0 to N.

    >>> import torch
    >>> masked_sum(torch.arange(100, dtype=torch.float32), 10).item()
    45.0
    """
    if not 0 <= length <= x.numel():
        raise ValueError(f"length: got {length}, takes 0 to {x.numel()}, the length of x")
    out = torch.full((1,), float("nan"), dtype=torch.float32, device=x.device)
    with launching_on(x):
        _masked_sum_kernel[(1,)](x, out, length, BLOCK=32)
    return out
