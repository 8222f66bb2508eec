"""The sums of one tensor argument in one launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from fdlib.xray.interpreter.observer import Access
from fdlib.xray.tracing.data import SECTOR_BYTES, ArgumentTraffic, TraceError
from fdlib.xray.tracing.regions import Region

__all__ = ["Counter", "OutsideMemory"]

_SUMS = ("loaded", "stored", "atomic", "loaded_once", "written_once")
_SUM_OF = {"load": "loaded", "store": "stored", "atomic": "atomic"}
_LOADS = {"load": "reads", "store": "writes", "atomic": "updates"}


class OutsideMemory(TraceError):
    """A kernel was about to touch memory outside of the storage of its tensor."""


class Counter:
    """One argument: sums per program, and of the launch."""

    def __init__(self, name: str, tensor: Any, region: Region, programs: int) -> None:
        self.name = name
        self.region = region
        self._dtype = str(tensor.dtype).removeprefix("torch.")
        self._shape = tuple(tensor.shape)
        self._itemsize = tensor.element_size()
        self._base = tensor.data_ptr() - region.start
        storage = tensor.untyped_storage()
        self._first = storage.data_ptr() - region.start
        self._end = self._first + storage.nbytes()
        self._sums = {name: np.zeros(programs, dtype=np.int64) for name in _SUMS}
        self._first_step = np.full(programs, -1, dtype=np.int64)
        self._operations = 0
        self._unique = {"load": 0, "write": 0}
        self.read_sectors = self.written_sectors = 0

    def units(self, at: np.ndarray, access: Access) -> np.ndarray:
        """The units of the region that an access touches, from its bytes counted from element 0.

        Raises `OutsideMemory` if some lie outside of the tensor's storage.
        """
        at = at + self._base
        if at.min() < self._first or at.max() + access.width > self._end:
            self._refuse(at, access)
        if access.last is not None:  # a pointer of another type, or between two elements
            bits = access.width | int(np.bitwise_or.reduce(at))
            self.region.refine(min(self.region.unit, bits & -bits))
        unit = self.region.unit
        at >>= unit.bit_length() - 1
        if access.width > unit:
            at = (at[:, None] + np.arange(access.width // unit)).ravel()
        return at

    def count(self, kind: str, program: int, size: int, step: int) -> None:
        """An operation of `size` bytes, the program's `step`-th."""
        self._sums[_SUM_OF[kind]][program] += size
        self._operations += 1
        if self._first_step[program] < 0:
            self._first_step[program] = step

    def count_once(self, kind: str, program: int, by_program: int, by_launch: int) -> None:
        """Bytes that this operation was the first to load, or to write."""
        name, direction = ("loaded_once", "load") if kind == "load" else ("written_once", "write")
        self._sums[name][program] += by_program
        self._unique[direction] += by_launch

    def result(self) -> ArgumentTraffic:
        """The sums as they are now."""
        return ArgumentTraffic(
            name=self.name,
            dtype=self._dtype,
            shape=self._shape,
            **self._sums,
            first_step=self._first_step,
            operations=self._operations,
            unique_loaded=self._unique["load"],
            unique_written=self._unique["write"],
            hbm_read=self.read_sectors * SECTOR_BYTES,
            hbm_write=self.written_sectors * SECTOR_BYTES,
        )

    def _refuse(self, at: np.ndarray, access: Access) -> None:
        wrong = (at < self._first) | (at + access.width > self._end)
        element = (int(at[wrong][0]) - self._base) // self._itemsize
        mask = "The mask lets it through." if access.masked else f"The {access.kind} has no mask."
        raise OutsideMemory(
            f"trace: {self.name}: program {access.program} {_LOADS[access.kind]} element {element}, which is "
            f"outside of the tensor's memory (shape {self._shape}). {mask}"
        )
