from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from fdlib.course.gradebook import Gradebook

from .course_folder import run_pytest, solve, toy_course
from .verdicts import FAILED

__all__ = ["toy_course"]  # a fixture

SAID = {"fdlib_verdict": FAILED.to_dict()}
REFUSED = {"fdlib_not_graded": ("/h/ex06_y.py", "There is no torch.")}


def _finish(file: Path, status: int = 1) -> tuple[int, list[str]]:
    """(exit status, what the terminal shows) of a run with one file graded and one not."""
    book = Gradebook(lambda: 42, file)
    for report in (SAID, SAID, REFUSED, {}):
        book.pytest_runtest_logreport(SimpleNamespace(**report))
    options = SimpleNamespace(collectonly=False)
    session = SimpleNamespace(config=SimpleNamespace(option=options), exitstatus=status)
    book.pytest_sessionfinish(session, status)
    lines: list[str] = []
    reporter = SimpleNamespace(
        section=lines.append, write_line=lambda line, **_: lines.append(line)
    )
    book.pytest_terminal_summary(reporter)
    return session.exitstatus, lines


def test_each_file_counts_once_and_what_could_not_be_graded_is_named(tmp_path: Path) -> None:
    status, lines = _finish(tmp_path / "s.json")
    data = json.loads((tmp_path / "s.json").read_text())
    assert (status, data["complete"]) == (1, True)
    assert [each["path"] for each in data["exercises"]] == ["/h/ex05_x.py"]
    assert data["not_graded"] == [{"path": "/h/ex06_y.py", "message": "There is no torch."}]
    assert lines[0] == "scores"
    assert "ex06_y         -  not graded" in lines[1]
    assert lines[-1] == "Same inputs again: --seed 42"


def test_an_interrupted_run_is_not_complete(tmp_path: Path) -> None:
    _finish(tmp_path / "s.json", pytest.ExitCode.INTERRUPTED)
    assert json.loads((tmp_path / "s.json").read_text())["complete"] is False


def test_scores_that_cannot_be_written_in_the_end_fail_the_run(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    file = tmp_path / "gone" / "s.json"
    shutil.rmtree(tmp_path / "gone")
    status, lines = _finish(file, 0)
    assert status == pytest.ExitCode.INTERNAL_ERROR
    assert lines[-1] == f"The scores were not written to {file}: No such file or directory."


def test_the_report_goes_to_junit_too(toy_course: Path) -> None:
    solve(toy_course, divide='    print("\\x1b[31m<b>", "\\x00")\n    return total(values)\n')
    assert run_pytest(toy_course, "exercises", "--junit-xml", "scores.xml", "--seed", "7")[0] == 1
    cases = {
        case.get("name"): case
        for case in ElementTree.parse(toy_course / "scores.xml").iter("testcase")
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


def test_junit_says_what_is_not_started(toy_course: Path) -> None:
    run_pytest(toy_course, "exercises", "--junit-xml", "scores.xml")
    failures = list(ElementTree.parse(toy_course / "scores.xml").iter("failure"))
    assert ["is not started" in (each.get("message") or "") for each in failures] == [True] * 3


def test_scores_are_written_for_programs(toy_course: Path) -> None:
    solve(toy_course, divide="    return total(values)\n")
    status, text = run_pytest(
        toy_course, "exercises", "solutions", "--scores", "s.json", "--seed", "7"
    )
    assert status == 1, text
    data = json.loads((toy_course / "s.json").read_text())
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
    toy_course: Path, scores: str, said: str
) -> None:
    solve(toy_course)
    status, text = run_pytest(toy_course, "exercises", "--scores", scores)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --scores: " in text
    assert said in text
    assert "passed" not in text
