"""Fixtures for the course machinery."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fdlib.course.checks
from fdlib.course import catalogue, progress
from fdlib.course.build import generate
from fdlib.course.hints import Hint

from .toy import ADD, CHECKS, DIVIDE, KERNEL_CHECKS, SOLUTION, TOY, TOY_NAME, Toy


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
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


@pytest.fixture
def kernels(toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    """The same for an exercise whose answer is a kernel, `KERNEL`."""
    exercise = catalogue.Exercise(91, "toy_sum", "Twice", "91_toy", "triton", 5, 1)
    monkeypatch.setattr(catalogue, "EXERCISES", (exercise,))
    (tmp_path / "toy_checks/ex91.py").write_text(KERNEL_CHECKS)
    return toy


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str, bool]]:
    """What answers to a quiz would have written to the learner's progress."""
    calls: list[tuple[int, str, bool]] = []
    monkeypatch.setattr(progress, "record_quiz", lambda *call: calls.append(call))
    return calls


@pytest.fixture
def gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which is not there any more."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    return folder


@pytest.fixture
def course(toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of the toy exercise alone, not started, with hints; it is the working directory."""
    root = tmp_path / "course"
    for name, text in (("solutions", SOLUTION), ("exercises", generate(SOLUTION, TOY_NAME))):
        (root / name).mkdir(parents=True)
        (root / name / TOY_NAME).write_text(text)
    hints = types.ModuleType("fdlib.course.hints.ex91")
    hints.HINTS = {
        name: Hint(f"Look at {name}.", f"The idea of {name}.", "1. a step\n   of two lines")
        for name in ("add the value", "divide")
    }
    monkeypatch.setitem(sys.modules, "fdlib.course.hints.ex91", hints)
    monkeypatch.setattr(progress, "_said", set())
    monkeypatch.chdir(root)
    return root
