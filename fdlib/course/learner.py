"""What a notebook calls. All but `load` print, and refuse in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from fdlib.course.catalogue import file_of, find
from fdlib.course.files import Refused, sentence
from fdlib.course.grading.loader import explain, load_module
from fdlib.course.reading import read_source
from fdlib.course.regions import empty_regions, is_not_started

__all__ = ["check", "hint", "load", "reset", "solution", "status"]


def check(number: int, *, path: str | Path | None = None, seed: int | None = None) -> None:
    """Check an exercise and show the verdict, drawn in a notebook and as text elsewhere."""
    from fdlib.course.attempt import attempt_shown

    _in_a_sentence(lambda: attempt_shown(number, path=path, seed=seed))


def load(number: int, *, path: str | Path | None = None) -> ModuleType:
    """Your file of an exercise as a module, read anew at each call.

    Raises `RuntimeError` if it is not there, not started, or does not import.
    """
    exercise = find(number)
    file = file_of(number, path)
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


def hint(number: int, region: str | int | None = None, level: int | None = None) -> None:
    """Print the next hint for an exercise, or the one of a region and level."""
    from fdlib.course.coach import hint_text

    _in_a_sentence(lambda: print(hint_text(number, region, level)))


def solution(number: int, *, give_up: bool = False, whole: bool = False) -> None:
    """Print the solution of an exercise that has passed, or that you give up."""
    from fdlib.course.coach import solution_text

    _in_a_sentence(lambda: print(solution_text(number, give_up=give_up, whole=whole)))


def status() -> None:
    """Print where you stand."""
    from fdlib.course.overview import status_text

    _in_a_sentence(lambda: print(status_text()))


def reset(number: int) -> None:
    """Write an exercise's file as it was at the start; what it held is kept."""
    from fdlib.course.fresh import write_fresh

    _in_a_sentence(lambda: print(write_fresh(number)))


def _in_a_sentence(action: Callable[[], object]) -> None:
    try:
        action()
    except Refused as refusal:
        print(refusal)
    except (FileNotFoundError, ValueError) as error:  # a number, name or folder that there is not
        print(f"Not done. {sentence(error)}")
