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
import random
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from fdlib.course.catalogue import Exercise

__all__ = ["Check", "CheckContext", "load_checks", "validate"]


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


def load_checks(exercise: Exercise) -> tuple[Check, ...]:
    """The checks of an exercise; raises `ValueError` if their names or points are not usable."""
    return validate(importlib.import_module(exercise.checks_module).CHECKS)


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
