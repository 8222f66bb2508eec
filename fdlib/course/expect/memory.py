"""Hold every load and store of a kernel to the tensor that its pointer comes from, under the interpreter.

An access outside of the tensor's own elements raises before it happens. So does one that another
program of the same launch makes unsafe (`races.py`).
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fdlib.course.expect.compare import Mismatch
from fdlib.course.expect.races import Clash, Races
from fdlib.xray.causes import causes
from fdlib.xray.interpreter.observer import Access, Program

if TYPE_CHECKING:
    import torch

__all__ = ["MemoryFault", "MemoryWatch", "fault_in"]

_NAMES = {  # of the kinds of access: the operation, and what it does with an element
    "load": ("load", "loads"),
    "store": ("store", "stores to"),
    "atomic": ("atomic operation", "does an atomic operation on"),
}


class MemoryFault(Mismatch):
    """A kernel uses memory that it must not. Two are the same mistake if their `signature` is."""

    def __init__(
        self,
        head: str,
        tail: str,
        access: Access,
        offset: int,
        lanes: int,
        grid: Program,
        case: str = "",
    ) -> None:
        super().__init__(f"{head}{f', for {case}' if case else ''}: {tail}")
        self.kind = access.kind
        self.argument = access.argument
        self.program = access.program
        self.offset = offset  # of the first lane at fault, in elements from element 0
        self.lanes = lanes  # how many are at fault
        where = self.kind, self.argument, self.program, self.offset, self.lanes
        self.signature = (*where, access.masked, grid)
        self._parts = head, tail, access, offset, lanes, grid

    def for_case(self, case: str) -> MemoryFault:
        """The same, and the message says for which test case."""
        return MemoryFault(*self._parts, case)


def fault_in(error: BaseException | None) -> MemoryFault | None:
    """The `MemoryFault` that an exception stems from: Triton wraps what is raised in a kernel."""
    return next((each for each in causes(error) if isinstance(each, MemoryFault)), None)


class MemoryWatch:
    """An observer for `fdlib.xray.interpreter.interpreted.watching`; raises `MemoryFault` out of the kernel."""

    def __init__(self) -> None:
        self.fault: MemoryFault | None = (
            None  # the first, in case that the learner's code catches it
        )
        # Arguments of which a load hid lanes and gave no `other`, each with where the first one was:
        # (file, line number) of each frame, the innermost first.
        self.undefined: dict[str, list[tuple[str, int]]] = {}
        self.atomics = False  # an atomic was done: programs can have heard of each other
        self._views: dict[str, _View] = {}
        self._grid: Program = (0, 0, 0)
        self._races = Races(self._grid)

    def launch(self, kernel: str, grid: Program, arguments: Mapping[str, Any]) -> None:
        self._views = {name: _View(tensor) for name, tensor in arguments.items()}
        self._grid, self._races = grid, Races(grid)

    def access(self, access: Access) -> None:
        view = self._views[access.argument]
        if access.undefined and access.argument not in self.undefined:
            stack = traceback.walk_stack(sys._getframe(1))
            self.undefined[access.argument] = [
                (frame.f_code.co_filename, line_number) for frame, line_number in stack
            ]
        self.atomics |= access.kind == "atomic"
        for offsets in (access.offsets, access.last):
            if offsets is None:
                continue
            at = offsets[access.lanes]
            if not at.size:
                return
            outside = view.outside(at)
            if outside is not None:
                self._refuse(*_outside(access, view, at, outside))
            clash = self._races.add(access.program, access.kind, access.semantic, view.place, at)
            if clash is not None:
                self._refuse(*_race(access, view, at, clash))

    def end(self) -> None:
        self._views = {}

    def _refuse(self, head: str, tail: str, access: Access, offset: int, lanes: int) -> None:
        fault = MemoryFault(head, tail, access, offset, lanes, self._grid)
        self.fault = self.fault or fault
        raise fault


class _View:
    """Which elements of its memory a tensor consists of, counted from element 0."""

    def __init__(self, tensor: torch.Tensor) -> None:
        import torch

        self.shape, self.stride = tuple(tensor.shape), tuple(tensor.stride())
        steps = zip(self.shape, self.stride, strict=True)
        self.extent = 0 if 0 in self.shape else 1 + sum((n - 1) * step for n, step in steps)
        mine = torch.zeros(self.extent, dtype=torch.bool)
        mine.as_strided(self.shape, self.stride).fill_(True)
        self._mine = None if mine.all() else mine.numpy()
        storage, itemsize = tensor.untyped_storage(), tensor.element_size()
        size = storage.nbytes() // itemsize
        self.place = storage.data_ptr(), itemsize, size, tensor.storage_offset()

    def outside(self, at: np.ndarray) -> np.ndarray | None:
        """Which of these elements are not the tensor's; None if all are."""
        within = (at >= 0) & (at < self.extent)
        if within.all():
            if self._mine is None or self._mine[at].all():
                return None
            return ~self._mine[at]
        if self._mine is not None:
            within[within] = self._mine[at[within]]
        return ~within

    def index(self, offset: int) -> list[int]:
        """The index of an element, or what would be if each axis went on past its end."""
        axes = sorted(range(len(self.shape)), key=lambda a: (-self.stride[a], -self.shape[a], a))
        index = [0] * len(self.shape)
        for axis in axes:
            if self.stride[axis] > 0:
                index[axis], offset = divmod(offset, self.stride[axis])
        return index

    def where(self, offset: int) -> str:
        """Where an element outside lies."""
        if not self.extent:
            return "The tensor has no elements"
        if offset < 0:
            return f"The first lies {_elements(-offset)} before the tensor's first element"
        past = [axis for axis, i in enumerate(self.index(offset)) if i >= self.shape[axis]]
        if offset >= self.extent:
            how = f"it lies {_elements(offset - self.extent + 1)} past the tensor's last element"
        else:
            how = "it lies between the tensor's rows, in memory that is not the tensor's"
        if len(past) != 1:
            return f"The first is element {offset}: {how}"
        position, size = self.index(offset)[past[0]], self.shape[past[0]]
        has = f"the tensor has 0 to {size - 1}" if size > 1 else "the tensor has 0 only"
        return f"The first is at position {position} along axis {past[0]} ({has}): {how}"


def _outside(
    access: Access, view: _View, at: np.ndarray, outside: np.ndarray
) -> tuple[str, str, Access, int, int]:
    """What `MemoryFault` takes."""
    count, first, all_lanes = int(outside.sum()), int(at[outside][0]), access.lanes.size
    what, article = _NAMES[access.kind][0], "An" if access.kind == "atomic" else "A"
    head = f"{article} {what} goes outside of {access.argument}"
    share = f"{count} of its {all_lanes} elements, " if all_lanes > 1 else ""
    if access.masked:
        mask = f" Its mask lets {'them' if count > 1 else 'it'} through."
    else:  # Triton gives an atomic without a mask one of its own
        mask = "" if access.kind == "atomic" else f" This {what} has no mask."
    tail = f"{share}in {_program(access.program)}.\n{view.where(first)}.{mask}"
    return head, tail, access, first, count


def _race(
    access: Access, view: _View, at: np.ndarray, clash: Clash
) -> tuple[str, str, Access, int, int]:
    """What `MemoryFault` takes."""
    offset = int(at[clash.lane])
    kinds = {_NAMES[access.kind][0], _NAMES[clash.kind][0]}
    how = f"Two programs {kinds.pop()} to" if kinds == {"store"} else "Two programs share"
    head = f"{how} one element of {access.argument}"
    tail = (
        f"{_program(access.program)} {_NAMES[access.kind][1]} element {view.index(offset)}; "
        f"program {clash.program} {_NAMES[clash.kind][1]} it too.\n"
        "On a GPU the programs of a launch run at the same time, in no fixed order: nobody knows "
        "which of the two comes first."
    )
    return head, tail, access, offset, clash.lanes


def _program(program: Program) -> str:
    return f"program {program} (tl.program_id of axis 0, 1 and 2)"


def _elements(count: int) -> str:
    return f"{count} element" + "s" * (count != 1)
