"""A toy exercise, number 91, that needs no torch; `conftest.py` registers it. And how tests grade it."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fdlib.course.catalogue import Exercise
from fdlib.course.grading.runner import check
from fdlib.course.grading.verdict import Verdict

Toy = Callable[..., Path]  # the fixture: writes the exercise's file
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="signals and groups")
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and /proc")
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="kernels need triton"
)
LIMIT_S = 3.0

SOLUTION = '''\
"""Add and average: read the docstrings, write between the markers."""


def total(values):
    """The sum of the values."""
    result = 0
    for value in values:
        # >>> write: add the value
        result += value
        # <<<
    return result


def mean(values):
    """The sum of the values over their number."""
    # >>> write: divide
    return total(values) / len(values)
    # <<<
'''

CHECKS = """
from fdlib.course.expect.check import Check
from fdlib.course.expect.compare import expect_equal


def _total(module, context):
    values = [context.random().randrange(100) for _ in range(5)]
    expect_equal(module.total(values), sum(values), what="total", case="5 values")


def _mean(module, context):
    expect_equal(module.mean([1, 2, 6]), 3.0, what="mean", case="3 values")


def _empty(module, context):
    expect_equal(module.total([]), 0, what="total", case="no values")


CHECKS = (
    Check("total", "The sum of five values.", 3, _total),
    Check("mean", "The mean of three values.", 2, _mean),
    Check("empty", "The sum of nothing is 0.", 1, _empty),
)
"""

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def double(x, N: tl.constexpr):
    offsets = tl.arange(0, N)
    # >>> write: twice the value
    value = tl.load(x + offsets)
    tl.store(x + offsets, value * 2)
    # <<<


def launch(x):
    # >>> write: the grid
    grid = (1,)
    # <<<
    double[grid](x, N=x.numel())
"""

KERNEL_CHECKS = """
from fdlib.course.expect.check import Check


def _run(module, context):
    import torch

    module.launch(torch.ones(16))


CHECKS = (Check("double", "Twice the value.", 1, _run),)
"""

TOY = Exercise(91, "toy_sum", "Add and average", "91_toy", "python", 5, 1)
TOY_NAME = "ex91_toy_sum.py"
ADD, DIVIDE = "        result += value\n", "    return total(values) / len(values)\n"


def grade(path: Path, **options: int) -> Verdict:
    """The verdict on a file, which the check must leave as it was."""
    before = path.read_bytes()
    verdict = check(path, time_limit_s=LIMIT_S, **options)
    assert path.read_bytes() == before
    assert Verdict.from_dict(verdict.to_dict()) == verdict
    return verdict


def outcomes(verdict: Verdict) -> list[str]:
    return [result.outcome for result in verdict.checks]


def is_running(process: int) -> bool:
    """Whether a process runs on, after a second in which it may end."""
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
