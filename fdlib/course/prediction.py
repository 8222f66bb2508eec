"""Compare a number that a learner predicted with what came out."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["compare_prediction"]


def compare_prediction(
    prediction: Any,
    actual: float,
    unit: str = "",
    name: str = "",
    *,
    tolerance: float | None = None,
) -> None:
    """Print how far a predicted number is from the actual one, or ask for a prediction.

    `name` says what was predicted. With `tolerance` a prediction is right if it is at most that far
    off, in units of `actual`: for values on a log scale, of which a ratio says nothing. Nothing is
    raised whatever the prediction is; one that is no number is answered with what to give.

    >>> compare_prediction(30, 93.94, "%")
    You predicted 30%, it is 93.94%: 3.1 times too low.
    >>> compare_prediction(0.5, 0.5, name="alpha")
    alpha: you predicted 0.5, it is 0.5: right.
    """
    answer = _with_unit(actual, unit)
    if prediction is None:
        print(
            "You have not predicted yet: put your number in place of None, run that cell and then "
            f"this one.\nAnswer: {f'{name} ' if name else ''}{answer}"
        )
        return
    number = _number(prediction)
    if number is None:
        print("Give a number, such as 20.")
        return
    you = f"{name}: you" if name else "You"
    how_far = _how_far(number, actual, tolerance)
    print(f"{you} predicted {_with_unit(number, unit)}, it is {answer}: {how_far}.")


def _number(value: Any) -> float | None:
    """The value as an int or float, or None if it is no single number."""
    if isinstance(value, (bool, str, bytes, bytearray)):
        return None
    if isinstance(value, int):
        return value
    try:
        number = float(value)
    except Exception:  # whatever a foreign type raises here, it is no number
        return None
    return None if math.isnan(number) else number


def _how_far(prediction: float, actual: float, tolerance: float | None) -> str:
    high_or_low = "too high" if prediction > actual else "too low"
    if tolerance is not None:
        off = abs(prediction - actual)
        return "right" if off <= tolerance else f"{_shown(off)} {high_or_low}"
    if math.isclose(prediction, actual, rel_tol=0.02, abs_tol=1e-12):
        return "right"
    if actual == 0 or prediction == 0 or (prediction < 0) != (actual < 0):
        return high_or_low
    ratio = abs(prediction / actual)
    if 0.9 <= ratio <= 1.1:
        return "within 10%"
    ratio = max(ratio, 1 / ratio)
    times = f"{ratio:,.0f}" if 10 <= ratio < 1e15 else f"{ratio:.2g}"
    return f"{times} times {high_or_low}" if actual > 0 else high_or_low


def _with_unit(value: float, unit: str) -> str:
    space = "" if not unit or unit.startswith("%") else " "
    return f"{_shown(value)}{space}{unit}"


def _shown(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:,.4g}"
