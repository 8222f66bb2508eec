from __future__ import annotations

from pathlib import Path

import pytest

from fdlib.course.attempt import attempt
from fdlib.course.catalogue import exercise_path
from fdlib.course.coach import hint_text, solution_text
from fdlib.course.learner import status
from fdlib.course.overview import status_text
from fdlib.course.progress import record_quiz

from .toy import ADD, DIVIDE, SOLUTION

EMPTY = '    raise NotImplementedError("write: divide")\n'


def row() -> list[str]:
    return [cell.strip() for cell in status_text().splitlines()[1].split("  ") if cell.strip()]


def test_at_the_start(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert row() == ["91 toy sum", "not started", "-", "-", "-", "-"]
    status()
    assert capsys.readouterr().out.endswith(
        "Next: exercise 91. Read notebooks/91_toy.ipynb, write in exercises/ex91_toy_sum.py, then "
        "`fdlib check 91`.\n"
    )


def test_in_work_with_hints(course: Path) -> None:
    exercise_path(91).write_text(SOLUTION.replace(DIVIDE, EMPTY))
    attempt(91)
    hint_text(91)
    hint_text(91)
    solution_text(91, give_up=True)
    assert row() == ["91 toy sum", "in work, 1 of 2 written", "4 of 6", "1", "2", "given up"]
    last = status_text().splitlines()[-1]
    assert last.startswith("Next: exercise 91, `fdlib check 91`. The last check: unfinished")


def test_passed_then_changed_then_begun_anew(course: Path) -> None:
    exercise_path(91).write_text(SOLUTION)
    attempt(91)
    assert row()[1].startswith("passed 20")
    assert "All exercises have passed." in status_text()
    exercise_path(91).write_bytes(SOLUTION.replace("\n", "\r\n").encode())
    assert row()[1].startswith("passed 20")
    exercise_path(91).write_text(SOLUTION.replace(ADD, "        result -= value\n"))
    assert row()[1:3] == ["changed since it passed", "6 of 6"]
    assert "Next: exercise 91" in status_text()
    exercise_path(91).unlink()
    assert row()[1] == "no file, has passed before"


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (b"\xff", "not readable"),
        (b"# <<<\n", "in work, markers damaged"),
        (None, "not readable"),
    ],
)
def test_other_files(course: Path, content: bytes | None, state: str) -> None:
    exercise_path(91).unlink()
    if content is None:
        exercise_path(91).mkdir()
    else:
        exercise_path(91).write_bytes(content)
    assert row()[1] == state


def test_no_file_names_reset(course: Path) -> None:
    exercise_path(91).unlink()
    assert "Next: `fdlib reset 91` writes the file" in status_text()


def test_quizzes(course: Path) -> None:
    record_quiz(2, "a", False)
    record_quiz(2, "a", True)
    record_quiz(2, "b", False)
    assert "\n\nquiz 02: 1 right of 2 answered, in 3 tries\n\nNext" in status_text()
