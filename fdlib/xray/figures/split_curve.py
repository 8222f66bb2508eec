"""The time of Flash-Decoding against its number of splits: modelled, measured where recorded, and where waves end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fdlib.plan import plan_splits
from fdlib.shapes import AttentionShape
from fdlib.xray.recordings import recorded_times
from fdlib.xray.simulate import split_times_us

__all__ = ["SPLITS", "SplitCurve", "Wave", "split_curve"]

SPLITS = tuple(2**power for power in range(10))  # 1 to 512
_MOST_WAVES = 4
_MOST_PROGRAMS = 8192  # that are modelled: over 50 for each SM, and quick enough for a slider

Point = tuple[int, float]  # (splits, microseconds)
Wave = tuple[float, float, int]  # (above these splits, up to these, programs on the fullest SM)


@dataclass(frozen=True)
class SplitCurve:
    """One shape on one GPU; `measured` is empty where nothing was recorded, and `best_measured` None."""

    shape: AttentionShape
    gpu: str
    num_sms: int
    programs: int  # of the split kernel, for each split
    rule: int  # the number of splits that the rule chooses
    model: tuple[Point, ...]
    measured: tuple[Point, ...]

    @property
    def best_model(self) -> Point:
        """The fastest modelled point."""
        return min(self.model, key=lambda point: (point[1], point[0]))

    @property
    def best_measured(self) -> Point | None:
        """The fastest measured point."""
        return min(self.measured, key=lambda point: (point[1], point[0]), default=None)

    @property
    def waves(self) -> tuple[Wave, ...]:
        """Where the programs are at most 1, 2, 3, ... for each SM."""
        step = self.num_sms / self.programs
        return tuple((step * (n - 1), step * n, n) for n in range(1, _MOST_WAVES + 1))


@lru_cache(maxsize=256)
def split_curve(shape: AttentionShape, gpu: str) -> SplitCurve:
    """Times of ``shape`` on the GPU of that name. Raises `ValueError` where there are no programs.

    >>> curve = split_curve(AttentionShape(heads_q=8, heads_kv=1, len_kv=131_072), "H200")
    >>> curve.best_model[0], curve.rule, len(curve.measured) > 4
    (128, 128, True)
    """
    one = plan_splits(shape, gpu, 1)
    if not one.programs:
        raise ValueError(f"shape: got batch {shape.batch}, takes at least one program")
    counts = [n for n in SPLITS if n == 1 or n * one.programs <= _MOST_PROGRAMS]
    model = split_times_us(shape, gpu, counts)
    measured = recorded_times("flash_decode", shape, gpu)
    rule = plan_splits(shape, gpu).num_splits
    points = (tuple(sorted(times.items())) for times in (model, measured))
    return SplitCurve(shape, gpu, one.num_sms, one.programs, rule, *points)
