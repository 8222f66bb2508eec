"""Runs pytest in a fresh process, in a folder laid out like the course with one toy exercise."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fdlib.course.build import build

from .toy import CHECKS, DIVIDE, SOLUTION, TOY_NAME

CONFTEST = """
from pathlib import Path
import fdlib.course.checks
from fdlib.course import catalogue

fdlib.course.checks.__path__.append(str(Path(__file__).parent / "toy_checks"))
catalogue.EXERCISES = (
    catalogue.Exercise(91, "toy_sum", "Add and average", "91_toy", "python", 5, 1),
)
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    files = {
        "pytest.ini": "[pytest]\ntestpaths = tests solutions\naddopts = -p no:cacheprovider\n",
        "conftest.py": CONFTEST,
        "toy_checks/ex91.py": CHECKS,
        f"solutions/{TOY_NAME}": SOLUTION,
        "tests/test_ordinary.py": "def test_ordinary():\n    pass\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    build(tmp_path / "exercises", source=tmp_path / "solutions")
    return tmp_path


def _pytest(course: Path, *arguments: str) -> tuple[int, str]:
    paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = dict(
        os.environ,
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",  # the same whatever else is installed
        PYTHONPATH=os.pathsep.join(filter(None, paths)),
    )
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-p", "fdlib.course.pytest_plugin", *arguments]
    done = subprocess.run(
        command, cwd=course, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def _solve(course: Path, divide: str = DIVIDE, name: str = f"exercises/{TOY_NAME}") -> None:
    (course / name).parent.mkdir(exist_ok=True)
    (course / name).write_text(SOLUTION.replace(DIVIDE, divide))


def test_solutions_pass(course: Path) -> None:
    status, text = _pytest(course, "solutions/", "--seed", "12")
    assert status == 0, text
    assert "3 passed" in text
    assert re.search(r"ex91_toy_sum +6/6 +passed", text)
    assert "Same inputs again: --seed 12" in text


def test_plain_pytest_ignores_the_learners_files(course: Path) -> None:
    status, text = _pytest(course)
    assert (status, "4 passed" in text) == (0, True), text


def test_not_started_fails_the_run_without_a_line_for_each_check(course: Path) -> None:
    status, text = _pytest(course, "exercises/", "-ra")
    assert status == 1
    assert "3 not started in" in text
    assert "FAILED" not in text
    assert "FAILURES" not in text
    assert re.search(r"ex91_toy_sum +0/6 +not started", text)
    assert "Traceback" not in text


@pytest.mark.parametrize("instead", ["nothing", "folder"])
def test_a_missing_exercise_fails(course: Path, instead: str) -> None:
    path = course / "exercises" / TOY_NAME
    path.unlink()
    if instead == "folder":
        path.mkdir()
    for argument in ("exercises/", "."):
        status, text = _pytest(course, argument)
        assert status == 1, text
        assert "1 failed" in text
        assert re.search(r"ex91_toy_sum +0/6 +missing", text)
    assert ("is a folder" in text) == (instead == "folder")


def test_pytest_and_check_agree_on_a_placeholder_that_is_never_reached(course: Path) -> None:
    left = '    if False:\n        raise NotImplementedError("write: divide")\n'
    _solve(course, divide=left + DIVIDE)
    status, text = _pytest(course, "exercises")
    assert (status, bool(re.search(r"ex91_toy_sum +6/6 +passed", text))) == (0, True), text


def test_a_failure_is_the_report(course: Path) -> None:
    _solve(course, divide="    return total(values)\n")
    status, text = _pytest(course, f"exercises/{TOY_NAME}")
    assert status == 1
    assert "mean is wrong for 3 values: got 9, expected 3." in text
    assert "Read: notebooks/91_toy.ipynb" in text
    assert re.search(r"ex91_toy_sum +4/6 +failed", text)
    assert "1 failed, 2 passed" in text
    assert "pytest_plugin.py" not in text


def test_a_file_that_breaks_does_not_break_the_run(course: Path) -> None:
    _solve(course, divide="    import os; os._exit(0)\n")
    status, text = _pytest(course, "exercises/", "solutions/", "tests/")
    assert status == 1
    assert "2 failed, 5 passed" in text
    assert re.search(r"ex91_toy_sum +3/6 +crashed", text)
    assert re.search(r"total +9/12", text)


@pytest.mark.parametrize(
    "arguments", [[f"exercises/{TOY_NAME}::total"], ["exercises", "-k", "total"]]
)
def test_one_item_is_selected(course: Path, arguments: list[str]) -> None:
    _solve(course, divide="    return total(values)\n")
    status, text = _pytest(course, *arguments)
    assert status == 0, text
    assert "1 passed" in text


def test_handed_in_files_are_graded_where_they_lie(course: Path) -> None:
    _solve(course, name="anna/ex91_toy_sum.py")
    _solve(course, name="ben/ex91_toy_sum_late.py")
    status, text = _pytest(course, "anna", "ben/ex91_toy_sum_late.py")
    assert (status, "6 passed" in text) == (0, True), text
    assert "total" in text
    assert "12/12" in text


def test_a_file_is_run_once(course: Path) -> None:
    _solve(course)
    path = course / "exercises" / TOY_NAME
    count = course / "count"
    path.write_text(f"open({str(count)!r}, 'a').write('x')\n" + path.read_text())
    assert _pytest(course, "exercises")[0] == 0
    assert count.read_text() == "x"


def test_the_file_is_never_imported_by_pytest(course: Path) -> None:
    (course / "exercises" / TOY_NAME).write_text("import os\nos._exit(7)\n")
    status, text = _pytest(course, f"exercises/{TOY_NAME}", "--collect-only", "-q")
    assert (status, "3 tests collected" in text) == (0, True), text


def test_the_report_goes_to_junit_too(course: Path) -> None:
    _pytest(course, "exercises", "--junit-xml", "scores.xml")
    assert (course / "scores.xml").read_text().count("is not started") >= 3


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist")
@pytest.mark.parametrize("distribution", ["load", "loadgroup"])
def test_the_table_is_right_with_xdist(course: Path, distribution: str) -> None:
    _solve(course, divide="    return total(values)\n")
    xdist = ["-p", "xdist", "-n", "2", "--dist", distribution, "--seed", "12"]
    status, text = _pytest(course, "exercises/", "tests/", *xdist)
    assert status == 1
    assert "1 failed, 3 passed" in text
    assert len(re.findall(r"ex91_toy_sum +4/6 +failed", text)) == 1
    assert "--seed 12" in text


def test_other_folders_and_names_are_left_alone(course: Path) -> None:
    (course / "exercises/ex04_of_somebody_else.py").write_text("x = 1\n")
    (course / "exercises/example.py").write_text("x = 1\n")
    _, text = _pytest(course, "exercises", "--collect-only", "-q")
    assert "3 tests collected" in text
