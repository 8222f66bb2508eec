"""Prove the grader: skeletons are not started, right answers pass, wrong ones are rejected with the right words.

Skeletons, solutions, right answers and one mistake of each exercise go through the runner, in processes
of their own, as a learner's file does. The other wrong answers go through what the worker does, here:
the first check that fails, and the diagnosis of it. `make gate` runs this; `make test` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fdlib.course.catalogue import EXERCISES, Exercise, find, solution_path
from fdlib.course.checks import load_checks
from fdlib.course.expect.check import Check, CheckContext
from fdlib.course.expect.compare import Mismatch
from fdlib.course.expect.observe import Sight, look
from fdlib.course.grading.diagnose import Diagnoser, Diagnosis, cause
from fdlib.course.grading.honest import borrowed
from fdlib.course.grading.loader import load_module
from fdlib.course.grading.runner import check
from fdlib.course.grading.verdict import Verdict
from fdlib.course.mistakes import Mistake, apply_edits, load_mistakes
from fdlib.course.regions import skeleton
from fdlib.device import choose_mode

from .answers import Answer, parameters

SEED = 20_23
Record = Callable[..., None]
KNOWN = [
    pytest.param(exercise, mistake, id=f"ex{exercise.number:02}-{mistake.name}")
    for exercise in EXERCISES
    for mistake in load_mistakes(exercise)
]
per_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.module_name)


@pytest.fixture
def record(record_property: Callable[[str, object], None]) -> Record:
    def add(kind: str, number: int, slug: str, named: bool = False, said: str = "") -> None:
        found = {"kind": kind, "number": number, "slug": slug, "named": named, "said": said}
        record_property("gate", found)

    return add


def _grade(number: int, text: str, folder: Path) -> Verdict:
    path = folder / f"{find(number).module_name}.py"
    path.write_text(text, encoding="utf-8")
    return check(number, path=path, seed=SEED)


def _solution(exercise: Exercise) -> str:
    return solution_path(exercise.number).read_text(encoding="utf-8")


def _first_failure(number: int, text: str, folder: Path) -> tuple[Check, Sight, Diagnosis] | None:
    """The first check that a file fails, what it saw, and what is known about it."""
    exercise = find(number)
    path = folder / f"{exercise.module_name}.py"
    module = load_module(path, exercise.module_name, text)
    diagnoser = Diagnoser(load_mistakes(exercise), _solution(exercise))
    for each in load_checks(exercise):
        context = CheckContext(SEED, each.name, choose_mode())
        sight = look(each.run, module, context)
        if not sight.passed:
            return each, sight, diagnoser.explain(each, context, sight)
    return None


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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, under the interpreter
@pytest.mark.parametrize(("exercise", "mistake"), KNOWN)
def test_a_known_mistake_is_rejected_and_named(
    exercise: Exercise, mistake: Mistake, tmp_path: Path, record: Record
) -> None:
    text = apply_edits(_solution(exercise), mistake.edits)
    found = _first_failure(exercise.number, text, tmp_path)
    named = found[2].mistake if found else ""
    record("known mistakes", exercise.number, mistake.name, named == mistake.name)
    assert found is not None
    assert found[0].name == mistake.check
    assert named == mistake.name


@per_exercise
def test_the_runner_says_the_same(exercise: Exercise, tmp_path: Path, record: Record) -> None:
    mistake = load_mistakes(exercise)[0]
    record("mistakes, by runner", exercise.number, mistake.name, named=True)
    verdict = _grade(exercise.number, apply_edits(_solution(exercise), mistake.edits), tmp_path)
    assert not verdict.passed
    failing = verdict.failing[0]
    assert (failing.name, failing.mistake) == (mistake.check, mistake.name)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("answer", parameters("wrong_answers"))
def test_an_independent_wrong_answer_is_rejected(
    answer: Answer, tmp_path: Path, record: Record
) -> None:
    mistake, said = _rejected(answer, tmp_path)
    record("wrong answers", answer.number, answer.slug, bool(mistake), said.replace("\n", " "))
    assert said


def _rejected(answer: Answer, folder: Path) -> tuple[str, str]:
    """(the known mistake that it equals or "", what is said first)."""
    if found := borrowed(answer.source, _solution(find(answer.number))):
        return "", f"not your own: {found[0]}"
    failure = _first_failure(answer.number, answer.source, folder)
    if failure is None:  # right values: the compiler or what the runner sees has to reject it
        verdict = check(answer.number, path=answer.write(folder), seed=SEED)
        return "", "" if verdict.passed else verdict.failing[0].message
    _, sight, diagnosis = failure
    if diagnosis.mistake or diagnosis.sentences:
        return diagnosis.mistake, " ".join(diagnosis.sentences)
    first = sight.first_wrong
    error = sight.seen[first].error if first is not None else cause(sight.ended)
    kind = "" if isinstance(error, Mismatch) else f"{type(error).__name__}: "
    return "", f"{kind}{error}"


@pytest.mark.parametrize("answer", parameters("right_answers"))
def test_an_independent_right_answer_passes(answer: Answer, tmp_path: Path, record: Record) -> None:
    record("right answers", answer.number, answer.slug)
    verdict = check(answer.number, path=answer.write(tmp_path), seed=SEED)
    assert verdict.state == "passed", [(c.name, c.message) for c in verdict.checks if c.message]
