"""Exercises: what they are, how they are generated, run, graded and reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fdlib.course.learner import check, compare_prediction, load
    from fdlib.course.show import show_source

__all__ = ["check", "load", "compare_prediction", "show_source"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from fdlib.course import learner, show

        return getattr(show if name == "show_source" else learner, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
