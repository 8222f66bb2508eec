"""What a kernel did: outputs never written, writes past the end, and whether it was launched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

from fdlib.course.grading.compare import Mismatch, plain_tensor

if TYPE_CHECKING:
    import torch

__all__ = ["counted", "expect_written", "unwritten_memory"]

_GUARD = 65_536  # elements behind a tensor: as far as a plausible wrong index reaches


@contextlib.contextmanager
def unwritten_memory(case: str) -> Iterator[None]:
    """In the block, `torch.empty` and `torch.empty_like` give NaNs that `expect_written` knows.

    More of it lies behind each tensor. Raise `Mismatch` if that was written to.
    """
    import torch

    behind: list[torch.Tensor] = []

    def marked(make: Any) -> Any:
        def make_marked(*args: Any, **kw: Any) -> torch.Tensor:
            tensor = make(*args, **kw)
            if tensor.dtype not in (torch.float16, torch.float32):
                return tensor
            memory = make_empty(tensor.numel() + _GUARD, dtype=tensor.dtype, device=tensor.device)
            bits, mark = _bits(memory)
            bits.fill_(mark)
            behind.append(memory[tensor.numel() :])
            return memory.as_strided(tensor.shape, tensor.stride())

        return make_marked

    make_empty = torch.empty
    with (
        mock.patch.object(torch, "empty", marked(torch.empty)),
        mock.patch.object(torch, "empty_like", marked(torch.empty_like)),
    ):
        yield
    for guard in behind:
        bits, mark = _bits(guard)
        if (bits != mark).any():
            raise Mismatch(f"The kernel wrote past the end of a tensor that it fills, for {case}.")


def expect_written(tensor: Any, *, what: str, case: str, axes: tuple[str, ...]) -> None:
    """Raise `Mismatch` if an element still holds what `unwritten_memory` put there."""
    import torch

    if not isinstance(tensor, torch.Tensor) or tensor.dtype not in (torch.float16, torch.float32):
        return  # `expect_close` says more about this
    bits, mark = _bits(plain_tensor(tensor))
    missing = (bits == mark).cpu()
    if missing.any():
        index = missing.nonzero()[0].tolist()
        first = ", ".join(f"{axis} {i}" for axis, i in zip(axes, index, strict=True))
        raise Mismatch(
            f"{what} was not written everywhere, for {case}: "
            f"{int(missing.sum())} of {missing.numel()} elements are missing.\nFirst at {first}."
        )


def _bits(tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The tensor as integers, and those of a NaN that no arithmetic makes."""
    import torch

    half = tensor.dtype == torch.float16
    return tensor.view(torch.int16 if half else torch.int32), 0x7EAD if half else 0x7FCADEAD


class _Counted:
    """A kernel that counts its launches."""

    def __init__(self, kernel: Any) -> None:
        self.launches = 0
        self._kernel = kernel

    def __getitem__(self, grid: Any) -> Any:
        self.launches += 1
        return self._kernel[grid]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


@contextlib.contextmanager
def counted(module: ModuleType, name: str) -> Iterator[_Counted]:
    """In the block, the launches of the learner's kernel of this name are counted."""
    kernel = _Counted(getattr(module, name, None))
    with mock.patch.object(module, name, kernel, create=True):
        yield kernel
