from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from fdlib.course.catalogue import exercise_path
from fdlib.course.reading import LONGEST_BYTES
from fdlib.course.watch import saves, watch

from .toy import SOLUTION, posix_only

ROOT = Path(__file__).resolve().parents[2]


class Clock:
    """Stands for `time.sleep`: at each call the next step is done; after the last, it interrupts."""

    def __init__(self, path: Path, steps: Iterable[object]) -> None:
        self.path, self.steps = path, iter(steps)

    def __call__(self, seconds: float) -> None:
        try:
            step = next(self.steps)
        except StopIteration:
            raise KeyboardInterrupt from None
        if isinstance(step, str):
            self.path.write_text(step)
        elif callable(step):
            step()


def seen(path: Path, *steps: object) -> list[str]:
    found = []
    try:
        for each in saves([path], Clock(path, steps)):
            found.append(each.read_text() if each.is_file() else "gone")
    except KeyboardInterrupt:
        pass
    return found


def test_a_save_is_seen_once(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("1")
    assert seen(path, None, "2", None, None, None, "3", None, None, None) == ["2", "3"]


def test_a_save_in_steps_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("1")
    assert seen(path, "", "de", "def", None, None, None) == ["def"]


def test_the_same_text_is_not_checked_again(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("1")
    assert seen(path, "1", None, "2", "1", None, None) == []


def test_an_editor_that_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("1")

    def replace() -> None:
        (tmp_path / "new").write_text("2")
        os.replace(tmp_path / "new", path)

    assert seen(path, path.unlink, replace, None, None) == ["2"]


def test_a_deleted_file_is_said_once_and_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("1")
    assert seen(path, path.unlink, None, None, None, None, "2", None, None) == ["gone", "2"]


@posix_only
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    os.mkfifo(path)
    assert seen(path, None, path.unlink, "2", None, None) == ["2"]


def test_a_long_file_is_told_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("#" * (LONGEST_BYTES + 1))
    assert seen(path, "#" * (LONGEST_BYTES + 2), None, "2", None, None)[1:] == ["2"]


def test_what_is_printed(course: Path, capsys: pytest.CaptureFixture, monkeypatch) -> None:
    path = exercise_path(91)
    steps = [SOLUTION, None, path.unlink, None, None, path.mkdir, None, None]
    monkeypatch.setattr("fdlib.course.watch.saves", lambda paths: saves(paths, Clock(path, steps)))
    with pytest.raises(KeyboardInterrupt):
        watch([91])
    said = capsys.readouterr().out
    assert said.startswith("Watching exercises/ex91_toy_sum.py.\nSave a file")
    assert "Add and average: passed, 6 of 6" in said
    assert said.count("is gone; waiting for it to come back.") == 1
    assert "is a folder" not in said  # nothing to check: as gone as before


def test_what_cannot_be_checked_here_does_not_end_it(
    course: Path, capsys: pytest.CaptureFixture, monkeypatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("There is no Triton.")

    path = exercise_path(91)
    steps = [SOLUTION, None, None, SOLUTION + "# again\n", None, None]
    monkeypatch.setattr("fdlib.course.watch.saves", lambda paths: saves(paths, Clock(path, steps)))
    monkeypatch.setattr("fdlib.course.grading.runner.check", refuse)
    with pytest.raises(KeyboardInterrupt):
        watch([91])
    assert capsys.readouterr().err == "fdlib: There is no Triton.\n" * 2


@posix_only
def test_ctrl_c_ends_it_well(tmp_path: Path) -> None:
    for name in ("exercises", "solutions"):
        (tmp_path / name).mkdir()
    (tmp_path / "solutions" / "ex04_decode_bottleneck.py").touch()
    command = [sys.executable, "-u", "-m", "fdlib", "watch", "4"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline().startswith(b"Watching exercises/ex04")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.stdout.close()
