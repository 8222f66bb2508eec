"""What a notebook calls: check an exercise, load it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from fdlib.course.catalogue import exercise_path, find
from fdlib.course.grading.loader import explain, load_module, read_source
from fdlib.course.regions import empty_regions, is_not_started

__all__ = ["check", "load"]


def check(number: int, *, path: str | Path | None = None, seed: int | None = None) -> None:
    """Check an exercise and show the verdict, drawn in a notebook and as text elsewhere."""
    from fdlib.course.attempt import attempt_shown

    attempt_shown(number, path=path, seed=seed)


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
