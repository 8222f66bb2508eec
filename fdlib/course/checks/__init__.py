"""What a check is. The checks of exercise 5 are `fdlib.course.checks.ex05.CHECKS`.

A module of checks is imported by pytest's collection to learn the names, so it imports torch,
triton and `fdlib.attention` inside its functions only. A check gets the learner's module and a
context; it returns if the answer is right and raises `fdlib.course.grading.compare.Mismatch` (through
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
import random
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from fdlib.course.grading.compile_rules import HIDES

if TYPE_CHECKING:
    import torch

    from fdlib.course.catalogue import Exercise

__all__ = [
    "COMPILED_FOR",
    "COMPILES",
    "Check",
    "CheckContext",
    "Compilation",
    "all_checks",
    "load_checks",
    "load_compilations",
    "load_from",
    "validate",
]

COMPILES = "compiles"  # name of the check that a Triton exercise has besides its CHECKS
COMPILED_FOR = ("T4", "A100", "L4", "H100", "B200")  # one of each compute capability


@dataclass(frozen=True)
class CheckContext:
    """What a check knows besides the learner's module."""

    seed: int  # of the whole run, printed in the verdict
    name: str  # of the check: it repeats alone with the same inputs
    mode: str  # as `fdlib.device.choose_mode` returned it

    @property
    def check_seed(self) -> int:
        """The seed of this check, 0 to 2**32 - 1."""
        return zlib.crc32(f"{self.seed}/{self.name}".encode())

    def generator(self) -> torch.Generator:
        """A new torch generator on the CPU, seeded for this check."""
        import torch

        return torch.Generator().manual_seed(self.check_seed)

    def random(self) -> random.Random:
        """A new `random.Random`, seeded for this check."""
        return random.Random(self.check_seed)


@dataclass(frozen=True)
class Check:
    """One thing that an exercise must get right."""

    name: str  # short slug, the id of the pytest item
    title: str  # one sentence that the learner reads
    points: int
    run: Callable[[ModuleType, CheckContext], None]
    read: str = ""  # heading in the exercise's notebook, or "01: HEADING" in another
    region: str = ""  # name of the region that it checks, if it is one alone


@dataclass(frozen=True)
class Compilation:
    """A launch of the learner's kernel that is compiled, not run, with tensors of real sizes.

    The COMPILES of a Triton exercise's checks; `compiling.py` has the GPUs.
    """

    setting: str  # sizes and dtype, as the learner reads them
    launch: Callable[[ModuleType], object]  # with tensors on the CPU
    ieee: bool = False  # float32 products have to be float32: TF32 is wrong


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
