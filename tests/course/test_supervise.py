"""The process between a check and its worker: whose clock runs when, and who is still there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fdlib.course.checks
from fdlib.course import catalogue
from fdlib.course.grading import process, supervise
from fdlib.course.grading.judge import refusal
from fdlib.course.grading.process import Ended, supervised
from fdlib.course.grading.runner import check
from fdlib.course.grading.steps import Run

from .toy import Toy, linux_only


@pytest.fixture
def slow(toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy answer, in a worker that takes two seconds to be set up."""
    checks = tmp_path / "toy_checks/ex91.py"
    wait = "import os, time\nif os.environ.get('SLOW'): time.sleep(2)\n"
    checks.write_text(wait + checks.read_text())
    fdlib.course.checks.load_checks(catalogue.find(91))
    monkeypatch.setenv("SLOW", "1")
    return toy()


def test_setting_up_is_not_on_the_learners_clock(slow: Path) -> None:
    verdict = check(slow, time_limit_s=1)
    assert verdict.passed, verdict.message
    assert verdict.seconds > 2


def test_setting_up_has_a_limit_of_its_own(slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "SETUP_LIMIT_S", 1.0)
    with pytest.raises(RuntimeError, match=r"torch most of all, took more than 1 s: this machine"):
        check(slow, time_limit_s=60)


def looks(*seen: dict[int, int]) -> Callable[[], dict[int, int]]:
    """A `_descendants` that sees this, one look after the other, and then nothing."""
    waiting = list(seen)
    return lambda: waiting.pop(0) if waiting else {}


@linux_only
def test_one_look_that_sees_nobody_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between listing and reading, the only one seen had forked and ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    ended.wait()
    monkeypatch.setattr(supervise, "_descendants", looks({}, {7: 1}))
    assert supervise._others_run(ended)
    assert not supervise._others_run(ended)
    killed: list[int] = []
    monkeypatch.setattr(supervise, "_descendants", looks({}, {7: 1}, {}, {8: 1}))
    monkeypatch.setattr(os, "kill", lambda number, signal: killed.append(number))
    supervise._end_all(ended)
    assert killed == [7, 8]


def test_a_supervisor_that_fails_says_why(tmp_path: Path) -> None:
    with supervised() as group:
        there = {"cwd": tmp_path, "env": dict(os.environ), "time_limit_s": 5.0}
        ended = group.run([str(tmp_path / "no such command")], **there)
    assert ended.trouble.startswith(("FileNotFoundError: ", "PermissionError: "))
    assert refusal(Run({"word": "w"}, "", "", ended)) == ended.trouble


def test_a_process_that_ends_before_it_is_ready_gives_its_status() -> None:
    ended = Ended(3, "", 0, "", 6144, False, 1.0)
    assert refusal(Run({"word": "w"}, "", "", ended)) == "The process ended: exit status 3"


def test_no_process_to_be_had_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    why = r"No process can be started here\. .*unavailable"
    with pytest.raises(RuntimeError, match=why), supervised():
        pass
