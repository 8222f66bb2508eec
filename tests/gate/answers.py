"""Answers kept as text: `wrong_answers/exNN.txt` and `right_answers/exNN.txt`, written from the exercise texts alone.

    === slug: what it does
    # >>> write: REGION
    code
    # <<<

Regions that an answer leaves out are those of the solution.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from fdlib.course.catalogue import EXERCISES, find, solution_path
from fdlib.course.regions import regions, with_bodies

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Answer:
    """One answer to one exercise."""

    number: int
    slug: str
    about: str
    source: str  # the whole file

    def write(self, folder: Path) -> Path:
        path = folder / f"{find(self.number).module_name}.py"
        path.write_text(self.source, encoding="utf-8")
        return path


def answers(folder: str) -> list[Answer]:
    """All answers of `wrong_answers` or `right_answers`."""
    return [
        answer
        for exercise in EXERCISES
        for answer in _answers_in(HERE / folder / f"ex{exercise.number:02}.txt", exercise.number)
    ]


def parameters(folder: str) -> list[pytest.ParameterSet]:
    return [pytest.param(a, id=f"ex{a.number:02}-{a.slug}") for a in answers(folder)]


def _answers_in(path: Path, number: int) -> list[Answer]:
    found = []
    for block in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, body = block.split("\n", 1)
        slug, about = head.split(": ", 1)
        found.append(Answer(number, slug, about, _filled(number, body)))
    return found


def _filled(number: int, body: str) -> str:
    """The solution with the regions that stand in `body`."""
    solution = solution_path(number).read_text(encoding="utf-8")
    given = {region.name: region.body for region in regions(body)}
    source = with_bodies(solution, lambda r: given.pop(r.name, r.body).split("\n"))
    assert not given, f"no such region: {list(given)}"
    return source
