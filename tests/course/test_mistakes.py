"""The data of the known mistakes: edits that apply, words that teach and show no solution.

That each is rejected, and named, is proved in tests/gate.
"""

from __future__ import annotations

import ast
import re

import pytest

from fdlib.course.catalogue import EXERCISES, Exercise, course_root, solution_path
from fdlib.course.checks import load_checks
from fdlib.course.mistakes import Mistake, apply_edits, load_mistakes, touched_regions
from fdlib.course.regions import regions

from .test_checks_messages import _headings

KNOWN = [
    pytest.param(exercise, mistake, id=f"ex{exercise.number:02}-{mistake.name}")
    for exercise in EXERCISES
    for mistake in load_mistakes(exercise)
]
per_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.module_name)
per_mistake = pytest.mark.parametrize(("exercise", "mistake"), KNOWN)


def solution(exercise: Exercise) -> str:
    return solution_path(exercise.number).read_text(encoding="utf-8")


def quoted_lines(exercise: Exercise, text: str) -> list[str]:
    """The lines of the exercise's solution, 12 characters or longer, that stand in `text`."""
    bodies = [region.body for region in regions(solution(exercise))]
    lines = [
        re.sub(r"\s", "", re.sub(r" +#.*", "", line)) for line in "\n".join(bodies).split("\n")
    ]
    shown = re.sub(r"\s", "", text)
    return [line for line in lines if len(line) >= 12 and line in shown]


def is_a_heading(exercise: Exercise, read: str) -> bool:
    elsewhere = re.fullmatch(r"(\d\d): (.+)", read)
    number, heading = elsewhere.groups() if elsewhere else (f"{exercise.number:02}", read)
    (notebook,) = (course_root() / "notebooks").glob(f"{number}_*.ipynb")
    return heading in _headings(notebook)


@per_exercise
def test_each_exercise_has_mistakes_with_names_and_edits_of_their_own(exercise: Exercise) -> None:
    mistakes = load_mistakes(exercise)
    assert len(mistakes) >= 8
    names = [mistake.name for mistake in mistakes]
    assert [name for name in names if names.count(name) > 1] == []
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []
    texts = [apply_edits(solution(exercise), mistake.edits) for mistake in mistakes]
    assert len(set(texts)) == len(texts)


@per_mistake
def test_a_mistake_applies_and_names_a_check_and_a_heading(
    exercise: Exercise, mistake: Mistake
) -> None:
    ast.parse(apply_edits(solution(exercise), mistake.edits))
    names = [region.name for region in regions(solution(exercise))]
    assert set(touched_regions(solution(exercise), mistake)) <= set(names)
    assert touched_regions(solution(exercise), mistake)
    assert mistake.check in [check.name for check in load_checks(exercise)]
    assert is_a_heading(exercise, mistake.read)


@per_mistake
def test_a_mistake_says_and_explains_in_words(exercise: Exercise, mistake: Mistake) -> None:
    assert re.fullmatch(r"\S.*[^\s.]", mistake.says), (
        "completes 'Your out equals what you get when'"
    )
    assert re.fullmatch(r"\S.*\.\)?", mistake.why, re.DOTALL)
    text = f"{mistake.says} {mistake.why}"
    assert re.findall(r"\b(?:torch|tl)\.\w+|  ", text) == []
    assert quoted_lines(exercise, text) == []
