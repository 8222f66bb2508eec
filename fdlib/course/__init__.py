"""Exercises: what they are, how they are generated, run, graded and reported.

The grader is for honest learners. A file runs in a process of its own, with a limit, so that a
mistake harms nothing but its own verdict; nothing here holds a file that sets out to cheat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fdlib.course.learner import check, load
    from fdlib.course.prediction import compare_prediction
    from fdlib.course.show import show_source

__all__ = ["check", "load", "compare_prediction", "show_source"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from fdlib.course import learner, prediction, show

        homes = {"show_source": show, "compare_prediction": prediction}
        return getattr(homes.get(name, learner), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
