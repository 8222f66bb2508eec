from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from fdlib.course.attempt import attempt
from fdlib.course.catalogue import exercise_path, records_folder
from fdlib.course.coach import hint_text
from fdlib.course.files import Refused
from fdlib.course.fresh import write_fresh
from fdlib.course.overview import status_text
from fdlib.course.progress import load, record_hint, record_quiz, record_solution

from .toy import ADD, SOLUTION, Toy, posix_only


def test_attempts_points_and_the_first_pass(course: Path, capsys: pytest.CaptureFixture) -> None:
    attempt(91)  # not started: no attempt
    assert load().exercise(91).attempts == 0
    exercise_path(91).write_text(SOLUTION.replace(ADD, "        result -= value\n"))
    attempt(91, seed=1)
    mine = load().exercise(91)
    assert (mine.attempts, mine.best, mine.points, mine.max_points) == (1, 1, 1, 6)
    assert (mine.state, mine.check, mine.passed) == ("failed", "total", "")
    exercise_path(91).write_text(SOLUTION)
    attempt(91)
    first = load().exercise(91)
    assert (first.attempts, first.best, first.state, first.check) == (2, 6, "passed", "")
    assert first.passed and first.passed_digest
    exercise_path(91).write_text("x = (\n")
    attempt(91, path=exercise_path(91))
    after = load().exercise(91)
    assert (after.attempts, after.best, after.points) == (3, 6, 0)
    assert (after.passed, after.passed_digest) == (first.passed, first.passed_digest)
    assert capsys.readouterr().err == ""


def test_a_file_elsewhere_does_not_count(course: Path, toy: Toy) -> None:
    assert attempt(91, path=toy()).passed
    assert attempt(91, path=course / "solutions" / toy().name).passed
    assert load().exercises == {}


def test_hints_solution_and_quiz(course: Path) -> None:
    for level in (2, 1, 2):
        record_hint(91, "divide", level)
    record_solution(91)
    for right in (False, True, False):
        record_quiz(5, "which-axis", right)
    record_quiz(5, "other", False)
    now = load()
    assert now.exercise(91).hints == {"divide": [1, 2]}
    assert now.exercise(91).gave_up
    quiz = {name: (answer.right, answer.tries) for name, answer in now.quiz(5).items()}
    assert quiz == {"which-axis": (True, 2), "other": (False, 1)}
    assert load().quiz(4) == {}


def test_a_solution_after_passing_is_no_giving_up(course: Path) -> None:
    exercise_path(91).write_text(SOLUTION)
    attempt(91)
    record_solution(91)
    assert load().exercise(91).solution
    assert not load().exercise(91).gave_up


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe", b"[]", b"{}", b"null", b"[" * 100_000),
        b'{"version": 2, "exercises": {}, "quizzes": {}}',
        b'{"version": 1, "exercises": {"5": {"attempts": "3"}}, "quizzes": {}}',
        b'{"version": 1, "exercises": {"5": {"nonsense": 3}}, "quizzes": {}}',
        b'{"version": 1, "exercises": {"5": {"hints": {"a": [[]]}}}, "quizzes": {}}',
        b'{"version": 1, "exercises": {"x": {}}, "quizzes": []}',
        b'{"version": 1, "exercises": {"5": {"hints": {"a": [4]}}}, "quizzes": {}}',
        b'{"version": 1, "exercises": {"5": {"attempts": -1}}, "quizzes": {}}',
        b'{"version": 1, "exercises": {"5": {"passed": "\\u001b[2J"}}, "quizzes": {}}',
        b'{"version": 1, "exercises": {}, "quizzes": {"5": {"a": {"tries": true}}}}',
    ],
)
def test_what_cannot_be_read_is_set_aside(course: Path, capsys, content: bytes) -> None:
    home = course / ".fdlib"
    home.mkdir()
    (home / "progress.json").write_bytes(content)
    assert load().exercises == {}
    record_hint(91, "divide", 1)
    assert load().exercise(91).hints == {"divide": [1]}
    (aside,) = home.glob("progress.2*.json")
    assert aside.read_bytes() == content
    said = capsys.readouterr().err
    assert said.count("could not be read") == 1
    assert str(aside) in said


def test_a_folder_in_its_place_is_set_aside(course: Path, capsys: pytest.CaptureFixture) -> None:
    (course / ".fdlib" / "progress.json").mkdir(parents=True)
    record_hint(91, "divide", 1)
    assert load().exercise(91).hints == {"divide": [1]}
    assert "it is a folder" in capsys.readouterr().err


def test_a_region_without_levels_and_too_many_points(course: Path) -> None:
    records_folder().mkdir()
    mine = {"attempts": 1, "best": 99999999, "max_points": 6, "hints": {"divide": []}}
    data = {"version": 1, "exercises": {"91": mine}, "quizzes": {}}
    (records_folder() / "progress.json").write_text(json.dumps(data))
    assert load().exercise(91).best == 6
    assert "Hint 1 of 3" in hint_text(91, "divide")
    assert "6 of 6" in status_text()


@posix_only
def test_a_pipe_is_not_waited_for(course: Path, capsys: pytest.CaptureFixture) -> None:
    records_folder().mkdir()
    os.mkfifo(records_folder() / "progress.json")
    assert load().exercises == {}
    record_hint(91, "divide", 1)
    assert load().exercise(91).hints == {"divide": [1]}
    assert "could not be read (it is a pipe or a device). It is kept" in capsys.readouterr().err
    (records_folder() / "lock").unlink()
    os.mkfifo(records_folder() / "lock")
    assert not record_hint(91, "divide", 2)
    said = "Progress cannot be kept (it is a pipe or a device; remove it: "
    assert capsys.readouterr().err.startswith(f"fdlib: {said}")
    exercise_path(91).write_text("# mine\n")
    with pytest.raises(Refused, match="lock: it is a pipe or a device; remove it"):
        write_fresh(91)
    assert exercise_path(91).read_text() == "# mine\n"


def test_a_folder_that_cannot_be_written_to_is_said_once(
    course: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    exercise_path(91).write_text(SOLUTION)
    monkeypatch.setattr(Path, "mkdir", refuse)
    record_quiz(5, "a", True)
    assert not record_hint(91, "divide", 1)
    said = "fdlib: Progress cannot be kept (Permission denied). Grading works all the same.\n"
    assert capsys.readouterr().err == said
    monkeypatch.undo()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_check_in_a_read_only_folder(course: Path, capsys: pytest.CaptureFixture) -> None:
    exercise_path(91).write_text(SOLUTION)
    course.chmod(0o555)
    try:
        assert attempt(91).passed
        assert attempt(91).passed
    finally:
        course.chmod(0o755)
    assert capsys.readouterr().err.count("Progress cannot be kept") == 1


def _answer(root: Path, name: str) -> None:
    os.chdir(root)
    for i in range(25):
        record_quiz(5, f"{name}{i}", True)


def test_two_at_once_lose_nothing(course: Path) -> None:
    # a new process knows the real exercises alone, and this is to be their course
    (course / "solutions" / "ex05_flash_decoding.py").touch()
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_answer, args=(course, name)) for name in "ab"]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert len(load().quiz(5)) == 50
    assert sorted(path.name for path in (course / ".fdlib").iterdir()) == ["lock", "progress.json"]


def test_it_is_plain_json(course: Path) -> None:
    record_quiz(5, "a", True)
    data = json.loads((records_folder() / "progress.json").read_text())
    assert data["quizzes"] == {"5": {"a": {"right": True, "tries": 1}}}
