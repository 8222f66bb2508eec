"""Hints: three levels for each marked region of an exercise, in words, never in code.

Those of exercise 5 are `fdlib.course.hints.ex05.HINTS`: region name -> `Hint`, one for each region.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fdlib.course.catalogue import Exercise, module_of

__all__ = ["LEVELS", "Hint", "load_hints"]

LEVELS = ("nudge", "idea", "pseudocode")


@dataclass(frozen=True)
class Hint:
    """Three hints for one region, each of which goes further than the one before."""

    nudge: str  # a question, or where to look
    idea: str  # what has to happen, and why
    pseudocode: str  # the steps, in words and formulas

    def level(self, number: int) -> str:
        """The hint of level 1, 2 or 3."""
        return (self.nudge, self.idea, self.pseudocode)[number - 1]


def load_hints(exercise: Exercise) -> Mapping[str, Hint]:
    """The hints of an exercise by region; {} if it has none."""
    module = module_of(exercise, "hints")
    return module.HINTS if module else {}
