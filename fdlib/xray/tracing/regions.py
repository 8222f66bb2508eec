"""Who touched which byte last: one region per piece of memory, whatever tensors and views lie in it.

A number says when a piece was touched: programs are numbered 1, 2, 3 and so on over all launches, so one array tells
whether this program, this launch or the whole trace has seen a piece before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fdlib.xray.tracing.data import SECTOR_BYTES

__all__ = ["Region", "Regions", "one_of_each", "sectors_of", "touch"]

_OF_UNITS = {"loaded", "written"}
_lanes = np.zeros(0, dtype=np.int32)


class Region:
    """Memory from `start` (a multiple of `SECTOR_BYTES`) to `end`, in units of `unit` bytes."""

    def __init__(self, start: int, end: int, unit: int) -> None:
        self.start = start
        self.end = end
        self.unit = unit
        self._noted: dict[str, np.ndarray] = {}  # which program was the last, in numbers
        self.kept: dict[tuple[int, int], Any] = {}  # storages: nothing else may move in meanwhile
        self.cached: dict[str, np.ndarray] = {}  # what the cache model notes per sector

    def noted(self, what: str) -> np.ndarray:
        """Who was the last: to have "loaded" or "written" a unit, "touched" or "changed" a sector."""
        if what not in self._noted:
            self._noted[what] = self._new(what)
        return self._noted[what]

    def sectors(self, dtype: type = np.int32) -> np.ndarray:
        """A new array, a value per sector."""
        return np.zeros(-(-(self.end - self.start) // SECTOR_BYTES), dtype=dtype)

    def refine(self, unit: int) -> None:
        """Use smaller units from now on."""
        factor = self.unit // unit
        if factor > 1:
            self.unit = unit
            for what in _OF_UNITS & self._noted.keys():
                self._noted[what] = np.repeat(self._noted[what], factor)[: self._new(what).size]

    def take_over(self, other: Region) -> None:
        """Note what another region, which lies within this one, has noted."""
        other.refine(self.unit)
        self.kept |= other.kept
        apart = other.start - self.start
        for what, held in other._noted.items():
            first = apart // (self.unit if what in _OF_UNITS else SECTOR_BYTES)
            self.noted(what)[first : first + held.size] = held
        first = apart // SECTOR_BYTES
        for name, held in other.cached.items():
            mine = self.cached.setdefault(name, self.sectors(held.dtype.type))
            mine[first : first + held.size] = held

    def _new(self, what: str) -> np.ndarray:
        if what not in _OF_UNITS:
            return self.sectors()
        return np.zeros(-(-(self.end - self.start) // self.unit), dtype=np.int32)


class Regions:
    """All memory that a trace has met. Regions never overlap: two that would are made one."""

    def __init__(self) -> None:
        self._regions: list[Region] = []

    def of(self, tensor: Any) -> Region:
        """The region that a tensor's storage lies in."""
        storage = tensor.untyped_storage()
        start = storage.data_ptr() // SECTOR_BYTES * SECTOR_BYTES
        end = storage.data_ptr() + storage.nbytes()
        unit = min(tensor.element_size(), SECTOR_BYTES)
        unit &= -unit  # a power of two
        while (tensor.data_ptr() - start) % unit:
            unit //= 2
        mine = [each for each in self._regions if each.start < end and start < each.end]
        if len(mine) == 1 and mine[0].start <= start and end <= mine[0].end:
            region = mine[0]
        elif start == end:
            return Region(start, end, unit)  # an empty tensor
        else:
            region = self._join(mine, start, end, unit)
        region.refine(min(unit, region.unit))
        region.kept[start, end] = storage
        return region

    def _join(self, old: list[Region], start: int, end: int, unit: int) -> Region:
        start = min([start, *(each.start for each in old)])
        end = max([end, *(each.end for each in old)])
        region = Region(start, end, min([unit, *(each.unit for each in old)]))
        for each in old:
            region.take_over(each)
        self._regions = [each for each in self._regions if each not in old] + [region]
        return region


def touch(
    last: np.ndarray, at: np.ndarray, program: int, before: int
) -> tuple[int, np.ndarray, int]:
    """Note that `program` touches the pieces `at`; `before` is the last program of earlier launches.

    Returns how many pieces the program had not touched, those that the launch had not, and how many
    of these nobody had. A piece that stands in `at` twice counts once.
    """
    held = last[at]
    new = held != program
    if not new.any():
        return 0, at[:0], 0
    if not _ascending(at):
        new &= _first_lanes(last, at)
    last[at] = program
    once = int(np.count_nonzero(new))
    new &= held <= before
    nobody = int(np.count_nonzero(held[new] == 0)) if before else int(np.count_nonzero(new))
    return once, at[new], nobody


def one_of_each(scratch: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The pieces in `at`, each once, in no order that matters; `scratch` is an int32 per piece."""
    return at if _ascending(at) else at[_first_lanes(scratch, at)]


def sectors_of(units: np.ndarray, unit: int) -> np.ndarray:
    """The sectors that units of `unit` bytes lie in; neighbours that are equal become one."""
    sectors = units >> (SECTOR_BYTES // unit).bit_length() - 1
    if sectors.size < 2:
        return sectors
    keep = np.empty(sectors.size, dtype=bool)
    keep[0] = True
    np.not_equal(sectors[1:], sectors[:-1], out=keep[1:])
    return sectors[keep]


def _ascending(at: np.ndarray) -> bool:
    """Whether each piece is greater than the one before: then all differ."""
    return at.size < 2 or bool((at[1:] > at[:-1]).all())


def _first_lanes(last: np.ndarray, at: np.ndarray) -> np.ndarray:
    """One lane of those that name the same piece: each writes its number, one number stays."""
    global _lanes
    if _lanes.size < at.size:
        _lanes = np.arange(-1, -1 - at.size, -1, dtype=np.int32)
    lanes = _lanes[: at.size]
    last[at] = lanes
    return last[at] == lanes
