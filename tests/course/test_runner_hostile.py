"""Files that crash, hang, leave processes behind or flood: said so, and the run goes on."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from fdlib.course.grading.runner import check

from .toy import Toy, grade, outcomes, posix_only

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a subreaper")
LEFT = "It left processes running; they were ended."


def test_sys_exit_is_an_error_and_the_run_goes_on(toy: Toy) -> None:
    verdict = grade(toy(divide="    import sys; sys.exit(0)\n"))
    assert outcomes(verdict) == ["passed", "error", "passed"]
    assert verdict.result("mean").message == "It called sys.exit(0)."


def test_infinite_recursion_is_an_error_and_the_run_goes_on(toy: Toy) -> None:
    verdict = grade(toy(divide="    return mean(values)\n"))
    assert outcomes(verdict) == ["passed", "error", "passed"]
    assert "RecursionError" in verdict.result("mean").message


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os._exit(0)", "exit status 0"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "SIGKILL", marks=posix_only),
        pytest.param("import ctypes; ctypes.string_at(1)", "SIGSEGV", marks=posix_only),
    ],
)
def test_a_crash_keeps_what_came_before(toy: Toy, code: str, reason: str) -> None:
    verdict = grade(toy(divide=f"    {code}\n"))
    assert (verdict.state, verdict.points) == ("crashed", 3)
    assert f"The process ended: {reason}" in verdict.message
    assert verdict.message.endswith(", in the check 'mean'.")
    assert outcomes(verdict) == ["passed", "error", "not run"]
    if reason == "SIGSEGV":
        assert verdict.location == f"ex91_toy_sum.py:17: {code}"


def test_a_crash_while_loading(toy: Toy) -> None:
    verdict = grade(toy("import os\nos._exit(3)\n"))
    assert verdict.state == "crashed"
    assert verdict.message == "The process ended: exit status 3, while the file was loaded."


def test_an_endless_loop_is_ended_and_its_line_named(toy: Toy) -> None:
    verdict = grade(toy(divide="    while True:\n        pass\n"))
    assert (verdict.state, verdict.points) == ("timed out", 3)
    assert verdict.message == "It was still running after 3 s, in the check 'mean'."
    assert verdict.location.startswith(("ex91_toy_sum.py:17: while", "ex91_toy_sum.py:18: pass"))
    assert outcomes(verdict) == ["passed", "error", "not run"]


@posix_only
def test_a_file_that_stops_the_inner_clock_is_killed_from_outside(toy: Toy) -> None:
    code = "    import faulthandler\n    faulthandler.cancel_dump_traceback_later()\n"
    verdict = grade(toy(divide=f"{code}    while True: pass\n"))
    assert (verdict.state, verdict.points, verdict.seconds < 6) == ("timed out", 3, True)


@posix_only
def test_processes_left_behind_are_ended_and_noted(toy: Toy, tmp_path: Path) -> None:
    note = tmp_path / "child"
    code = (
        "    import subprocess\n"
        "    child = subprocess.Popen(['sleep', '600'])\n"
        f"    open({str(note)!r}, 'w').write(str(child.pid))\n"
    )
    verdict = grade(toy(divide=code + "    return total(values) / len(values)\n"))
    assert verdict.state == "passed"
    assert verdict.notes == (LEFT,)
    assert not _is_running(int(note.read_text()))


@linux_only
def test_a_child_in_a_session_of_its_own_is_ended_too(toy: Toy, tmp_path: Path) -> None:
    note = tmp_path / "child"
    code = (
        "    import os, subprocess, sys\n"
        '    inner = \'import subprocess; print(subprocess.Popen(["sleep", "600"]).pid)\'\n'
        "    made = subprocess.run([sys.executable, '-c', inner], start_new_session=True,\n"
        "        stdout=subprocess.PIPE)\n"
        f"    open({str(note)!r}, 'wb').write(made.stdout)\n"
    )
    code = code.replace('["sleep", "600"]', '["sleep", "600"], stdout=2, env={}')
    verdict = grade(toy(divide=code + "    return 3.0\n"))
    assert (verdict.state, verdict.notes) == ("passed", (LEFT,))
    assert not _is_running(int(note.read_text()))


@posix_only
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_the_worker_ends_with_whoever_asked(toy: Toy, tmp_path: Path, name: str) -> None:
    note = tmp_path / "worker"
    path = toy(
        divide=f"    import os\n    open({str(note)!r}, 'w').write(f'{{os.getpid()}} ')\n"
        "    while True: pass\n"
    )
    asker = os.fork()  # it knows the toy exercise
    if asker == 0:
        try:
            check(path, time_limit_s=30)
        finally:
            os._exit(0)
    for _ in range(500):
        time.sleep(0.02)
        if note.exists() and note.read_text().endswith(" "):
            break
    os.kill(asker, getattr(signal, name))
    os.waitpid(asker, 0)
    assert not _is_running(int(note.read_text()))


@posix_only
def test_a_forked_copy_does_not_answer_as_well(toy: Toy) -> None:
    code = "    import os\n    os.fork()\n    return total(values) / len(values)\n"
    verdict = grade(toy(divide=code))
    assert outcomes(verdict) == ["passed"] * 3


def _is_running(process: int) -> bool:
    for _ in range(50):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        state = Path(f"/proc/{process}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return False  # ended, not yet reaped by whoever adopted it
        time.sleep(0.02)
    return True


def test_megabytes_of_output_are_cut(toy: Toy) -> None:
    verdict = grade(toy(divide="    print('x' * 4_000_000)\n" + "    return 3.0\n"))
    assert verdict.state == "passed"
    assert len(verdict.output) < 20_000
    assert verdict.output_bytes == 4_000_001


def test_output_does_not_disturb_the_results(toy: Toy) -> None:
    code = (
        '    import sys\n    print(\'{"event": "done"}\', file=sys.stderr)\n    sys.stdout = None\n'
    )
    verdict = grade(toy(divide=code + "    return 3.0\n"))
    assert (verdict.state, verdict.output) == ("passed", '{"event": "done"}\n')


@posix_only
def test_closed_descriptors_do_not_disturb_the_results(toy: Toy) -> None:
    verdict = grade(toy(divide="    import os; os.closerange(0, 100)\n    return 3.0\n"))
    assert outcomes(verdict) == ["passed"] * 3


def test_input_is_not_waited_for(toy: Toy) -> None:
    verdict = grade(toy(divide="    return float(input())\n"))
    assert "EOFError" in verdict.result("mean").message


@posix_only
def test_an_interrupt_ends_the_group(toy: Toy, tmp_path: Path) -> None:
    note = tmp_path / "worker"
    code = (
        f"    import os\n    open({str(note)!r}, 'w').write(str(os.getpid()))\n"
        f"    os.kill({os.getpid()}, {int(signal.SIGINT)})\n    while True: pass\n"
    )
    path = toy(divide=code)
    with pytest.raises(KeyboardInterrupt):
        check(path, time_limit_s=20)
    assert not _is_running(int(note.read_text()))


def test_a_file_beside_it_shadows_nothing(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    path = toy()
    (path.parent / "random.py").write_text("raise SystemExit\n")
    monkeypatch.chdir(path.parent)
    assert grade(path).state == "passed"
