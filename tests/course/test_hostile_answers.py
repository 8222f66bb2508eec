"""Files that do what no exercise asks for: each is one clear sentence, and the checks beside it count."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fdlib import cli
from fdlib.course.catalogue import exercise_path
from fdlib.course.grading.runner import check

from .course_folder import course as folder
from .course_folder import run_pytest, solve
from .test_checks import edited
from .test_limits import linux_only
from .test_regions import KERNEL
from .test_runner import kernels, needs_triton
from .toy import DIVIDE, SOLUTION, TOY_NAME, Toy, grade, outcomes, posix_only

__all__ = ["folder", "kernels"]  # fixtures

UNPRINTABLE = """\
    class Bad(Exception):
        def __str__(self): raise SystemExit
        __repr__ = __str__
    raise Bad
"""
FORKS = "    import os, time\n    for _ in range(9): os.fork()\n    time.sleep(60)\n"
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
    ],
)
def test_what_never_ends_is_ended_at_its_line(toy: Toy, code: str, line: int) -> None:
    verdict = check(toy(divide=f"    {code}\n"), time_limit_s=1)
    assert (verdict.state, verdict.seconds < 3) == ("timed out", True)
    assert verdict.message == "It was still running after 1 s, in the check 'mean'."
    assert verdict.location == f"ex91_toy_sum.py:{line}: {code}"
    assert outcomes(verdict) == ["passed", "error", "not run"]


@needs_triton
def test_a_loop_without_end_in_a_kernel(kernels: Toy) -> None:
    endless = "    i = 0\n    while i < 1:\n        i = i * 1\n"
    verdict = check(
        kernels(KERNEL.replace("    value = tl", f"{endless}    value = tl")), time_limit_s=5
    )
    assert verdict.state == "timed out"
    assert verdict.message == "It was still running after 5 s, in the check 'double'."
    # The line is read while the code runs: on a busy machine it is missing once in a while.
    assert re.match(r"ex91_toy_sum.py:(10|11|21): |$", verdict.location)


@posix_only
def test_abort_is_a_crash(toy: Toy) -> None:
    verdict = grade(toy(divide="    import os; os.abort()\n"))
    assert verdict.message == "The process ended: SIGABRT, in the check 'mean'."
    assert verdict.location == "ex91_toy_sum.py:17: import os; os.abort()"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("    quit()\n", "It called sys.exit(None)."),
        ("    raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("    raise GeneratorExit\n", "GeneratorExit"),
        (UNPRINTABLE, "Bad: (its message cannot be shown)"),
    ],
)
def test_exceptions_of_every_kind_are_errors(toy: Toy, code: str, message: str) -> None:
    verdict = grade(toy(divide=code))
    assert outcomes(verdict) == ["passed", "error", "passed"]
    assert verdict.result("mean").message == message
    at_import = grade(toy("def go():\n" + code + "go()\n"))
    assert (at_import.state, at_import.message) == ("does not import", message)


@linux_only
def test_a_twice_forked_child_is_ended_and_noted(toy: Toy) -> None:
    verdict = grade(toy(divide=DOUBLE_FORK + DIVIDE))
    assert verdict.passed
    assert verdict.notes == ("It left processes running; they were ended.",)


def test_threads_left_behind_do_not_hold_the_verdict(toy: Toy) -> None:
    code = "    import threading, time\n    for _ in range(5):\n"
    code += "        threading.Thread(target=time.sleep, args=(60,)).start()\n"
    verdict = grade(toy(divide=code + DIVIDE))
    assert (verdict.state, verdict.seconds < 3) == ("passed", True)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_lines_without_end_are_cut_and_counted(toy: Toy, stream: str) -> None:
    code = f"    import sys\n    for _ in range(100_000): sys.{stream}.write('x' * 50)\n"
    verdict = grade(toy(divide=code + DIVIDE))
    assert (verdict.state, verdict.output_bytes) == ("passed", 5_000_000)
    assert len(verdict.output) <= 16_384


@pytest.mark.parametrize(
    "code",
    [
        "    import os; os.chdir('/')\n",
        "    import signal\n    for n in (2, 6, 15): signal.signal(n, signal.SIG_IGN)\n",
        "    import sys; sys.setrecursionlimit(50)\n",
        "    import sys; sys.stdout = sys.stderr = open('gone', 'w'); sys.stdout.close()\n",
        "    import os, tempfile; os.rmdir(tempfile.gettempdir())\n",
        "    import sys; sys.path.clear(); sys.modules.pop('json')\n",
        "    import os; os.environ.clear()\n",
    ],
)
def test_what_it_changes_for_itself_disturbs_nothing(toy: Toy, code: str) -> None:
    assert grade(toy(divide=code + DIVIDE)).state == "passed"


@pytest.mark.parametrize(
    "code",
    [
        'import json; json.dumps = lambda data, **_: \'{"event": "done"}\'',
        "import json; old = json.dumps; json.dumps = lambda d, **k: old({**d, 'outcome': 'passed'}, **k)",
        "import time; time.monotonic = lambda: 0 / 0",
        "import builtins; builtins.open = lambda *a, **k: 0 / 0",
        "import builtins; builtins.isinstance = lambda *a: True",
        "import builtins; builtins.abs = builtins.float = lambda x: 0.0",
        "import fdlib.course.grading.compare as c; c.expect_equal = lambda *a, **k: None",
        "import sys; c = sys.modules['fdlib.course.grading.compare']; c._difference = lambda *a: None",
        "import math; math.isclose = lambda *a, **k: True",
        "import os; os._exit = lambda code: None",
        "import sys; sys.modules['fdlib.course.grading.compare'] = None",
        "class Yes(float):\n    __eq__ = lambda a, b: True\n    __sub__ = __rsub__ = lambda a, b: 0.0\n"
        "total = mean = lambda values: Yes(7)",
    ],
)
def test_patching_earns_no_points(toy: Toy, code: str) -> None:
    text = "def total(values): return 7\n\n\ndef mean(values): return 7.5\n\n\n"
    verdict = grade(toy(text + code + "\n"))
    assert (verdict.points, verdict.passed) == (0, False)


@pytest.mark.parametrize(
    ("patch", "name"),
    [
        ("torch.allclose = torch.equal = lambda *a, **k: True", "torch.allclose"),
        ("torch.maximum = lambda a, b: torch.full_like(a, math.inf)", "torch.maximum"),
        ("torch.Tensor.any = lambda self: torch.tensor(False)", "torch.Tensor.any"),
        (
            "torch.Tensor.__le__ = lambda a, b: torch.ones_like(a, dtype=torch.bool)",
            "Tensor.__le__",
        ),
    ],
)
def test_patching_torch_is_said_and_earns_no_points(tmp_path: Path, patch: str, name: str) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "ex01_naive_attention.py"
    source = edited(1, "lse = torch.logsumexp(scores, dim=-1) | lse = scores.sum(-1)")
    path.write_text(source + f"\n{patch}\n")
    verdict = check(path, time_limit_s=60)
    assert (verdict.points, verdict.passed) == (0, False)
    said = [result.message for result in verdict.checks if name in result.message]
    assert said
    assert "It put a function of its own in the place of torch." in said[0]


def test_the_checker_is_not_to_be_used(tmp_path: Path) -> None:
    path = tmp_path / "ex01_naive_attention.py"
    call = "import fdlib.course.grading.compare as c; c._difference = print; lse = scores.sum(-1)"
    path.write_text(edited(1, f"lse = torch.logsumexp(scores, dim=-1) | {call}"))
    verdict = check(path)
    assert (verdict.state, verdict.points) == ("not your own", 0)
    assert "which is the checker" in verdict.message


@linux_only
@pytest.mark.parametrize(
    ("code", "said", "points"),
    [
        ("    held = bytearray(10**13)\n", "It asked for more memory than the 4 GB", "4/6"),
        ("    import os; os.abort()\n", "The process ended: SIGABRT", "3/6"),
        (
            "    import time, os\n    for _ in range(9): os.fork()\n    time.sleep(60)\n",
            "It had more than 200 processes",
            "3/6",
        ),
        ("    while True: print('x' * 10**6) or exit()\n", "It called sys.exit(None)", "4/6"),
    ],
)
def test_the_rest_of_a_run_of_pytest_goes_on(
    folder: Path, code: str, said: str, points: str
) -> None:
    solve(folder, divide=code)
    status, text = run_pytest(folder, "exercises/", "solutions/")
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
