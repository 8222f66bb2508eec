"""What a kernel did: outputs never written, writes past the end, and whether it did the work."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

from fdlib.course.expect.compare import Mismatch, place, plain_tensor, share
from fdlib.course.expect.shortened import shortened
from fdlib.device import interpreting

if TYPE_CHECKING:
    import torch

__all__ = ["Work", "at_work", "expect_written", "unwritten_memory"]

_GUARD = 65_536  # elements behind a tensor, on a GPU: as far as a plausible wrong index reaches
_MARKS = {"torch.float16": 0x7EAD, "torch.bfloat16": 0x7FAD, "torch.float32": 0x7FCADEAD}


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
            if str(tensor.dtype) not in _MARKS:
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
    from fdlib.course.expect.memory import fault_in

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

    if not isinstance(tensor, torch.Tensor) or str(tensor.dtype) not in _MARKS:
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

    mark = _MARKS[str(tensor.dtype)]
    return tensor.view(torch.int16 if mark <= 0x7FFF else torch.int32), mark


@dataclass
class Work:
    """What the learner's kernels did: how often they were launched, and the numbers that they wrote."""

    launches: int = 0
    parts: int = 0  # of all launches: what `num_splits` was
    wrote: list[torch.Tensor] = field(default_factory=list)

    def expect_of(self, case: str, **returned: Any) -> None:
        """Raise `Mismatch` if a returned tensor holds numbers that no kernel wrote.

        0, infinities and NaN are let pass: they may stand in a tensor before the launch.
        """
        import torch

        for what, tensor in returned.items():
            if not isinstance(tensor, torch.Tensor):
                continue  # `expect_close` says more about this
            there = plain_tensor(tensor).detach()
            known = [part.to(there.dtype).float() for part in self.wrote]
            numbers = there[there.isfinite() & (there != 0)].float()
            own = torch.isin(numbers, torch.cat(known)) if known else torch.zeros_like(numbers) != 0
            if not own.all():
                raise Mismatch(
                    f"{what} is not what your kernel wrote, for {case}: {share(~own)} come from "
                    "elsewhere. Return what the kernel stores, and compute nothing a second time beside it."
                )


@contextlib.contextmanager
def at_work(module: ModuleType, name: str) -> Iterator[Work]:
    """In the block, the launches of the learner's kernel of this name, with all that each one changed.

    A grid that Triton does not take raises `Mismatch`.
    """
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    work = Work()

    def noting(run: Any) -> Any:
        def noted_run(kernel: Any, *args: Any, **kw: Any) -> Any:
            mine = (kernel.fn.__module__, kernel.fn.__name__) == (module.__name__, name)
            if not mine or kw.get("warmup"):
                return run(kernel, *args, **kw)
            _refuse_grid(kw.get("grid"))
            given = dict(zip(inspect.signature(kernel.fn).parameters, args, strict=False)) | kw
            before = _copies(given)
            result = run(kernel, *args, **kw)
            work.launches += 1
            work.parts += int(given.get("num_splits") or 0)
            for key, after in _copies(given).items():
                bits = [_bits(x)[0] if str(x.dtype) in _MARKS else x for x in (before[key], after)]
                work.wrote.append(after[bits[0] != bits[1]])
            return result

        return noted_run

    with contextlib.ExitStack() as stack:
        for kind in (InterpretedFunction, JITFunction):
            stack.enter_context(mock.patch.object(kind, "run", noting(kind.run)))
        yield work


def _copies(given: dict[str, Any]) -> dict[str, torch.Tensor]:
    import torch

    tensors = {key: value for key, value in given.items() if isinstance(value, torch.Tensor)}
    return {key: plain_tensor(value).detach().clone() for key, value in tensors.items()}


def _refuse_grid(grid: Any) -> None:
    """Triton's own words about it are about Triton's inside."""
    if callable(grid):
        return
    if not isinstance(grid, tuple):
        got, hint = type(grid).__name__, ""
        if isinstance(grid, list):
            hint = " Round brackets make a tuple, square ones a list."
        raise Mismatch(
            f"The grid is of type {got}, for {shortened(grid)}; Triton takes a tuple of one to three integers.{hint}"
        )
    if not 1 <= len(grid) <= 3 or not all(hasattr(n, "__index__") for n in grid):
        raise Mismatch(
            f"The grid is {shortened(grid)}; Triton takes a tuple of one to three integers, how many programs "
            "along each axis. Divide with // and not with /: a float is no integer."
        )
