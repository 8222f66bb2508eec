from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fdlib.course.attempt import attempt, attempt_shown
from fdlib.course.catalogue import exercise_path
from fdlib.course.progress import load

from .toy import SOLUTION, TOY_NAME, Toy

ROOT = Path(__file__).resolve().parents[2]


def test_it_shows_and_counts(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exercise_path(91).write_text(SOLUTION)
    seen = []
    assert attempt(91, on_progress=seen.append).passed
    assert seen
    assert attempt_shown(91, seed=3).seed == 3
    assert "passed, 6 of 6" in capsys.readouterr().out
    assert load().exercise(91).attempts == 2


def test_a_path_to_the_own_file_counts(course: Path) -> None:
    exercise_path(91).write_text(SOLUTION)
    attempt(91, path=f"exercises/../exercises/{TOY_NAME}")
    assert load().exercise(91).attempts == 1


def test_without_a_course_a_file_is_still_graded(toy: Toy, monkeypatch) -> None:
    def nowhere() -> Path:
        raise FileNotFoundError("no folder")

    monkeypatch.setattr("fdlib.course.catalogue.course_root", nowhere)
    assert attempt(91, path=toy()).passed
    assert load().exercises == {}


@pytest.mark.parametrize(
    "error",
    [RuntimeError("There is\nno Triton."), OSError(28, "No space left on device", "/tmp")],
)
def test_what_this_machine_cannot_check_is_a_sentence_each_time(
    course: Path, capsys: pytest.CaptureFixture[str], monkeypatch, error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("fdlib.course.grading.runner.check", refuse)
    assert attempt_shown(91) is None
    said = {RuntimeError: "There is no Triton.", OSError: "/tmp: No space left on device"}
    assert capsys.readouterr() == ("", f"fdlib: {said[type(error)]}\n")
    assert load().exercises == {}


def test_two_checks_at_once_are_both_right_and_both_counted(tmp_path: Path) -> None:
    for name in ("exercises", "solutions"):
        shutil.copytree(ROOT / "solutions", tmp_path / name)
    command = [sys.executable, "-m", "fdlib", "check", "4"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        assert "passed, 10 of 10" in process.communicate(timeout=60)[0]
        assert process.returncode == 0
    read = "from fdlib.course.progress import load; print(load().exercise(4).attempts)"
    done = subprocess.run(
        [sys.executable, "-c", read],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "2\n"
