"""Say which known mistake a wrong answer equals, by making that mistake on the same inputs.

A known mistake is the solution with an edit. It is run through the check that the learner's answer
failed, and what the two gave is compared, value by value. Nothing of the solution is shown.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from fdlib.course.expect.compare import Mismatch, wrong_elements
from fdlib.course.expect.observe import Seen, Sight, look
from fdlib.course.grading.compile_rules import POINTERS
from fdlib.course.grading.loader import load_module
from fdlib.course.grading.structure import structure
from fdlib.course.mistakes import Mistake, apply_edits, touched_regions
from fdlib.xray.causes import causes

if TYPE_CHECKING:
    import torch

    from fdlib.course.expect.check import Check, CheckContext

__all__ = ["Diagnosis", "Diagnoser", "agreement"]

_BUDGET_S = 8.0  # CPU time for all mistakes of all checks of one exercise
_PART = 0.5  # of what came out wrong has to agree, for a mistake to be named as one of several


@dataclass(frozen=True)
class Diagnosis:
    """What is known about the cause of one wrong answer."""

    sentences: tuple[str, ...] = ()
    mistake: str = ""  # name of the known mistake; "" if it equals none
    read: str = ""
    region: str = ""


class Diagnoser:
    """The known mistakes of one exercise, ready to be run."""

    def __init__(
        self, mistakes: tuple[Mistake, ...], solution: str, budget_s: float = _BUDGET_S
    ) -> None:
        self._solution = solution
        self._all = mistakes if solution else ()
        self._modules: dict[str, ModuleType] = {}
        self._left_s = budget_s
        self._found: list[Mistake] = []
        self._unknown = False  # it has been said that an answer equals no known mistake

    @functools.cached_property
    def _texts(self) -> dict[str, str]:
        """The solution with each mistake, by name; made when the first answer is wrong."""
        texts = {}
        for mistake in self._all:
            with contextlib.suppress(ValueError):  # somebody has changed the solution
                texts[mistake.name] = apply_edits(self._solution, mistake.edits)
        return texts

    @property
    def _mistakes(self) -> list[Mistake]:
        return [mistake for mistake in self._all if mistake.name in self._texts]

    def explain(self, check: Check, context: CheckContext, sight: Sight) -> Diagnosis:
        """What is known about a run of `check` that came out wrong."""
        first = sight.first_wrong
        if first is None and not isinstance(cause(sight.ended), Mismatch):
            return Diagnosis()
        if first is not None and getattr(sight.seen[first].error, "explained", False):
            return Diagnosis(read=POINTERS)
        best, share = self._best(check, context, sight)
        if best is not None:
            return self._name(best, sight, whole=share == 1.0)
        if first is None or sight.seen[first].wrong_form:
            return Diagnosis()  # the message says it all
        sentences = structure(sight)
        if self._mistakes and not self._unknown:
            self._unknown = True
            known = f"It equals none of the {len(self._mistakes)} known mistakes of this exercise."
            sentences.append(known)
        return Diagnosis(tuple(sentences))

    def _best(
        self, check: Check, context: CheckContext, sight: Sight
    ) -> tuple[Mistake | None, float]:
        """The mistake that agrees most, and how much; the first of several."""
        best, most = None, 0.0
        for mistake in self._likely(check):
            if self._left_s <= 0:
                break
            started = time.process_time()
            theirs = look(
                check.run, self._module(mistake), context, functools.partial(_differs, sight)
            )
            share = agreement(sight, theirs)
            self._left_s -= time.process_time() - started
            likely = mistake.check == check.name or mistake in self._found
            if share > most and (share == 1.0 or (likely and share >= _PART)):
                best, most = mistake, share
            if most == 1.0:
                break
        return best, most

    def _likely(self, check: Check) -> Iterator[Mistake]:
        """First what explained an earlier check, then what fails this one first, then the others."""
        found = list(self._found)
        yield from found
        for same in (True, False):
            for mistake in self._mistakes:
                if mistake not in found and (mistake.check == check.name) is same:
                    yield mistake

    def _module(self, mistake: Mistake) -> ModuleType:
        if mistake.name not in self._modules:
            name = "known_mistake_" + mistake.name.replace("-", "_")
            path = Path(f"{name}.py").absolute()
            self._modules[mistake.name] = load_module(path, name, self._texts[mistake.name])
        return self._modules[mistake.name]

    def _name(self, mistake: Mistake, sight: Sight, *, whole: bool) -> Diagnosis:
        if mistake not in self._found:
            self._found.append(mistake)
        regions = touched_regions(self._solution, mistake)
        if sight.first_wrong is None:
            what = "It fails as it does"
        else:
            value = (
                sight.seen[sight.first_wrong]
                .what.split(",")[0]
                .removeprefix("the ")
                .removesuffix("(...)")
            )
            what = f"Your {value} equals what you get"
        says = f"{what} when {mistake.says}."
        sentences = [
            says if whole else says + " In other cases it differs: look for a second mistake."
        ]
        return Diagnosis(
            (*sentences, mistake.why),
            mistake.name,
            mistake.read,
            regions[0] if len(regions) == 1 else "",
        )


def cause(error: BaseException | None) -> BaseException | None:
    """The `Mismatch` that an exception stems from, or the exception itself."""
    return next((each for each in causes(error) if isinstance(each, Mismatch)), error)


def agreement(mine: Sight, theirs: Sight) -> float:
    """How much of what came out wrong in either run came out the same, from 0 to 1.

    0 if the first wrong comparison of `mine` differs. A value that is all NaN or all 0 says little
    by itself: then only 1 or 0 is returned.
    """
    pairs = list(zip(mine.seen, theirs.seen, strict=False))
    first = mine.first_wrong
    if first is not None and (first >= len(pairs) or not _alike(*pairs[first])):
        return 0.0
    wrong = [(a, b) for a, b in pairs if a.error or b.error]
    same = sum(_alike(a, b) for a, b in wrong)
    total = len(wrong) + abs(len(mine.seen) - len(theirs.seen))
    if mine.ended is not None or theirs.ended is not None:
        total += 1
        same += _signature(mine.ended) == _signature(theirs.ended)
    if not total or not same:
        return 0.0
    share = same / total
    return share if share == 1.0 or (first is not None and _telling(mine.seen[first])) else 0.0


def _differs(mine: Sight, theirs: Sight) -> bool:
    """Whether two runs differ already, at the first comparison that is wrong in `mine` or before it."""
    at = len(theirs.seen) - 1
    if mine.first_wrong is None:
        return bool(theirs.seen[at].error)
    if at > mine.first_wrong:
        return False
    return (
        bool(theirs.seen[at].error)
        if at < mine.first_wrong
        else not _alike(mine.seen[at], theirs.seen[at])
    )


def _signature(error: BaseException | None) -> object:
    error = cause(error)
    if isinstance(error, Mismatch):
        return error.signature or str(error)
    return type(error).__name__, str(error)


def _telling(seen: Seen) -> bool:
    if seen.allowed is None:
        return True
    wrong = seen.got[wrong_elements(seen.got, seen.want, seen.allowed)]
    return bool((wrong.isfinite() & (wrong != 0)).any())


def _alike(a: Seen, b: Seen) -> bool:
    """Whether two answers gave the same at one comparison."""
    if (a.what, a.case) != (b.what, b.case):
        return False
    if a.allowed is None or b.allowed is None:
        numbers = (a.got, b.got)
        if all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in numbers):
            return type(a.got) is type(b.got) and math.isclose(*numbers, rel_tol=1e-9)
        return str(a.error) == str(b.error)
    # Both round, each its own way. `allowed` is for values as large as the right ones; wrong ones
    # may be larger, and their rounding with them.
    larger = (1 + _sizes(b.got)) / (1 + _sizes(a.want))
    if wrong_elements(a.got, b.got, 2 * a.allowed * larger).any():
        return False
    # Two errors of which each is hardly above the tolerance would be within it of one another:
    # so they have to be nearer to each other than to the right value, too.
    wrong = wrong_elements(a.got, a.want, a.allowed) & a.got.isfinite() & b.got.isfinite()
    wrong &= a.want.isfinite()
    gap, error = (a.got - b.got).abs(), (a.got - a.want).abs()
    return bool((gap[wrong] <= error[wrong] / 4).all())


def _sizes(x: torch.Tensor) -> torch.Tensor:
    return x.abs().nan_to_num(0, 0, 0)
