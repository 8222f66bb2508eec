"""Code that does not end, or ends what it should not: one clear sentence, and the run goes on."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from fdlib import cli
from fdlib.course.catalogue import exercise_path
from fdlib.course.grading.runner import check

from .course_folder import run_pytest, solve, toy_course
from .toy import (
    DIVIDE,
    KERNEL,
    SOLUTION,
    TOY_NAME,
    Toy,
    grade,
    is_running,
    linux_only,
    needs_triton,
    outcomes,
    posix_only,
)

__all__ = ["toy_course"]  # a fixture

LEFT = "It left processes running; they were ended."
UNPRINTABLE = """\
    class Bad(Exception):
        def __str__(self): raise SystemExit
        __repr__ = __str__
    raise Bad
"""
DOUBLE_FORK = """\
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
"""


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import time; time.sleep(60)", 17),
        pytest.param("sum(range(10**12))", 17, marks=posix_only),
        ("import threading; threading.Event().wait()", 17),
        ("while True: pass", 17),
    ],
)
def test_what_never_ends_is_ended_at_its_line(toy: Toy, code: str, line: int) -> None:
    verdict = check(toy(divide=f"    {code}\n"), time_limit_s=1)
    assert (verdict.state, verdict.points, verdict.seconds < 30) == ("timed out", 3, True)
    assert verdict.message == "It was still running after 1 s, in the check 'mean'."
    assert verdict.location == f"ex91_toy_sum.py:{line}: {code}"
    assert outcomes(verdict) == ["passed", "error", "not run"]


@posix_only
def test_a_file_that_stops_the_inner_clock_is_killed_from_outside(toy: Toy) -> None:
    code = "    import faulthandler\n    faulthandler.cancel_dump_traceback_later()\n"
    verdict = check(toy(divide=f"{code}    sum(range(10**12))\n"), time_limit_s=1)
    assert (verdict.state, verdict.points, verdict.seconds < 30) == ("timed out", 3, True)


@needs_triton
def test_a_loop_without_end_in_a_kernel(kernels: Toy) -> None:
    endless = "    i = 0\n    while i < 1:\n        i = i * 1\n"
    verdict = check(
        kernels(KERNEL.replace("    value = tl", f"{endless}    value = tl")), time_limit_s=5
    )
    assert verdict.state == "timed out"
    assert verdict.message == "It was still running after 5 s, in the check 'double'."
    assert re.match(r"ex91_toy_sum.py:(10|11): ", verdict.location)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os._exit(0)", "exit status 0"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "SIGKILL", marks=posix_only),
        pytest.param("import ctypes; ctypes.string_at(1)", "SIGSEGV", marks=posix_only),
        pytest.param("import os; os.abort()", "SIGABRT", marks=posix_only),
    ],
)
def test_a_crash_keeps_what_came_before(toy: Toy, code: str, reason: str) -> None:
    verdict = grade(toy(divide=f"    {code}\n"))
    assert (verdict.state, verdict.points) == ("crashed", 3)
    assert f"The process ended: {reason}" in verdict.message
    assert verdict.message.endswith(", in the check 'mean'.")
    assert outcomes(verdict) == ["passed", "error", "not run"]
    if reason in {"SIGSEGV", "SIGABRT"}:
        assert verdict.location == f"ex91_toy_sum.py:17: {code}"


def test_a_crash_while_loading(toy: Toy) -> None:
    verdict = grade(toy("import os\nos._exit(3)\n"))
    assert verdict.state == "crashed"
    assert verdict.message == "The process ended: exit status 3, while the file was loaded."


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("    import sys; sys.exit(0)\n", "It called sys.exit(0)."),
        ("    quit()\n", "It called sys.exit(None)."),
        (
            "    (lambda f: f(f))(lambda f: f(f))\n",
            "RecursionError: maximum recursion depth exceeded",
        ),
        ("    raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("    raise GeneratorExit\n", "GeneratorExit"),
        (UNPRINTABLE, "Bad: (its message cannot be shown)"),
    ],
)
def test_exceptions_of_every_kind_are_errors(toy: Toy, code: str, message: str) -> None:
    verdict = grade(toy(divide=code))
    assert outcomes(verdict) == ["passed", "error", "passed"]
    assert verdict.result("mean").message.startswith(message)
    at_import = grade(toy("def go():\n" + code + "go()\n"))
    assert at_import.state == "does not import"
    assert at_import.message.startswith(message)


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
    assert not is_running(int(note.read_text()))


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
    assert not is_running(int(note.read_text()))


@linux_only
def test_a_twice_forked_child_is_ended_and_noted(toy: Toy) -> None:
    verdict = grade(toy(divide=DOUBLE_FORK + DIVIDE))
    assert verdict.passed
    assert verdict.notes == (LEFT,)


def test_threads_left_behind_do_not_hold_the_verdict(toy: Toy) -> None:
    code = "    import threading, time\n    for _ in range(5):\n"
    code += "        threading.Thread(target=time.sleep, args=(60,)).start()\n"
    verdict = grade(toy(divide=code + DIVIDE))
    assert (verdict.state, verdict.seconds < 30) == ("passed", True)


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
    assert not is_running(int(note.read_text()))


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
    assert not is_running(int(note.read_text()))


@linux_only
@pytest.mark.parametrize(
    ("code", "said", "points"),
    [
        ("    held = bytearray(10**13)\n", "It asked for more memory than the 4 GB", "4/6"),
        ("    import os; os.abort()\n", "The process ended: SIGABRT", "3/6"),
        ("    while True: print('x' * 10**6) or exit()\n", "It called sys.exit(None)", "4/6"),
    ],
)
def test_the_rest_of_a_run_of_pytest_goes_on(
    toy_course: Path, code: str, said: str, points: str
) -> None:
    solve(toy_course, divide=code)
    status, text = run_pytest(toy_course, "exercises/", "solutions/")
    assert status == 1
    assert said in text
    assert re.search(rf"{TOY_NAME[:-3]} +{points} ", text), text
    assert re.search(rf"{TOY_NAME[:-3]} +6/6 +passed", text), text


@posix_only
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("    import os; os.abort()\n", "The process ended: SIGABRT, in the check 'mean'."),
        ("    open('big', 'wb').truncate(10**12)\n", "It wrote more than 256 MB to one file"),
        ("    raise SystemExit(0)\n", "It called sys.exit(0)."),
    ],
)
def test_the_command_says_it_and_fails(course: Path, capsys, code: str, said: str) -> None:
    exercise_path(91).write_text(SOLUTION.replace(DIVIDE, code))
    assert cli.main(["check", "91"]) == 1
    assert said in capsys.readouterr().out
    assert exercise_path(91).read_text() == SOLUTION.replace(DIVIDE, code)
