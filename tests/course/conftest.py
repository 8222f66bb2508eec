"""A toy exercise, number 91, whose solution and checks need no torch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fdlib.course.checks
from fdlib.course import catalogue

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
from fdlib.course.checks import Check
from fdlib.course.compare import expect_equal


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

TOY = catalogue.Exercise(91, "toy_sum", "Add and average", "91_toy", "python", 5, 1)
TOY_NAME = "ex91_toy_sum.py"
ADD, DIVIDE = "        result += value\n", "    return total(values) / len(values)\n"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Registers the toy exercise; call it with a text, or with replacements, to write its file."""
    checks = tmp_path / "toy_checks"
    checks.mkdir()
    (checks / "ex91.py").write_text(CHECKS)
    monkeypatch.setattr(catalogue, "EXERCISES", (TOY,))
    monkeypatch.setattr(
        fdlib.course.checks, "__path__", [*fdlib.course.checks.__path__, str(checks)]
    )
    monkeypatch.delitem(sys.modules, TOY.checks_module, raising=False)
    importlib.invalidate_caches()

    def write(text: str = SOLUTION, **replaced: str) -> Path:
        for old, new in (("add", ADD), ("divide", DIVIDE)):
            if old in replaced:
                assert text.count(new) == 1
                text = text.replace(new, replaced[old])
        path = tmp_path / TOY_NAME
        path.write_text(text)
        return path

    yield write
    sys.modules.pop(TOY.checks_module, None)
    sys.modules.pop(TOY.module_name, None)
