from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fdlib.course import catalogue
from fdlib.course.catalogue import EXERCISES, file_of, find, find_by_path, is_own, module_of

from .toy import posix_only


def test_numbers_are_consecutive_and_notebooks_share_them() -> None:
    assert [exercise.number for exercise in EXERCISES] == [1, 2, 3, 4, 5, 6]
    for exercise in EXERCISES:
        assert exercise.notebook == f"{exercise.number:02}_{exercise.slug}"
        assert 1 <= exercise.difficulty <= 5
    assert find(5).module_name == "ex05_flash_decoding"


def test_an_unknown_number_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="got 12, takes one of 1, 2, 3, 4, 5, 6"):
        find(12)


@pytest.mark.parametrize("number", [True, 4.0, "4", None, [4]])
def test_what_is_no_number_is_named(number: object) -> None:
    with pytest.raises(ValueError, match=re.escape(f"got {number!r}, takes one of 1, 2")):
        find(number)


def test_a_file_of_another_exercise_is_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert file_of(4, "mine.py") == tmp_path / "mine.py"
    assert file_of(5, tmp_path / "ex05_anna.py") == tmp_path / "ex05_anna.py"
    for path in ("ex05_flash_decoding.py", Path("handed_in/ex05_anna.py")):
        with pytest.raises(
            ValueError, match=r"got ex05_\w+\.py, a file of exercise 5, for exercise 4"
        ):
            file_of(4, path)
    for nothing in ("", 7, True):
        with pytest.raises(ValueError, match="takes the name of a file"):
            file_of(4, nothing)


@posix_only
@pytest.mark.usefixtures("gone")
def test_where_the_working_directory_is_gone() -> None:
    for ask in (catalogue.course_root, lambda: file_of(4, "mine.py")):
        with pytest.raises(FileNotFoundError, match="cd into your copy of the course"):
            ask()


def test_a_file_is_matched_by_its_number() -> None:
    assert find_by_path(Path("handed_in/ex05_flash_decoding_anna.py")).number == 5
    with pytest.raises(ValueError, match=r"takes a file named like ex05_flash_decoding\.py"):
        find_by_path(Path("notes.py"))


@pytest.mark.parametrize("beside", ["exercises", "notebooks"])
def test_root_is_looked_for_above_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str
) -> None:
    for name in ("solutions", f"{beside}/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "solutions/ex02_online_softmax.py").touch()
    other = tmp_path / beside / "deep"  # another project's folders are none of the course
    for name in ("exercises", "notebooks", "solutions"):
        (other / name).mkdir()
        (other / name / "main.py").touch()
    monkeypatch.chdir(other)
    assert catalogue.exercise_path(2) == tmp_path / "exercises/ex02_online_softmax.py"
    assert catalogue.solution_path(2) == tmp_path / "solutions/ex02_online_softmax.py"


def test_without_a_course_the_error_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "__file__", str(tmp_path / "a/b/c.py"))
    with pytest.raises(FileNotFoundError, match="cd into your copy of the course"):
        catalogue.course_root()


def test_a_file_is_the_learners_own_by_its_place_not_by_its_folders_name(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = catalogue.exercise_path(91)
    assert is_own(91, mine)
    assert is_own(91, f"solutions/../exercises/{mine.name}")
    assert not is_own(91, tmp_path / "anna" / "exercises" / mine.name)
    assert not is_own(91, course / "exercises" / "ex91_toy_sum_anna.py")

    def nowhere() -> Path:
        raise FileNotFoundError("no folder")

    monkeypatch.setattr(catalogue, "course_root", nowhere)
    assert not is_own(91, mine)


@posix_only
def test_a_link_to_itself_is_nobodys_trouble(course: Path) -> None:
    mine = catalogue.exercise_path(91)
    mine.unlink()
    mine.symlink_to(mine.name)
    assert is_own(91, mine)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.module_name)
def test_every_exercise_has_its_checks(exercise: catalogue.Exercise) -> None:
    assert importlib.util.find_spec(exercise.checks_module) is not None


def test_importing_all_checks_imports_no_torch() -> None:
    code = (
        "import sys; from fdlib.course.catalogue import EXERCISES;"
        "from fdlib.course.checks import load_checks;"
        "[load_checks(exercise) for exercise in EXERCISES];"
        "assert not {'torch', 'triton', 'numpy', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=catalogue.course_root(), check=True, timeout=60
    )


def test_a_module_that_is_broken_is_not_one_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a module of hints or mistakes fails to import is said, not taken for "it has none"."""
    import fdlib.course.hints as room

    monkeypatch.setattr(room, "__path__", [*room.__path__, str(tmp_path)])
    (tmp_path / "ex92.py").write_text("import no_such_module_anywhere\n")
    toy, broken = (replace(EXERCISES[0], number=number) for number in (91, 92))
    assert module_of(toy, "hints") is None
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        module_of(broken, "hints")
