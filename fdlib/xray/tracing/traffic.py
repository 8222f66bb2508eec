"""Add up what each program of each launch does, while it runs: an observer for `watching`.

It keeps sums per program and numbers per piece of memory, and no list of accesses unless one is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from fdlib.xray.interpreter.observer import Access, Program
from fdlib.xray.tracing.counter import Counter
from fdlib.xray.tracing.data import ORDER_LIMIT, SECTOR_BYTES, Event, LaunchTrace, Trace, TraceError
from fdlib.xray.tracing.lru import Lru
from fdlib.xray.tracing.regions import Regions, sectors_of, touch

__all__ = ["Traffic"]


class Traffic:
    """Counts launches; `trace` makes a `Trace` of them. For the one thread that made it."""

    def __init__(self, l2_mb: float | None, at_once: int, max_events: int | None) -> None:
        self._lru = None if l2_mb is None else Lru(l2_mb, at_once)
        self._max_events = max_events
        self._events: list[Event] = []
        self._regions = Regions()
        self._launches: list[LaunchTrace] = []
        self._reads = self._writes = 0  # sectors of the whole trace
        self._number = 0  # of the program that runs, counted over all launches
        self._thread = threading.get_ident()

    def trace(self) -> Trace:
        """Everything so far."""
        return Trace(
            launches=tuple(self._launches),
            hbm_read=self._reads * SECTOR_BYTES,
            hbm_write=self._writes * SECTOR_BYTES,
            l2=None if self._lru is None else self._lru.of_all(),
            events=None if self._max_events is None else tuple(self._events),
        )

    def launch(self, kernel: str, grid: Program, arguments: Mapping[str, Any]) -> None:
        """See `Observer`."""
        if threading.get_ident() != self._thread:
            raise TraceError(
                f"trace: {kernel} was launched in a second thread. "
                "Launch all kernels in the thread that calls trace."
            )
        for tensor in arguments.values():
            self._regions.of(tensor)  # all of them first: regions can be joined
        programs = grid[0] * grid[1] * grid[2]
        self._counters = {
            name: Counter(name, tensor, self._regions.of(tensor), programs)
            for name, tensor in arguments.items()
        }
        self._kernel, self._grid = kernel, grid
        self._before = self._number
        self._program: Program | None = None
        self._order: list[tuple[str, str]] = []

    def access(self, access: Access) -> None:
        """See `Observer`. Raises `OutsideMemory` for an address outside of the tensor's storage."""
        if access.program != self._program:
            self._begin(access.program)
        at = _lanes(access)
        if not at.size:
            return
        counter = self._counters[access.argument]
        units = counter.units(at, access)
        counter.count(access.kind, self._linear, at.size * access.width, self._step)
        self._step += 1
        if self._number == self._before + 1 and len(self._order) < ORDER_LIMIT:
            self._order.append((access.kind, access.argument))
        if self._max_events is not None:
            self._note(access, at, self._max_events)
        self._touch(counter, units, access.kind)

    def end(self) -> None:
        """See `Observer`."""
        if threading.get_ident() != self._thread:
            return  # it was refused
        estimate = None
        if self._lru is not None:
            self._lru.flush()
            estimate = self._lru.of_launch()
        arguments = {name: counter.result() for name, counter in self._counters.items()}
        order = tuple(self._order)
        self._launches.append(LaunchTrace(self._kernel, self._grid, arguments, order, estimate))
        self._counters = {}

    def _begin(self, program: Program) -> None:
        (x, y, z), (size_x, size_y, _) = program, self._grid
        self._program = program
        self._linear = x + size_x * (y + size_y * z)
        self._number += 1
        self._step = 0

    def _touch(self, counter: Counter, units: np.ndarray, kind: str) -> None:
        """Count each byte once, then the sectors of those that are new to the launch."""
        region, now = counter.region, (self._number, self._before)
        if self._lru is not None:
            self._lru.access(self._number, region, sectors_of(units, region.unit), kind)
        once, new, _ = touch(region.noted("loaded" if kind == "load" else "written"), units, *now)
        counter.count_once(kind, self._linear, once * region.unit, new.size * region.unit)
        if not new.size:
            return
        sectors = sectors_of(new, region.unit)
        _, fresh, nobody = touch(region.noted("touched"), sectors, *now)
        if kind != "store":
            counter.read_sectors += fresh.size
            self._reads += nobody
        if kind != "load":
            _, fresh, nobody = touch(region.noted("changed"), sectors, *now)
            counter.written_sectors += fresh.size
            self._writes += nobody

    def _note(self, access: Access, at: np.ndarray, limit: int) -> None:
        if len(self._events) == limit:
            raise TraceError(
                f"max_events: got more than {limit:,} accesses. Give a larger max_events, "
                "trace a smaller input, or leave events=True out."
            )
        where = (len(self._launches), access.program, access.kind, access.argument)
        first, last = int(at.min()), int(at.max()) + access.width - 1
        self._events.append(Event(*where, at.size * access.width, first, last))


def _lanes(access: Access) -> np.ndarray:
    """The bytes of the lanes that the mask lets through, in the order of memory where a transpose can do that."""
    at, lanes = access.bytes, access.lanes
    if at.ndim == 2 and min(at.shape) > 1 and at[1, 0] < at[0, 1]:
        at, lanes = at.T, lanes.T
    return at.ravel() if lanes.all() else at[lanes]
