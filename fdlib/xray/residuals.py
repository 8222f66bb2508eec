"""What the model leaves over: each call that was timed on the GPU it was fitted on, and what it says of that call."""

from __future__ import annotations

import functools
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from fdlib.gpus import GPUS
from fdlib.plan import key_block, plan_splits
from fdlib.recorded import load_recorded
from fdlib.shapes import AttentionShape
from fdlib.xray.recordings import SIZES
from fdlib.xray.simulate import simulate_works
from fdlib.xray.simulation.model import FITTED, FITTED_ON, Parameters
from fdlib.xray.simulation.work import Work, flash_attention_work, plan_works

__all__ = [
    "KINDS",
    "RecordedCall",
    "Residual",
    "by_kind",
    "recorded_calls",
    "residual",
    "residual_points",
    "residual_table",
]

SHOWN = 24  # every so many of the points are enough for a table in a notebook, and quick
KINDS = (
    "FlashAttention",
    "at most one program an SM",
    "two or three an SM",
    "more, 3 key blocks each and up",
    "more, 1 or 2 key blocks each",
)


@dataclass(frozen=True)
class RecordedCall:
    """One recorded call: FlashAttention (``num_splits`` 0) or Flash-Decoding.

    `utilisation` is that of its timeline, None where none was kept.
    """

    shape: AttentionShape
    num_splits: int
    time_us: float
    utilisation: float | None = None

    @functools.cached_property
    def works(self) -> tuple[Work, ...]:
        """What the simulation takes."""
        if self.num_splits == 0:
            return (flash_attention_work(self.shape),)
        return plan_works(plan_splits(self.shape, FITTED_ON, self.num_splits))


@dataclass(frozen=True)
class Residual:
    """A recorded call and what the model says: microseconds of the call, and SM utilisation, 0 to 1."""

    shape: AttentionShape
    num_splits: int
    programs: int  # of its first kernel
    measured_us: float
    modelled_us: float
    measured_utilisation: float | None
    modelled_utilisation: float

    @property
    def error(self) -> float:
        """Modelled over measured time, minus 1."""
        return self.modelled_us / self.measured_us - 1

    @property
    def utilisation_error(self) -> float | None:
        """Modelled minus measured utilisation; None where no timeline was kept."""
        measured = self.measured_utilisation
        return None if measured is None else self.modelled_utilisation - measured


@functools.cache
def recorded_calls() -> tuple[RecordedCall, ...]:
    """All calls of the recording that ships, in its order."""
    record = load_recorded(f"{FITTED_ON.lower()}_timelines")
    return tuple(
        RecordedCall(
            AttentionShape(**{name: row[name] for name in SIZES}),
            row["num_splits"],
            row["time_us"],
            row.get("timeline", {}).get("utilisation"),
        )
        for row in record["rows"]
    )


def residual(call: RecordedCall, numbers: Parameters = FITTED) -> Residual:
    """What the model says of ``call``, with other ``numbers`` if you try some."""
    line = simulate_works(call.works, FITTED_ON, numbers)
    return Residual(
        call.shape,
        call.num_splits,
        line.launches[0].programs,
        call.time_us,
        (line.makespan_ns + numbers.launch_ns) / 1e3,
        call.utilisation,
        line.utilisation,
    )


@functools.cache
def residual_points(every: int = SHOWN) -> tuple[Residual, ...]:
    """Every so many of the recorded calls with what the model says: 1 is all of them, and takes a while.

    >>> errors = sorted(abs(each.error) for each in residual_points(100))
    >>> errors[len(errors) // 2] < 0.15
    True
    """
    return tuple(residual(each) for each in recorded_calls()[::every])


def _kind(point: Residual) -> str:
    num_sms = GPUS[FITTED_ON].num_sms
    if not point.num_splits:
        return KINDS[0]
    if point.programs <= 3 * num_sms:  # as many as fit on the SMs together
        return KINDS[1 if point.programs <= num_sms else 2]
    shape = point.shape
    blocks = shape.len_kv / key_block(shape.head_dim, shape.element_bytes)
    return KINDS[3 if blocks > 2 * point.num_splits else 4]


def by_kind(points: Sequence[Residual]) -> dict[str, list[Residual]]:
    """Points that the model treats alike, in the order of `KINDS`: by kernel, and programs for each SM."""
    found = defaultdict(list)
    for each in points:
        found[_kind(each)].append(each)
    return {kind: found[kind] for kind in KINDS if kind in found}


def residual_table(points: Sequence[Residual]) -> str:
    """A text table by kind: how far times are off, and utilisation, in points of 100; `> 5` counts those beyond 5."""
    lines = [
        f"{'':31}{'times':>6}{'median':>8}{'worst':>7}   {'timelines':>9}{'median':>8}{'worst':>7}{'> 5':>5}"
    ]
    for name, several in [*by_kind(points).items(), ("all", list(points))]:
        errors = sorted(abs(each.error) for each in several)
        shares = [each.utilisation_error for each in several]
        off = sorted(100 * abs(share) for share in shares if share is not None)
        line = f"{name:31}{len(errors):6d}{statistics.median(errors):8.1%}{errors[-1]:7.1%}"
        if off:
            beyond = sum(each > 5 for each in off)
            line += f"   {len(off):9d}{statistics.median(off):8.2f}{off[-1]:7.2f}{beyond:5d}"
        lines.append(line)
    return "\n".join(lines)
