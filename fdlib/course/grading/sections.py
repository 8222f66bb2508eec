"""Where to read about each region of an exercise, for an error that is in one."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import replace

from fdlib.course.expect.check import COMPILES
from fdlib.course.grading.loader import still_empty
from fdlib.course.grading.verdict import CheckResult, Verdict
from fdlib.course.mistakes import Mistake, touched_regions

__all__ = ["follow_regions"]


def follow_regions(
    verdict: Verdict, asked: tuple[CheckResult, ...], mistakes: tuple[Mistake, ...], solution: str
) -> Verdict:
    """The verdict, with each error of a region pointing to what that region is about.

    `asked` are the checks as they were before they ran. Where one of them checks a region alone, its
    section is the one; else that of most of the known mistakes in the region.
    """
    if not any(map(_ended_in_error, verdict.checks)):
        return verdict
    read = {check.region: check.read for check in reversed(asked) if check.region}
    read = _of_mistakes(mistakes, solution) | read
    empty = {still_empty(region): region for region in read}

    def follow(check: CheckResult) -> CheckResult:
        region = check.region or empty.get(check.message, "")
        if not _ended_in_error(check) or region not in read:
            return check
        return replace(check, read=read[region])

    return replace(verdict, checks=tuple(map(follow, verdict.checks)))


def _ended_in_error(check: CheckResult) -> bool:
    """Whether something else than a wrong value ended it; what does not compile has its own section."""
    return check.outcome == "error" and check.name != COMPILES


def _of_mistakes(mistakes: tuple[Mistake, ...], solution: str) -> dict[str, str]:
    sections: dict[str, Counter[str]] = {}
    for mistake in mistakes:
        with contextlib.suppress(ValueError):  # somebody has changed the solution
            touched = touched_regions(solution, mistake)
            if len(touched) == 1:
                sections.setdefault(touched[0], Counter())[mistake.read] += 1
    return {region: found.most_common(1)[0][0] for region, found in sections.items()}
