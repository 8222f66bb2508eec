"""Exercises: what they are, how they are generated, run, graded and reported.

The grader is for honest learners. A file runs in a process of its own, with a limit, so that a
mistake harms nothing but its own verdict; nothing here holds a file that sets out to cheat.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fdlib.course.shell import ipython

if TYPE_CHECKING:
    from fdlib.course.learner import check, hint, load, reset, solution, status
    from fdlib.course.prediction import compare_prediction
    from fdlib.course.quizzes.notebook import quiz
    from fdlib.course.quizzes.text import answer
    from fdlib.course.show import show_source

__all__ = [
    "check",
    "load",
    "hint",
    "solution",
    "status",
    "reset",
    "compare_prediction",
    "show_source",
    "quiz",
    "answer",
]

_HOMES = {
    "compare_prediction": "prediction",
    "show_source": "show",
    "quiz": "quizzes.notebook",
    "answer": "quizzes.text",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        home = importlib.import_module(f"fdlib.course.{_HOMES.get(name, 'learner')}")
        return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext fdlib.course`: make `%exercise` known; importing fdlib.course in IPython does too."""
    from fdlib.course.magic import register

    register(shell)


if ipython():
    load_ipython_extension(ipython())
