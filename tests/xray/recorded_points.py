"""Times recorded on a real GPU, and what the model says to the same calls: for the fit, and for its test."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field
from math import log1p
from typing import Any

from fdlib.plan import plan_splits
from fdlib.recorded import load_recorded
from fdlib.shapes import AttentionShape
from fdlib.xray.model import FITTED, FITTED_ON, Parameters
from fdlib.xray.simulate import simulate_works
from fdlib.xray.work import Work, flash_attention_work, plan_works


@dataclass(frozen=True)
class Point:
    """One recorded call: FlashAttention (``num_splits`` 0) or Flash-Decoding."""

    shape: AttentionShape
    num_splits: int
    time_us: float
    works: tuple[Work, ...] = field(repr=False, compare=False)

    def simulated_us(self, numbers: Parameters = FITTED) -> float:
        line = simulate_works(self.works, FITTED_ON, numbers)
        return (line.makespan_ns + numbers.launch_ns) / 1e3

    def error(self, numbers: Parameters = FITTED) -> float:
        """Simulated over measured, minus 1."""
        return self.simulated_us(numbers) / self.time_us - 1


def point(shape: AttentionShape, num_splits: int, time_us: float) -> Point:
    if num_splits == 0:
        return Point(shape, 0, time_us, (flash_attention_work(shape),))
    return Point(shape, num_splits, time_us, plan_works(plan_splits(shape, FITTED_ON, num_splits)))


def shape_of(row: dict) -> AttentionShape:
    names = ("batch", "heads_q", "heads_kv", "len_kv", "head_dim", "dtype")
    return AttentionShape(**{name: row[name] for name in names if name in row})


def decode_points(record: dict[str, Any] | None = None) -> list[Point]:
    """The calls of a recording of tests/gpu/record_decode.py, the shipped one unless told: rows, and split sweeps.

    A recording of another form needs a function like this one; the fit and its test take any list of points.
    """
    record = record or load_recorded("h200_decode")
    found = []
    for row in record["rows"]:
        shape = shape_of(row)
        found.append(point(shape, 0, row["flash_attention_us"]))
        found.append(point(shape, 1, row["one_split_us"]))
        found.append(point(shape, row["num_splits"], row["flash_decode_us"]))
    for row in record["splits"]:
        found.append(point(shape_of(row), row["num_splits"], row["time_us"]))
    return found


def loss(points: list[Point], numbers: Parameters = FITTED) -> float:
    """Mean squared logarithm of simulated over measured time: what the fit makes small."""
    return statistics.fmean(log1p(each.error(numbers)) ** 2 for each in points)


def sweeps(points: list[Point], at_least: int = 5) -> dict[AttentionShape, list[Point]]:
    """The shapes that were recorded at several split counts."""
    found = defaultdict(list)
    for each in points:
        if each.num_splits:
            found[each.shape].append(each)
    return {
        shape: several
        for shape, several in found.items()
        if len({each.num_splits for each in several}) >= at_least
    }


def regret(several: list[Point], numbers: Parameters = FITTED) -> float:
    """Measured time at the model's best split count over the best measured time, minus 1.

    A count that was recorded twice stands with its faster time.
    """
    fastest = sorted(several, key=lambda each: (each.num_splits, each.time_us))
    counts = {each.num_splits: each for each in reversed(fastest)}
    chosen = min(counts.values(), key=lambda each: (each.simulated_us(numbers), each.num_splits))
    return chosen.time_us / min(each.time_us for each in several) - 1
