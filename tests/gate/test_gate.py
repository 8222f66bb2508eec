"""Prove the grader: skeletons are not started, right answers pass, wrong ones are rejected with the right words.

Each answer goes through the same runner as a learner's file, in a process of its own.
`make gate` runs this; `make test` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fdlib.course.catalogue import EXERCISES, Exercise, solution_path
from fdlib.course.grading.runner import check
from fdlib.course.grading.verdict import CheckResult, Verdict
from fdlib.course.mistakes import Mistake, apply_edits, load_mistakes
from fdlib.course.regions import skeleton

from .answers import Answer, parameters

SEED = 20_23
Record = Callable[..., None]
KNOWN = [
    pytest.param(exercise, mistake, id=f"ex{exercise.number:02}-{mistake.name}")
    for exercise in EXERCISES
    for mistake in load_mistakes(exercise)
]
# Known mistakes whose first words are another's: 95% must be their own. Why stands beside each.
SPOKEN_FOR_BY: dict[tuple[int, str], str] = {}
per_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.module_name)


@pytest.fixture
def record(record_property: Callable[[str, object], None]) -> Record:
    def add(kind: str, number: int, slug: str, named: bool = False, said: str = "") -> None:
        found = {"kind": kind, "number": number, "slug": slug, "named": named, "said": said}
        record_property("gate", found)

    return add


def _grade(number: int, text: str, folder: Path) -> Verdict:
    (exercise,) = [each for each in EXERCISES if each.number == number]
    path = folder / f"{exercise.module_name}.py"
    path.write_text(text, encoding="utf-8")
    return check(number, path=path, seed=SEED)


def _first_failing(verdict: Verdict) -> CheckResult | None:
    return next((c for c in verdict.checks if c.outcome in {"failed", "error"}), None)


def _solution(exercise: Exercise) -> str:
    return solution_path(exercise.number).read_text(encoding="utf-8")


@per_exercise
def test_a_skeleton_is_not_started(exercise: Exercise, tmp_path: Path, record: Record) -> None:
    record("skeletons", exercise.number, "skeleton")
    verdict = _grade(exercise.number, skeleton(_solution(exercise)), tmp_path)
    assert (verdict.state, verdict.points) == ("not started", 0)


@per_exercise
def test_a_solution_passes(exercise: Exercise, tmp_path: Path, record: Record) -> None:
    record("solutions", exercise.number, "solution")
    verdict = _grade(exercise.number, _solution(exercise), tmp_path)
    assert (verdict.state, verdict.points) == ("passed", 10)


@pytest.mark.parametrize(("exercise", "mistake"), KNOWN)
def test_a_known_mistake_is_rejected_and_named(
    exercise: Exercise, mistake: Mistake, tmp_path: Path, record: Record
) -> None:
    text = apply_edits(_solution(exercise), mistake.edits)
    verdict = _grade(exercise.number, text, tmp_path)
    failing = _first_failing(verdict)
    named = failing.mistake if failing else ""
    record("known mistakes", exercise.number, mistake.name, named == mistake.name)
    assert not verdict.passed
    assert failing is not None
    assert failing.name == mistake.check
    assert named == SPOKEN_FOR_BY.get((exercise.number, mistake.name), mistake.name)


def test_nearly_all_known_mistakes_have_their_own_words() -> None:
    assert len(SPOKEN_FOR_BY) <= 0.05 * len(KNOWN)


@pytest.mark.parametrize("answer", parameters("wrong_answers"))
def test_an_independent_wrong_answer_is_rejected(
    answer: Answer, tmp_path: Path, record: Record
) -> None:
    verdict = check(answer.number, path=answer.write(tmp_path), seed=SEED)
    failing = _first_failing(verdict)
    mistake = failing.mistake if failing else ""
    said = failing.diagnosis or failing.message if failing else verdict.message
    record("wrong answers", answer.number, answer.slug, bool(mistake), said.replace("\n", " "))
    assert not verdict.passed


@pytest.mark.parametrize("answer", parameters("right_answers"))
def test_an_independent_right_answer_passes(answer: Answer, tmp_path: Path, record: Record) -> None:
    record("right answers", answer.number, answer.slug)
    verdict = check(answer.number, path=answer.write(tmp_path), seed=SEED)
    assert verdict.state == "passed", [(c.name, c.message) for c in verdict.checks if c.message]
