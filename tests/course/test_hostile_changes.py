"""Code that meddles with what is around it: its output, the checker, torch, its own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from fdlib.course.grading.runner import check

from .answers import edited
from .toy import DIVIDE, Toy, grade, outcomes, posix_only


def test_megabytes_of_output_are_cut(toy: Toy) -> None:
    verdict = grade(toy(divide="    print('x' * 4_000_000)\n" + "    return 3.0\n"))
    assert verdict.state == "passed"
    assert len(verdict.output) < 20_000
    assert verdict.output_bytes == 4_000_001


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_lines_without_end_are_cut_and_counted(toy: Toy, stream: str) -> None:
    code = f"    import sys\n    for _ in range(100_000): sys.{stream}.write('x' * 50)\n"
    verdict = grade(toy(divide=code + DIVIDE))
    assert (verdict.state, verdict.output_bytes) == ("passed", 5_000_000)
    assert len(verdict.output) <= 16_384


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


def test_a_file_beside_it_shadows_nothing(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    path = toy()
    (path.parent / "random.py").write_text("raise SystemExit\n")
    monkeypatch.chdir(path.parent)
    assert grade(path).state == "passed"


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
        "import fdlib.course.expect.compare as c; c.expect_equal = lambda *a, **k: None",
        "import sys; c = sys.modules['fdlib.course.expect.compare']; c._difference = lambda *a: None",
        "import math; math.isclose = lambda *a, **k: True",
        "import os; os._exit = lambda code: None",
        "import sys; sys.modules['fdlib.course.expect.compare'] = None",
        "class Yes(float):\n    __eq__ = lambda a, b: True\n    __sub__ = __rsub__ = lambda a, b: 0.0\n"
        "total = mean = lambda values: Yes(7)",
    ],
)
def test_patching_earns_no_points(toy: Toy, code: str) -> None:
    text = "def total(values): return 7\n\n\ndef mean(values): return 7.5\n\n\n"
    verdict = grade(toy(text + code + "\n"))
    assert (verdict.points, verdict.passed) == (0, False)


def test_patching_torch_is_said_and_earns_no_points(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "ex01_naive_attention.py"
    source = edited(1, "lse = torch.logsumexp(scores, dim=-1) | lse = scores.sum(-1)")
    path.write_text(source + "\ntorch.Tensor.any = lambda self: torch.tensor(False)\n")
    verdict = check(path, time_limit_s=60)
    assert (verdict.points, verdict.passed) == (0, False)
    said = [result.message for result in verdict.checks if "torch.Tensor.any" in result.message]
    assert said
    assert "It put a function of its own in the place of torch." in said[0]


def test_the_checker_is_not_to_be_used(tmp_path: Path) -> None:
    path = tmp_path / "ex01_naive_attention.py"
    call = "import fdlib.course.expect.compare as c; c._difference = print; lse = scores.sum(-1)"
    path.write_text(edited(1, f"lse = torch.logsumexp(scores, dim=-1) | {call}"))
    verdict = check(path)
    assert (verdict.state, verdict.points) == ("not your own", 0)
    assert "which is the checker" in verdict.message


@posix_only
def test_a_forked_copy_does_not_answer_as_well(toy: Toy) -> None:
    code = "    import os\n    os.fork()\n    return total(values) / len(values)\n"
    verdict = grade(toy(divide=code))
    assert outcomes(verdict) == ["passed"] * 3
