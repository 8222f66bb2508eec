"""The time of Flash-Decoding against its number of splits: modelled, measured where recorded, and where waves end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fdlib.plan import plan_splits
from fdlib.shapes import AttentionShape
from fdlib.xray.recordings import recorded_times
from fdlib.xray.simulate import split_times_us

__all__ = ["SPLITS", "SplitCurve", "Wave", "split_curve"]

SPLITS = tuple(2**power for power in range(10))  # 1 to 512: the marks of the axis, and modelled
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
        """The fastest modelled point: of the counts in `model`, not of all that there are."""
        return min(self.model, key=lambda point: (point[1], point[0]))

    @property
    def best_measured(self) -> Point | None:
        """The fastest measured point."""
        return min(self.measured, key=lambda point: (point[1], point[0]), default=None)

    @property
    def splits_that_fill(self) -> float:
        """From this many splits on, every SM has a program."""
        return self.num_sms / self.programs

    @property
    def waves(self) -> tuple[Wave, ...]:
        """Where the programs are at most 1, 2, 3, ... for each SM."""
        step = self.splits_that_fill
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
    rule = plan_splits(shape, gpu).num_splits
    counts = _counts(one.programs, one.num_sms, rule)
    model = split_times_us(shape, gpu, counts)
    measured = recorded_times("flash_decode", shape, gpu)
    points = (tuple(sorted(times.items())) for times in (model, measured))
    return SplitCurve(shape, gpu, one.num_sms, one.programs, rule, *points)


def _counts(programs: int, num_sms: int, rule: int) -> list[int]:
    """The split counts that are modelled: `SPLITS`, the rule's, and those on both sides of each wave's end.

    The time jumps there, by half and more: powers of two alone would draw a slope in its place.
    """
    ends = [wave * num_sms // programs for wave in range(1, _MOST_WAVES + 1)]
    wanted = {*SPLITS, rule, *ends, *(end + 1 for end in ends)}
    inside = (n for n in wanted if 1 <= n <= SPLITS[-1])
    return sorted(n for n in inside if n == 1 or n * programs <= _MOST_PROGRAMS)
