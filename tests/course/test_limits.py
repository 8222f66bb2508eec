"""What a learner's code may take: memory, files, processes. And what is left when a run is killed: nothing."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import pytest

from fdlib.course.grading import process, supervise
from fdlib.course.grading.limits import FILE_LIMIT_MB, size
from fdlib.course.grading.runner import check
from fdlib.course.grading.verdict import Verdict

from .toy import DIVIDE, Toy, grade, linux_only, outcomes, posix_only


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which checks make their scratch folders: nothing may be left in it."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@linux_only
@pytest.mark.parametrize(
    "bomb",
    [
        "held = bytearray(10**9)",
        "held = [bytearray(10**6) for _ in range(10**4)]",
        "held = ['x' * 40 + str(i) for i in range(10**8)]",
    ],
)
def test_more_memory_than_allowed_fails_at_the_learners_line(toy: Toy, bomb: str) -> None:
    verdict = grade(toy(divide=f"    {bomb}\n{DIVIDE}"), memory_limit_mb=100)
    assert (verdict.state, outcomes(verdict)) == ("failed", ["passed", "error", "passed"])
    result = verdict.result("mean")
    assert result.location == f"ex91_toy_sum.py:17: {bomb}"
    assert result.message == (
        "It asked for more memory than the 100 MB that a check lets it take (MemoryError)."
    )


@linux_only
def test_memory_that_the_file_keeps_while_it_is_loaded(toy: Toy) -> None:
    verdict = grade(toy("kept = []\nwhile True: kept.append(b'x' * 10**5)\n"), memory_limit_mb=50)
    assert verdict.state == "does not import"
    assert "more memory than the 50 MB" in verdict.message
    assert verdict.location.startswith("ex91_toy_sum.py:2: while True")


@linux_only
def test_the_limit_cannot_be_moved_far_and_holds_for_children(toy: Toy) -> None:
    child = "import sys\ntry: bytearray(10**9)\nexcept MemoryError: sys.exit(7)\n"
    code = f"    import subprocess, sys\n    assert subprocess.run([sys.executable, '-c', {child!r}]).returncode == 7\n"
    verdict = grade(toy(divide=code + DIVIDE), memory_limit_mb=100)
    assert verdict.passed, verdict.checks


@linux_only
def test_all_processes_together_are_ended_above_the_limit(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MOST_MEMORY_MB", 250)
    code = "    import os, time\n    for _ in range(5):\n        os.fork() or (bytearray(10**8), time.sleep(9))\n"
    code = code.replace("(bytearray(10**8), ", "(globals().update(x=b'x' * 10**8), ")
    verdict = grade(toy(divide=f"{code}    time.sleep(9)\n"))
    assert (verdict.state, outcomes(verdict)) == ("crashed", ["passed", "error", "not run"])
    assert verdict.message == (
        "It took more than 250 MB of memory, with the processes that it started, and was ended, "
        "in the check 'mean'."
    )
    assert verdict.location.startswith("ex91_toy_sum.py:")


@linux_only
def test_too_many_processes_are_ended(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_PROCESSES", 30)
    code = "    import os, time\n    for _ in range(6):\n        os.fork()\n    time.sleep(9)\n"
    verdict = grade(toy(divide=code))
    assert verdict.state == "crashed"
    assert verdict.message.startswith("It had more than 30 processes running at a time")
    assert verdict.location == "ex91_toy_sum.py:20: time.sleep(9)"


@posix_only
def test_a_file_without_end_fails_at_the_learners_line(toy: Toy) -> None:
    code = (
        f"    file = open('big', 'wb', 0); file.seek({FILE_LIMIT_MB} * 2**20); file.write(b'x')\n"
    )
    verdict = grade(toy(divide=code))
    result = verdict.result("mean")
    assert result.message == (
        f"It wrote more than {FILE_LIMIT_MB} MB to one file, the most that a check lets it write."
    )
    assert result.location.startswith("ex91_toy_sum.py:17: file = open")
    assert outcomes(verdict) == ["passed", "error", "passed"]


@linux_only
def test_torchs_own_words_are_said_in_plain_units(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "ex02_online_softmax.py"
    path.write_text("import torch\n\nx = torch.ones(10**9)\n")
    verdict = check(path, memory_limit_mb=100)
    assert (verdict.state, verdict.location) == (
        "does not import",
        "ex02_online_softmax.py:3: x = torch.ones(10**9)",
    )
    assert verdict.message == (
        "It asked for more memory than the 100 MB that a check lets it take: 3.72 GB in one piece."
    )


def test_sizes_are_said_in_plain_units() -> None:
    assert [size(100), size(4096), size(6144), size(1500)] == ["100 MB", "4 GB", "6 GB", "1.46 GB"]


DEEP = """    import os
    with open('in the way', 'w'): os.chmod('in the way', 0)
    os.symlink(os.path.expanduser('~'), 'home')
    for _ in range(120):
        os.mkdir('d' * 60)
        os.chdir('d' * 60)
    open('file', 'w').close()
    os.chmod('.', 0o500)
    os.chmod('..', 0)
"""


@posix_only
def test_what_it_left_in_its_folder_is_removed_however_deep(toy: Toy, temporary: Path) -> None:
    verdict = grade(toy(divide=DEEP + DIVIDE))
    assert verdict.passed
    assert list(temporary.iterdir()) == []


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    kept.mkdir()
    (kept / "file").write_text("x")
    folder.mkdir()
    try:
        (folder / "link").symlink_to(kept, target_is_directory=True)
        (tmp_path / "link").symlink_to(kept, target_is_directory=True)
    except OSError:
        pytest.skip("no links here")
    supervise.remove_folder(str(folder))
    supervise.remove_folder(str(tmp_path / "link"))
    assert not folder.exists()
    assert (kept / "file").read_text() == "x"


@posix_only
@pytest.mark.parametrize("after_s", [0.005, 0.02, 0.06, 0.15, 0.3, None])
def test_nothing_is_left_after_a_kill_at_any_moment(
    toy: Toy, temporary: Path, tmp_path: Path, after_s: float | None
) -> None:
    note = tmp_path / "worker"
    write = f"    import os\n    open({str(note)!r}, 'w').write(str(os.getpid()))\n"
    path = toy(divide=write + DEEP + "    while True: pass\n")
    asker = _asks(path)
    if after_s is None:  # while the learner's code runs
        _eventually(note.exists)
    else:
        time.sleep(after_s)
    os.kill(asker, signal.SIGKILL)
    os.waitpid(asker, 0)
    _eventually(lambda: list(temporary.iterdir()) == [] and not _processes_with(str(temporary)))


def _asks(path: Path) -> int:
    """The number of a copy of this process, which knows the toy exercise and checks it."""
    asker = os.fork()
    if asker == 0:
        try:
            check(path, time_limit_s=20)
        finally:
            os._exit(0)
    return asker


def _eventually(holds) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _processes_with(text: str) -> list[str]:
    """Command lines that name the scratch folder: the supervisor's and the worker's."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        found += [line] if text in line else []
    return found


@posix_only
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupted_check_leaves_nothing_and_the_file_as_it_was(
    toy: Toy, temporary: Path, tmp_path: Path, name: str
) -> None:
    note = tmp_path / "worker"
    path = toy(
        divide=f"    open({str(note)!r}, 'w').close()\n    import time; time.sleep(20)\n{DIVIDE}"
    )
    before = path.read_bytes()
    asker = _asks(path)
    _eventually(note.exists)
    os.kill(asker, getattr(signal, name))
    os.waitpid(asker, 0)
    _eventually(lambda: list(temporary.iterdir()) == [] and not _processes_with(str(temporary)))
    assert path.read_bytes() == before


def test_two_checks_of_one_file_at_once_are_both_right(toy: Toy) -> None:
    path = toy(divide="    open('mine', 'x').close()\n    __import__('time').sleep(0.3)\n" + DIVIDE)
    verdicts: list[Verdict] = []
    threads = [threading.Thread(target=lambda: verdicts.append(grade(path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [verdict.state for verdict in verdicts] == ["passed"] * 2


@linux_only
def test_a_supervisor_that_is_killed_or_stopped_costs_its_run_alone(
    toy: Toy, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = grade(toy(divide="    import os; os.kill(os.getppid(), 9)\n    while True: pass\n"))
    assert verdict.state == "crashed"
    monkeypatch.setattr(process, "_SUPERVISOR_S", 0.0)
    stop = "    import faulthandler, os\n    faulthandler.cancel_dump_traceback_later()\n"
    stop += "    os.kill(os.getppid(), 19)\n    sum(range(10**12))\n"
    verdict = check(toy(divide=stop), time_limit_s=1)
    assert verdict.state == "crashed"
    assert list(temporary.iterdir()) == []
    assert grade(toy()).passed
