"""Exercises: what they are, how they are generated, run, graded and reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fdlib.course.learner import check, compare_prediction, load

__all__ = ["check", "load", "compare_prediction"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from fdlib.course import learner

        return getattr(learner, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
