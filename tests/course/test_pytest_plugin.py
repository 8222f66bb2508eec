"""Runs pytest in a fresh process, in a folder laid out like the course with one toy exercise."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from .course_folder import CONFTEST, run_pytest, solve, toy_course
from .toy import DIVIDE, TOY_NAME

__all__ = ["toy_course"]  # a fixture


def test_solutions_pass(toy_course: Path) -> None:
    status, text = run_pytest(toy_course, "solutions/", "--seed", "12")
    assert status == 0, text
    assert "3 passed" in text
    assert re.search(r"ex91_toy_sum +6/6 +passed", text)
    assert "Same inputs again: --seed 12" in text


def test_plain_pytest_ignores_the_learners_files(toy_course: Path) -> None:
    status, text = run_pytest(toy_course)
    assert (status, "4 passed" in text) == (0, True), text


def test_not_started_fails_the_run_without_a_line_for_each_check(toy_course: Path) -> None:
    status, text = run_pytest(toy_course, "exercises/", "-ra")
    assert status == 1
    assert "3 not started in" in text
    assert "FAILED" not in text
    assert "FAILURES" not in text
    assert re.search(r"ex91_toy_sum +0/6 +not started", text)
    assert "Traceback" not in text


@pytest.mark.parametrize("instead", ["nothing", "folder"])
def test_a_missing_exercise_fails(toy_course: Path, instead: str) -> None:
    path = toy_course / "exercises" / TOY_NAME
    path.unlink()
    if instead == "folder":
        path.mkdir()
    for argument in ("exercises/", "."):
        status, text = run_pytest(toy_course, argument)
        assert status == 1, text
        assert "1 failed" in text
        assert re.search(r"ex91_toy_sum +0/6 +missing", text)
    assert ("is a folder" in text) == (instead == "folder")


def test_pytest_and_check_agree_on_a_placeholder_that_is_never_reached(toy_course: Path) -> None:
    left = '    if False:\n        raise NotImplementedError("write: divide")\n'
    solve(toy_course, divide=left + DIVIDE)
    status, text = run_pytest(toy_course, "exercises")
    assert (status, bool(re.search(r"ex91_toy_sum +6/6 +passed", text))) == (0, True), text


def test_a_failure_is_the_report(toy_course: Path) -> None:
    solve(toy_course, divide="    return total(values)\n")
    status, text = run_pytest(toy_course, f"exercises/{TOY_NAME}")
    assert status == 1
    assert "mean is wrong for 3 values: got 9, expected 3." in text
    assert "Read: notebooks/91_toy.ipynb" in text
    assert re.search(r"ex91_toy_sum +4/6 +failed", text)
    assert "1 failed, 2 passed" in text
    assert "pytest_plugin.py" not in text


def test_a_file_that_breaks_does_not_break_the_run(toy_course: Path) -> None:
    solve(toy_course, divide="    import os; os._exit(0)\n")
    status, text = run_pytest(toy_course, "exercises/", "solutions/", "tests/")
    assert status == 1
    assert "2 failed, 5 passed" in text
    assert re.search(r"ex91_toy_sum +3/6 +crashed", text)
    assert re.search(r"total +9/12", text)


@pytest.mark.parametrize(
    "arguments", [[f"exercises/{TOY_NAME}::total"], ["exercises", "-k", "total"]]
)
def test_one_item_is_selected(toy_course: Path, arguments: list[str]) -> None:
    solve(toy_course, divide="    return total(values)\n")
    status, text = run_pytest(toy_course, *arguments)
    assert status == 0, text
    assert "1 passed" in text


def test_handed_in_files_are_graded_where_they_lie(toy_course: Path) -> None:
    solve(toy_course, name="anna/ex91_toy_sum.py")
    solve(toy_course, name="ben/ex91_toy_sum_late.py")
    status, text = run_pytest(toy_course, "anna", "ben/ex91_toy_sum_late.py")
    assert (status, "6 passed" in text) == (0, True), text
    assert "total" in text
    assert "12/12" in text


GPU = """
from dataclasses import replace
from fdlib.course.grading import runner
from fdlib.course.grading.verdict import CheckResult

def _check(*args, check=runner.check, **options):
    verdict = check(*args, **options)
    result = CheckResult("gpu", "On the GPU.", 0, "failed", "NaN on the GPU.")
    return replace(verdict, state="failed", checks=(*verdict.checks, result))

runner.check = _check
"""


def test_what_fails_only_on_the_gpu_fails_the_last_item(toy_course: Path) -> None:
    solve(toy_course)
    (toy_course / "conftest.py").write_text(CONFTEST + GPU)
    status, text = run_pytest(toy_course, f"exercises/{TOY_NAME}")
    assert (status, "1 failed, 2 passed" in text, "NaN on the GPU." in text) == (1, True, True)


def test_a_file_is_run_once(toy_course: Path) -> None:
    solve(toy_course)
    path = toy_course / "exercises" / TOY_NAME
    count = toy_course / "count"
    path.write_text(f"open({str(count)!r}, 'a').write('x')\n" + path.read_text())
    assert run_pytest(toy_course, "exercises")[0] == 0
    assert count.read_text() == "x"


REFUSES = """
from fdlib.course.grading import runner

def _check(*args, **options):
    open("count", "a").write("x")
    raise RuntimeError("There is no torch.")

runner.check = _check
"""


def test_a_machine_that_cannot_check_is_asked_once(toy_course: Path) -> None:
    solve(toy_course)
    (toy_course / "conftest.py").write_text(CONFTEST + REFUSES)
    status, text = run_pytest(toy_course, f"exercises/{TOY_NAME}")
    assert (status, "3 failed" in text) == (1, True), text
    assert text.count("\nThere is no torch.\n") == 3
    assert (toy_course / "count").read_text() == "x"


def test_the_file_is_never_imported_byrun_pytest(toy_course: Path) -> None:
    (toy_course / "exercises" / TOY_NAME).write_text("import os\nos._exit(7)\n")
    status, text = run_pytest(toy_course, f"exercises/{TOY_NAME}", "--collect-only", "-q")
    assert (status, "3 tests collected" in text) == (0, True), text


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist")
def test_the_table_is_right_with_xdist(toy_course: Path) -> None:
    solve(toy_course, divide="    return total(values)\n")
    xdist = ["-p", "xdist", "-n", "2", "--dist", "load", "--seed", "12"]
    xdist += ["--scores", "s.json"]
    status, text = run_pytest(toy_course, "exercises/", "tests/", *xdist)
    assert status == 1
    assert "1 failed, 3 passed" in text
    assert len(re.findall(r"ex91_toy_sum +4/6 +failed", text)) == 1
    assert "--seed 12" in text
    assert json.loads((toy_course / "s.json").read_text())["points"] == 4


def test_other_folders_and_names_are_left_alone(toy_course: Path) -> None:
    (toy_course / "exercises/ex04_of_somebody_else.py").write_text("x = 1\n")
    (toy_course / "exercises/example.py").write_text("x = 1\n")
    _, text = run_pytest(toy_course, "exercises", "--collect-only", "-q")
    assert "3 tests collected" in text
