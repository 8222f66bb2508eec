"""What a notebook calls: check an exercise, load it, compare a prediction."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

from fdlib.course.catalogue import exercise_path, find
from fdlib.course.loader import explain, load_module, read_source
from fdlib.course.regions import empty_regions, is_not_started

__all__ = ["check", "load", "compare_prediction"]


def check(number: int, *, path: str | Path | None = None, seed: int | None = None) -> None:
    """Check an exercise and print the verdict."""
    from fdlib.course.report import render
    from fdlib.course.runner import check as run_check

    print(render(run_check(number, path=path, seed=seed)))


def load(number: int, *, path: str | Path | None = None) -> ModuleType:
    """Your file of an exercise as a module, read anew at each call.

    Raises `RuntimeError` if it is not there, not started, or does not import.
    """
    exercise = find(number)
    file = Path(path or exercise_path(number)).absolute()
    try:
        source = read_source(file)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"exercise {number} cannot be read: {error}") from None
    if is_not_started(source):
        raise RuntimeError(
            f"exercise {number} is not started: write {', '.join(empty_regions(source))} in {file}"
        )
    from fdlib.device import choose_mode

    choose_mode()  # before the file imports triton
    try:
        return load_module(file, exercise.module_name, source)
    except Exception as error:
        message, where = explain(error, file)
        raise RuntimeError(f"exercise {number} does not import. {message} {where}") from error


def compare_prediction(prediction: float | None, actual: float, unit: str = "") -> None:
    """Print how far a predicted number is from the actual one, or ask for a prediction."""
    actual_text = _with_unit(actual, unit)
    if prediction is None:
        print(f"Predict first: replace None by your number and run the cell again.\n{actual_text}")
        return
    print(f"You predicted {_with_unit(prediction, unit)}, it is {actual_text}: ", end="")
    print(_how_far(prediction, actual) + ".")


def _how_far(prediction: float, actual: float) -> str:
    if math.isclose(prediction, actual, rel_tol=0.01, abs_tol=1e-12):
        return "right"
    if actual == 0 or prediction == 0 or (prediction < 0) != (actual < 0):
        return "too high" if prediction > actual else "too low"
    ratio = prediction / actual
    if 0.9 <= ratio <= 1.1:
        return "within 10%"
    return f"{ratio:.2g} times too high" if ratio > 1 else f"{1 / ratio:.2g} times too low"


def _with_unit(value: float, unit: str) -> str:
    number = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f"{number} {unit}".strip()
