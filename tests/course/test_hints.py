"""The data of the hints: three levels for each region, and no line of code in them."""

from __future__ import annotations

import re

import pytest

from fdlib.course.catalogue import EXERCISES, Exercise
from fdlib.course.hints import LEVELS, Hint, load_hints
from fdlib.course.regions import regions

from .test_mistakes import quoted_lines, solution

HINTS = [
    pytest.param(exercise, hint, id=f"ex{exercise.number:02}-{name}")
    for exercise in EXERCISES
    for name, hint in load_hints(exercise).items()
]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.module_name)
def test_each_region_has_a_hint_in_the_order_of_the_file(exercise: Exercise) -> None:
    names = [region.name for region in regions(solution(exercise))]
    assert list(load_hints(exercise)) == names


@pytest.mark.parametrize(("exercise", "hint"), HINTS)
def test_three_levels_grow_more_concrete_and_stay_words(exercise: Exercise, hint: Hint) -> None:
    levels = [hint.level(number) for number in range(1, len(LEVELS) + 1)]
    assert all(level == level.strip() and len(level) > 40 for level in levels)
    assert "?" in hint.nudge or re.search(r"\b(look|read|see|draw)\b", hint.nudge, re.IGNORECASE)
    steps = re.findall(r"^(\d+)\. ", hint.pseudocode, re.MULTILINE)
    assert steps == [str(n) for n in range(1, len(steps) + 1)] != []
    assert not re.search(r"^\d+\. ", f"{hint.nudge}\n{hint.idea}", re.MULTILINE)
    assert re.findall(r"\b(?:torch|tl)\.", "\n".join(levels)) == []
    assert [quoted_lines(exercise, level) for level in levels] == [[], [], []]
