"""The checks of each exercise; those of exercise 5 are `fdlib.course.checks.ex05.CHECKS`.

A module of checks is imported by pytest's collection to learn the names, so it imports torch,
triton and `fdlib.attention` inside its functions only. A check gets the learner's module and a
context; it returns if the answer is right and raises `fdlib.course.expect.compare.Mismatch` (through
`expect_close` or `expect_equal`) if not. Whatever else it raises is reported as an error in the
learner's file.

    def _shapes(module: ModuleType, context: CheckContext) -> None:
        import torch

        q = torch.randn(2, 1, 4, 16, generator=context.generator())
        ...

    CHECKS = (Check("shapes", "The output and the LSE have the right shapes.", 1, _shapes),)
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from fdlib.course.expect.check import (
    COMPILED_FOR,
    COMPILES,
    HIDES,
    Check,
    CheckContext,
    Compilation,
)

if TYPE_CHECKING:
    from fdlib.course.catalogue import Exercise

__all__ = [
    "all_checks",
    "load_checks",
    "load_compilations",
    "load_from",
    "validate",
]


def load_checks(exercise: Exercise) -> tuple[Check, ...]:
    """The checks of an exercise's values; raises `ValueError` if their names or points are not usable."""
    return validate(importlib.import_module(exercise.checks_module).CHECKS)


def load_from(name: str, path: str) -> ModuleType:
    """The module of an exercise's checks, from the file that the asking process found."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    validate(module.CHECKS)
    return module


def load_compilations(exercise: Exercise) -> tuple[Compilation, ...]:
    """What is compiled once the values are right."""
    return getattr(importlib.import_module(exercise.checks_module), "COMPILES", ())


def all_checks(exercise: Exercise) -> tuple[Check, ...]:
    """What the exercise is graded by: `load_checks`, and whether its kernels compile."""
    checks = load_checks(exercise)
    if not load_compilations(exercise):
        return checks
    title = f"It compiles for GPUs from the {COMPILED_FOR[0]} to the {COMPILED_FOR[-1]}."
    return validate((*checks, Check(COMPILES, title, 1, _compiled_elsewhere, read=HIDES)))


def _compiled_elsewhere(module: ModuleType, context: CheckContext) -> None:
    raise RuntimeError("kernels are compiled by compile_worker.py, in a process of its own")


def validate(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """The same checks; raises `ValueError` on none, equal names, or points below 1."""
    if not checks:
        raise ValueError("CHECKS: got none, takes at least one Check")
    seen: set[str] = set()
    for check in checks:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", check.name) or check.name in seen:
            raise ValueError(f"Check.name: got {check.name!r}, takes a slug used only once")
        if check.points < 1:
            raise ValueError(
                f"Check.points: got {check.points} for {check.name!r}, takes 1 or more"
            )
        seen.add(check.name)
    return checks
