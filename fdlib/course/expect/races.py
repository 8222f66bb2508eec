"""Which elements of memory two programs of one launch use, where one of them changes it.

Under the interpreter programs run one after the other, so the second of two to come is caught.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fdlib.xray.interpreter.observer import Program

__all__ = ["Clash", "Place", "Races"]

Place = tuple[int, int, int, int]  # address of the memory, bytes per element, elements, first one


class Clash(NamedTuple):
    """The first lane of an access that another program makes unsafe."""

    lane: int
    lanes: int  # how many are
    program: Program  # the other one
    kind: str  # what it did: "load", "store" or "atomic"


class _Memory:
    """Who has used each element, as the number of the program + 1; 0 is nobody."""

    def __init__(self, size: int) -> None:
        self.reader = np.zeros(size, np.int32)  # the first
        self.writer = np.zeros(size, np.int32)  # the last; negative if it used atomics only
        self.written = False


class Races:
    """The accesses of one launch."""

    def __init__(self, grid: Program) -> None:
        self._grid = grid
        self._memory: dict[tuple[int, int], _Memory] = {}
        self._synchronised: set[Program] = set()

    def add(
        self, program: Program, kind: str, semantic: str, place: Place, at: np.ndarray
    ) -> Clash | None:
        """Note an access to these elements; what it clashes with, if with anything.

        A program that has done an atomic that orders memory is not held to account from then on:
        that is how the last one to finish may use what all others wrote.
        """
        address, itemsize, size, first = place
        memory = self._memory.get((address, itemsize))
        if memory is None:
            memory = self._memory[address, itemsize] = _Memory(size)
        x, y, z = program
        me = 1 + (x * self._grid[1] + y) * self._grid[2] + z
        at = at + first if first else at
        clash = None
        if program not in self._synchronised:
            clash = self._clash(memory, kind, at, me)
        if kind == "load":
            reader = memory.reader[at]
            if not reader.all():
                memory.reader[at] = np.where(reader, reader, me)
        else:
            memory.written = True
            plain = kind == "store"
            memory.writer[at] = me if plain else np.where(memory.writer[at] == me, me, -me)
        if semantic not in ("", "relaxed"):
            self._synchronised.add(program)
        return clash

    def _clash(self, memory: _Memory, kind: str, at: np.ndarray, me: int) -> Clash | None:
        if memory.written:
            writer = memory.writer[at]
            wrong = (writer > 0) if kind == "atomic" else (writer != 0)
            wrong &= np.abs(writer) != me
            if wrong.any():
                lane = int(wrong.argmax())
                other = int(writer[lane])
                return self._found(wrong, other, "store" if other > 0 else "atomic")
        if kind != "load":
            reader = memory.reader[at]
            wrong = (reader != 0) & (reader != me)
            if wrong.any():
                return self._found(wrong, int(reader[wrong.argmax()]), "load")
        return None

    def _found(self, wrong: np.ndarray, other: int, kind: str) -> Clash:
        xy, z = divmod(abs(other) - 1, self._grid[2])
        program = (*divmod(xy, self._grid[1]), z)
        return Clash(int(wrong.argmax()), int(wrong.sum()), program, kind)
