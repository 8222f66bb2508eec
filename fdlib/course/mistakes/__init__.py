"""Known mistakes: edits of an exercise's solution, each with what to say to whoever made it.

Those of exercise 5 are `fdlib.course.mistakes.ex05.MISTAKES`, plain data. `grading/diagnose.py`
runs them on the inputs on which a learner's answer failed. `make gate` proves each of them: the
checks reject it, at the check that it names, and say its own words first.

    Mistake(
        name="acc-not-rescaled",
        check="correction",
        edits=(("acc * alpha[..., None] + ", "acc + "),),
        says="the accumulator is not rescaled after a new maximum",
        why="acc was summed with weights measured against the old maximum. ...",
        read="The correction factor",
    )
"""

from __future__ import annotations

from dataclasses import dataclass

from fdlib.course.catalogue import Exercise, module_of
from fdlib.course.regions import outside, regions

__all__ = ["Mistake", "apply_edits", "load_mistakes", "touched_regions"]


@dataclass(frozen=True)
class Mistake:
    """One known mistake; of several that fit equally well, the first in the list is named."""

    name: str  # short slug
    check: str  # the first check that fails
    edits: tuple[tuple[str, str], ...]  # (find, replace), inside marked regions of the solution
    says: str  # ends the sentence "Your out equals what you get when ..."
    why: str  # one to three sentences that teach; no code of the solution
    read: str  # heading in the exercise's notebook, or "01: HEADING" in another


def load_mistakes(exercise: Exercise) -> tuple[Mistake, ...]:
    """The known mistakes of an exercise, () if it has none."""
    module = module_of(exercise, "mistakes")
    return module.MISTAKES if module else ()


def apply_edits(solution: str, edits: tuple[tuple[str, str], ...]) -> str:
    """The solution with these edits; raises `ValueError` unless each text stands once, in a region."""
    source = solution
    for find, replace in edits:
        bodies = [region.body for region in regions(source) if find in region.body]
        if len(bodies) != 1 or bodies[0].count(find) != 1 or source.count(bodies[0]) != 1:
            raise ValueError(f"edits: {find!r} has to stand once in the marked regions")
        source = source.replace(bodies[0], bodies[0].replace(find, replace))
    if source == solution or outside(source) != outside(solution):
        raise ValueError("edits: change nothing, or more than marked regions")
    return source


def touched_regions(solution: str, mistake: Mistake) -> tuple[str, ...]:
    """The names of the regions that a mistake's edits change."""
    wrong = {region.name: region.body for region in regions(apply_edits(solution, mistake.edits))}
    return tuple(r.name for r in regions(solution) if wrong.get(r.name) != r.body)
