"""Which SM ran which program when: the form that measured and simulated timelines share."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["LaunchSpans", "Timeline"]


@dataclass(frozen=True)
class LaunchSpans:
    """The programs of one launch, in order of their linear id (x fastest): where and when each ran.

    `sm` holds SM ids, `start_ns` and `end_ns` nanoseconds since the timeline began, all int64 of
    shape (programs,). `bytes_moved` counts what the launch must read from and write to HBM, None
    if nobody counted it.
    """

    kernel: str
    grid: tuple[int, int, int]
    sm: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    bytes_moved: int | None = None

    @property
    def programs(self) -> int:
        """How many programs ran."""
        return len(self.sm)


@dataclass(frozen=True)
class Timeline:
    """One or more launches on the SMs of a GPU, measured or modelled; `where` says which run or which model.

    >>> spans = LaunchSpans("k", (2, 1, 1), np.array([0, 1]), np.array([0, 0]), np.array([100, 50]), 4000)
    >>> line = Timeline((spans,), gpu="H200", num_sms=4, source="model", where="an example")
    >>> line.makespan_ns, line.busy_sms, line.utilisation, line.bandwidth_gbs
    (100, 2, 0.375, 40.0)
    >>> print(line)
    MODEL of H200 (an example): 0.1 us, utilisation 37.5%, 40 GB/s
      k: grid (2, 1, 1), 2 programs on 2 of 4 SMs, 0.0 to 0.1 us

    `fdlib.xray.draw.timelines.draw_two_timelines` draws one or more.
    """

    launches: tuple[LaunchSpans, ...]
    gpu: str
    num_sms: int
    source: Literal["measured", "model"]
    where: str

    def __str__(self) -> str:
        rate = "" if self.bandwidth_gbs is None else f", {self.bandwidth_gbs:,.0f} GB/s"
        numbers = f"{self.makespan_ns / 1e3:,.1f} us, utilisation {self.utilisation:.1%}{rate}"
        lines = [f"{self.label} ({self.where}): {numbers}"]
        return "\n  ".join([*lines, *(self._line_of(each) for each in self.launches)])

    def _line_of(self, launch: LaunchSpans) -> str:
        """A launch in a line: its times count from the first program's start."""
        programs = f"{launch.programs:,} program" + "s" * (launch.programs != 1)
        text = f"{launch.kernel}: grid {launch.grid}, {programs}"
        if not launch.programs:
            return text
        begin = min(int(each.start_ns.min()) for each in self.launches if each.programs)
        start, end = (
            (int(ns) - begin) / 1e3 for ns in (launch.start_ns.min(), launch.end_ns.max())
        )
        sms = f"{len(np.unique(launch.sm))} of {self.num_sms} SMs"
        return f"{text} on {sms}, {start:,.1f} to {end:,.1f} us"

    @property
    def label(self) -> str:
        """MEASURED or MODEL, and the GPU."""
        return f"{'MEASURED on' if self.source == 'measured' else 'MODEL of'} {self.gpu}"

    @property
    def makespan_ns(self) -> int:
        """From the first program's start to the last one's end."""
        starts = [int(each.start_ns.min()) for each in self.launches if each.programs]
        ends = [int(each.end_ns.max()) for each in self.launches if each.programs]
        return max(ends) - min(starts) if ends else 0

    @property
    def busy_sms(self) -> int:
        """SMs that ran at least one program."""
        return len(np.unique(self._all("sm")))

    @property
    def busy_ns(self) -> int:
        """SM-time with at least one program on the SM, over all SMs."""
        sm, start, end = self._all("sm"), self._all("start_ns"), self._all("end_ns")
        order = np.lexsort((start, sm))
        sm, start, end = sm[order], start[order], end[order]
        total = 0
        for first, last in _runs(sm):
            reach = np.maximum.accumulate(end[first:last])
            begun = np.maximum(start[first + 1 : last], reach[:-1])
            total += int(end[first] - start[first])
            total += int(np.maximum(end[first + 1 : last] - begun, 0).sum())
        return total

    @property
    def utilisation(self) -> float:
        """Busy SM-time divided by (SMs x makespan): 0 to 1."""
        whole = self.num_sms * self.makespan_ns
        return self.busy_ns / whole if whole else 0.0

    @property
    def bandwidth_gbs(self) -> float | None:
        """HBM bytes of all launches over the makespan, in 10^9 bytes a second; None if not counted."""
        counts = [each.bytes_moved for each in self.launches]
        if not self.makespan_ns or any(count is None for count in counts):
            return None
        return sum(count for count in counts if count is not None) / self.makespan_ns

    def _all(self, name: str) -> np.ndarray:
        """One array of all launches' programs."""
        return np.concatenate(
            [np.empty(0, np.int64), *(getattr(each, name) for each in self.launches)]
        )


def _runs(sm: np.ndarray) -> list[tuple[int, int]]:
    """First and one-past-last index of each run of equal values."""
    edges = [0, *(np.flatnonzero(np.diff(sm)) + 1).tolist(), len(sm)]
    return [(first, last) for first, last in itertools.pairwise(edges) if first < last]
