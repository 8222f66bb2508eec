"""Recorded calls, and how far the model is from them: for the fit, and for its test."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from math import log1p
from typing import Any

from fdlib.recorded import load_recorded
from fdlib.shapes import AttentionShape
from fdlib.xray.recordings import SIZES
from fdlib.xray.residuals import RecordedCall, Residual, recorded_calls, residual
from fdlib.xray.simulation.model import FITTED, Parameters

# Of a squared error of the utilisation against one of the time's logarithm.
UTILISATION_WEIGHT = 2.0
# Of a call that the fit looks at; larger ones are as their smaller likes, and slow.
MOST_PROGRAMS = 9000


def shape_of(row: dict) -> AttentionShape:
    return AttentionShape(**{name: row[name] for name in (*SIZES, "dtype") if name in row})


def calls_measured_again(record: dict[str, Any] | None = None) -> list[RecordedCall]:
    """Calls of the recording, measured again: what tests/gpu/record_decode.py wrote, the shipped one unless told.

    Another day's times of shapes and split counts that the fit knows: they say how well times repeat (1.1% apart in
    the median, 18% at most), and nothing of what was never fitted to.
    """
    record = record or load_recorded("h200_decode")
    found = []
    for row in record["rows"]:
        shape = shape_of(row)
        found.append(RecordedCall(shape, 0, row["flash_attention_us"]))
        found.append(RecordedCall(shape, 1, row["one_split_us"]))
        found.append(RecordedCall(shape, row["num_splits"], row["flash_decode_us"]))
    for row in record["splits"]:
        found.append(RecordedCall(shape_of(row), row["num_splits"], row["time_us"]))
    return found


def fitted_calls(every: int) -> list[RecordedCall]:
    """Every so many of the recorded calls, the largest left out."""
    calls = [each for each in recorded_calls() if each.works[0].programs <= MOST_PROGRAMS]
    return calls[::every]


def loss(calls: Sequence[RecordedCall], numbers: Parameters = FITTED) -> float:
    """What the fit makes small: mean squares of the time's logarithm and, weighted, of the utilisation."""
    points = [residual(each, numbers) for each in calls]
    times = statistics.fmean(log1p(each.error) ** 2 for each in points)
    shares = [each.utilisation_error for each in points]
    squares = [share**2 for share in shares if share is not None]
    return times + UTILISATION_WEIGHT * (statistics.fmean(squares) if squares else 0.0)


def lost_by_choice(points: Sequence[Residual]) -> dict[AttentionShape, float]:
    """For each shape: the measured time at the split count that the model likes best, over the best measured, minus 1.

    ``points`` hold all counts of a shape, a count once.
    """
    of_shape = defaultdict(list)
    for each in points:
        if each.num_splits:
            of_shape[each.shape].append(each)
    lost = {}
    for shape, several in of_shape.items():
        chosen = min(several, key=lambda each: (each.modelled_us, each.num_splits))
        lost[shape] = chosen.measured_us / min(each.measured_us for each in several) - 1
    return lost
