"""What a check is, and what is compiled: data that the checks fill in and the grading reads."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["COMPILED_FOR", "COMPILES", "HIDES", "Check", "CheckContext", "Compilation"]

COMPILES = "compiles"  # name of the check that a Triton exercise has besides its CHECKS
COMPILED_FOR = ("T4", "A100", "L4", "H100", "B200")  # one of each compute capability
# Where to read about what the compiler refuses and the interpreter does not.
HIDES = "03: Before you build: what the interpreter does, and what it hides"


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

    The COMPILES of a Triton exercise's checks; COMPILED_FOR has the GPUs.
    """

    setting: str  # sizes and dtype, as the learner reads them
    launch: Callable[[ModuleType], object]  # with tensors on the CPU
    ieee: bool = False  # float32 products have to be float32: TF32 is wrong
