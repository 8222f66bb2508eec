"""What a kernel did: outputs never written, writes past the end, and whether it was launched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

from fdlib.course.grading.compare import Mismatch, place, plain_tensor, share
from fdlib.device import interpreting

if TYPE_CHECKING:
    import torch

__all__ = ["Counted", "counted", "expect_written", "unwritten_memory"]

_GUARD = 65_536  # elements behind a tensor, on a GPU: as far as a plausible wrong index reaches


@contextlib.contextmanager
def unwritten_memory(case: str) -> Iterator[None]:
    """In the block, `torch.empty` and `torch.empty_like` give NaNs that `expect_written` knows.

    A `MemoryFault` in the block says for which case. On a GPU nothing sees a wrong address: there,
    more NaNs lie behind each tensor, and `Mismatch` is raised if they were written to.
    """
    import torch

    guarded = 0 if interpreting() else _GUARD
    behind: list[torch.Tensor] = []

    def marked(make: Any) -> Any:
        def make_marked(*args: Any, **kw: Any) -> torch.Tensor:
            tensor = make(*args, **kw)
            if tensor.dtype not in (torch.float16, torch.float32):
                return tensor
            memory = make_empty(tensor.numel() + guarded, dtype=tensor.dtype, device=tensor.device)
            bits, mark = _bits(memory)
            bits.fill_(mark)
            behind.append(memory[tensor.numel() :])
            return memory.as_strided(tensor.shape, tensor.stride())

        return make_marked

    make_empty = torch.empty
    with (
        mock.patch.object(torch, "empty", marked(torch.empty)),
        mock.patch.object(torch, "empty_like", marked(torch.empty_like)),
        _faults_of(case),
    ):
        yield
    for guard in behind:
        bits, mark = _bits(guard)
        if (bits != mark).any():
            raise Mismatch(f"The kernel wrote past the end of a tensor that it fills, for {case}.")


@contextlib.contextmanager
def _faults_of(case: str) -> Iterator[None]:
    from fdlib.course.grading.memory import fault_in

    try:
        yield
    except Exception as error:
        fault = fault_in(error)
        if fault is None:
            raise
        raise fault.for_case(case) from error


def expect_written(tensor: Any, *, what: str, case: str, axes: tuple[str, ...]) -> None:
    """Raise `Mismatch` if an element still holds what `unwritten_memory` put there."""
    import torch

    if not isinstance(tensor, torch.Tensor) or tensor.dtype not in (torch.float16, torch.float32):
        return  # `expect_close` says more about this
    bits, mark = _bits(plain_tensor(tensor))
    missing = (bits == mark).cpu()
    if missing.any():
        first = place(tuple(missing.nonzero()[0].tolist()), axes)
        raise Mismatch(
            f"{what} was not written everywhere, for {case}: {share(missing)} are missing.\n"
            f"First {first}."
        )


def _bits(tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The tensor as integers, and those of a NaN that no arithmetic makes."""
    import torch

    half = tensor.dtype == torch.float16
    return tensor.view(torch.int16 if half else torch.int32), 0x7EAD if half else 0x7FCADEAD


@dataclass
class Counted:
    """How often a kernel was launched."""

    launches: int = 0


@contextlib.contextmanager
def counted(module: ModuleType, name: str) -> Iterator[Counted]:
    """In the block, the launches of the learner's kernel of this name are counted."""
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    count = Counted()

    def counting(run: Any) -> Any:
        def counted_run(kernel: Any, *args: Any, **kw: Any) -> Any:
            same = (kernel.fn.__module__, kernel.fn.__name__) == (module.__name__, name)
            count.launches += same and not kw.get("warmup")
            return run(kernel, *args, **kw)

        return counted_run

    with contextlib.ExitStack() as stack:
        for kind in (InterpretedFunction, JITFunction):
            stack.enter_context(mock.patch.object(kind, "run", counting(kind.run)))
        yield count
