"""Runs pytest in a fresh process, in a folder laid out like the course with one toy exercise."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

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
    _solve(course, divide='    print("\\x1b[31m<b>", "\\x00")\n    return total(values)\n')
    assert _pytest(course, "exercises", "--junit-xml", "scores.xml", "--seed", "7")[0] == 1
    cases = {
        case.get("name"): case for case in ElementTree.parse(course / "scores.xml").iter("testcase")
    }
    messages = {
        name: [f.get("message") for f in case.iter("failure")] for name, case in cases.items()
    }
    assert messages["total"] == messages["empty"] == []
    assert "mean is wrong for 3 values: got 9, expected 3." in messages["mean"][0]
    assert "<b> \\x00" in messages["mean"][0]
    said = {
        name: {p.get("name"): p.get("value") for p in case.iter("property")}
        for name, case in cases.items()
    }
    assert said["total"]["points"] == said["total"]["max_points"] == "3"
    mean = {"exercise": "ex91_toy_sum", "state": "failed", "points": "0", "max_points": "2"}
    assert said["mean"] == mean | {"mistake": "", "seed": "7"}


def test_junit_says_what_is_not_started(course: Path) -> None:
    _pytest(course, "exercises", "--junit-xml", "scores.xml")
    failures = list(ElementTree.parse(course / "scores.xml").iter("failure"))
    assert ["is not started" in (each.get("message") or "") for each in failures] == [True] * 3


def test_scores_are_written_for_programs(course: Path) -> None:
    _solve(course, divide="    return total(values)\n")
    status, text = _pytest(course, "exercises", "solutions", "--scores", "s.json", "--seed", "7")
    assert status == 1, text
    data = json.loads((course / "s.json").read_text())
    assert (data["points"], data["max_points"], data["seed"], data["complete"]) == (10, 12, 7, True)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", data["date"])
    states = {Path(each["path"]).parent.name: each["state"] for each in data["exercises"]}
    assert states == {"exercises": "failed", "solutions": "passed"}
    assert [each["outcome"] for each in data["exercises"][0]["checks"]] == [
        "passed",
        "failed",
        "passed",
    ]
    assert "not run" not in json.dumps(data)


@pytest.mark.parametrize(
    ("scores", "said"), [("no/s.json", "no is not there; make it"), ("tests", "is a folder")]
)
def test_scores_that_cannot_be_written_are_refused_before_grading(
    course: Path, scores: str, said: str
) -> None:
    _solve(course)
    status, text = _pytest(course, "exercises", "--scores", scores)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --scores: " in text
    assert said in text
    assert "passed" not in text


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist")
@pytest.mark.parametrize("distribution", ["load", "loadgroup"])
def test_the_table_is_right_with_xdist(course: Path, distribution: str) -> None:
    _solve(course, divide="    return total(values)\n")
    xdist = ["-p", "xdist", "-n", "2", "--dist", distribution, "--seed", "12"]
    xdist += ["--scores", "s.json"]
    status, text = _pytest(course, "exercises/", "tests/", *xdist)
    assert status == 1
    assert "1 failed, 3 passed" in text
    assert len(re.findall(r"ex91_toy_sum +4/6 +failed", text)) == 1
    assert "--seed 12" in text
    assert json.loads((course / "s.json").read_text())["points"] == 4


def test_other_folders_and_names_are_left_alone(course: Path) -> None:
    (course / "exercises/ex04_of_somebody_else.py").write_text("x = 1\n")
    (course / "exercises/example.py").write_text("x = 1\n")
    _, text = _pytest(course, "exercises", "--collect-only", "-q")
    assert "3 tests collected" in text
