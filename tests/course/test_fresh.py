from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from fdlib.course.build import generate
from fdlib.course.catalogue import exercise_path, solution_path
from fdlib.course.files import Refused
from fdlib.course.fresh import write_fresh
from fdlib.course.learner import hint, reset, solution

from .toy import SOLUTION, TOY_NAME, posix_only

FRESH = generate(SOLUTION, TOY_NAME)


def backups(course: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((course / ".fdlib" / "backups").glob("*"))]


@pytest.mark.parametrize(
    "content", [SOLUTION.encode(), b"", "# Größe\r\n".encode("latin-1"), "é".encode("utf-16")]
)
def test_what_it_held_is_kept_byte_for_byte(course: Path, content: bytes) -> None:
    exercise_path(91).write_bytes(content)
    said = write_fresh(91)
    assert exercise_path(91).read_text() == FRESH
    assert backups(course) == [content]
    assert said.startswith(f"exercises/{TOY_NAME} is as it was at the start.\nWhat it held is kept")


@posix_only
def test_the_command_that_it_names_brings_it_back(course: Path) -> None:
    exercise_path(91).write_text(SOLUTION)
    command = write_fresh(91).splitlines()[-1]
    subprocess.run(command, shell=True, check=True, cwd=course)
    assert exercise_path(91).read_text() == SOLUTION


def test_a_fresh_file_stays(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reset(91)
    assert capsys.readouterr().out.endswith("nothing was changed.\n")
    assert not (course / ".fdlib" / "backups").exists()


def test_every_reset_keeps_its_own_copy(course: Path) -> None:
    for i in range(3):
        exercise_path(91).write_text(f"# {i}\n")
        write_fresh(91)
    assert sorted(backups(course)) == [b"# 0\n", b"# 1\n", b"# 2\n"]


def test_a_missing_file_is_made(course: Path) -> None:
    exercise_path(91).unlink()
    assert write_fresh(91) == f"exercises/{TOY_NAME} is as it was at the start."
    assert exercise_path(91).read_text() == FRESH


def test_a_missing_folder_is_made_too(course: Path) -> None:
    exercise_path(91).unlink()
    (course / "exercises").rmdir()
    (course / "notebooks").mkdir()
    assert write_fresh(91) == f"exercises/{TOY_NAME} is as it was at the start."
    assert exercise_path(91).read_text() == FRESH


def test_it_is_named_in_full_from_elsewhere(course: Path, tmp_path: Path, monkeypatch) -> None:
    exercise_path(91).write_text("# mine\n")
    monkeypatch.chdir(course / "exercises")
    assert str(course / ".fdlib" / "backups") in write_fresh(91)


@pytest.mark.parametrize("act", [reset, hint, partial(solution, give_up=True)])
def test_a_solution_that_is_missing_is_named(
    course: Path, capsys: pytest.CaptureFixture[str], act: Callable[[int], None]
) -> None:
    solution_path(91).unlink()
    exercise_path(91).write_text("# mine\n")
    act(91)
    said = capsys.readouterr().out
    assert said.startswith(f"{solution_path(91)} is missing: this copy of the course is not compl")
    assert exercise_path(91).read_text() == "# mine\n"


@pytest.mark.parametrize("failing", [".fdlib", "backups", "exercises"])
def test_nothing_is_replaced_that_cannot_be_kept(
    course: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        if Path(target).parent.name == failing:
            raise OSError(28, "No space left on device", str(target))
        real(source, target)

    exercise_path(91).write_text("# mine\n")
    monkeypatch.setattr(os, "replace", replace)
    if failing == ".fdlib":
        (course / ".fdlib").write_text("a file")
    with pytest.raises(Refused, match="was not replaced and is as it was"):
        write_fresh(91)
    assert exercise_path(91).read_text() == "# mine\n"
