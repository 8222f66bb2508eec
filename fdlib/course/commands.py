"""What a learner calls in a notebook besides `check`: each prints, and refuses in a sentence."""

from __future__ import annotations

from collections.abc import Callable

from fdlib.course.files import Refused

__all__ = ["hint", "reset", "solution", "status"]


def hint(number: int, region: str | int | None = None, level: int | None = None) -> None:
    """Print the next hint for an exercise, or the one of a region and level."""
    from fdlib.course.coach import hint_text

    _print(lambda: hint_text(number, region, level))


def solution(number: int, *, give_up: bool = False, whole: bool = False) -> None:
    """Print the solution of an exercise that has passed, or that you give up."""
    from fdlib.course.coach import solution_text

    _print(lambda: solution_text(number, give_up=give_up, whole=whole))


def status() -> None:
    """Print where you stand."""
    from fdlib.course.overview import status_text

    _print(status_text)


def reset(number: int) -> None:
    """Write an exercise's file as it was at the start; what it held is kept."""
    from fdlib.course.fresh import write_fresh

    _print(lambda: write_fresh(number))


def _print(text: Callable[[], str]) -> None:
    try:
        print(text())
    except Refused as refusal:
        print(refusal)
    except ValueError as error:  # a number or name that there is not
        print(f"Not done. {error}")
