"""An L2 cache that throws out what was used longest ago, fed with the accesses of a trace.

The model: one cache of whole sectors, any sector in any place. The sectors of one operation are looked up together,
then they enter together, and they leave together when they are the oldest and the cache is over its size. A store
needs no read. A changed sector is written to HBM when it leaves, or at the end.
"""

from __future__ import annotations

import numpy as np

from fdlib.xray.tracing.data import SECTOR_BYTES, L2Estimate
from fdlib.xray.tracing.regions import Region, one_of_each

__all__ = ["Lru"]

_Operation = tuple[Region, np.ndarray, str]


class Lru:
    """A cache of `l2_mb` times 2^20 bytes; waves of `at_once` programs take turns, an operation each."""

    def __init__(self, l2_mb: float, at_once: int) -> None:
        self._l2_mb, self._at_once = l2_mb, at_once
        self._capacity = int(l2_mb * 2**20) // SECTOR_BYTES
        self._sizes: dict[int, int] = {}  # operation -> sectors that it used last, oldest first
        self._held = 0
        self._oldest = 1  # sectors used by an earlier operation have left
        self._operation = 0
        self._waiting: dict[int, list[_Operation]] = {}  # program -> what it does
        self._reads = self._writes = 0  # of this launch
        self._all_reads = self._all_writes = 0

    def access(self, program: int, region: Region, sectors: np.ndarray, kind: str) -> None:
        """One operation; `sectors` may name one several times."""
        if "used" not in region.cached:
            region.cached["used"] = region.sectors()
            region.cached["scratch"] = region.sectors()
            region.cached["dirty"] = region.sectors(np.bool_)
        sectors = one_of_each(region.cached["scratch"], sectors).astype(np.int32)
        if self._at_once == 1:
            self._do(region, sectors, kind)
            return
        if program not in self._waiting and len(self._waiting) == self._at_once:
            self.flush()
        self._waiting.setdefault(program, []).append((region, sectors, kind))

    def flush(self) -> None:
        """Do what waits: the first operation of each program, then the second, and so on."""
        waiting = list(self._waiting.values())
        self._waiting = {}
        for step in range(max(map(len, waiting), default=0)):
            for operations in waiting:
                if step < len(operations):
                    self._do(*operations[step])

    def of_launch(self) -> L2Estimate:
        """The estimate since the last call."""
        found = self._estimate(self._reads, self._writes)
        self._all_reads += self._reads
        self._all_writes += self._writes
        self._reads = self._writes = 0
        return found

    def of_all(self) -> L2Estimate:
        """The estimate of all launches that have ended."""
        return self._estimate(self._all_reads, self._all_writes)

    def _estimate(self, reads: int, writes: int) -> L2Estimate:
        return L2Estimate(self._l2_mb, self._at_once, reads * SECTOR_BYTES, writes * SECTOR_BYTES)

    def _do(self, region: Region, sectors: np.ndarray, kind: str) -> None:
        used, dirty = region.cached["used"], region.cached["dirty"]
        before = used[sectors]
        inside = before >= self._oldest
        misses = sectors.size - int(np.count_nonzero(inside))
        if kind != "store":
            self._reads += misses
        if misses:
            dirty[sectors[~inside]] = False  # written out when they left
        if kind != "load":  # counted now, written out later: once for each stay in the cache
            self._writes += sectors.size - int(np.count_nonzero(dirty[sectors]))
            dirty[sectors] = True
        self._use(used, sectors, before[inside])
        self._held += misses
        while self._held > self._capacity:
            self._evict()

    def _use(self, used: np.ndarray, sectors: np.ndarray, hits: np.ndarray) -> None:
        """Move sectors to the newest operation; `hits` are the operations that held them."""
        self._operation += 1
        for operation, count in zip(*np.unique(hits, return_counts=True), strict=True):
            self._sizes[int(operation)] -= int(count)
            if not self._sizes[int(operation)]:
                del self._sizes[int(operation)]
        used[sectors] = self._operation
        self._sizes[self._operation] = sectors.size

    def _evict(self) -> None:
        oldest = next(iter(self._sizes))
        self._held -= self._sizes.pop(oldest)
        self._oldest = oldest + 1
