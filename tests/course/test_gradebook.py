from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from fdlib.course.gradebook import Gradebook

from .verdicts import FAILED

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
