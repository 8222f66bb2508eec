"""Which checks failed for the same reason, so that a reason is told once."""

from __future__ import annotations

import re

from fdlib.course.grading.verdict import CheckResult, Verdict

__all__ = ["alike", "first_alike", "same_in_others"]

_NAMED = 3  # of more checks, their number is said; the list has their titles


def alike(verdict: Verdict, check: CheckResult) -> list[CheckResult]:
    """The checks that failed for this one's reason, itself included, in order."""
    if not check.failing:
        return []
    return [each for each in verdict.failing if each == check or _reason(each) == _reason(check)]


def first_alike(verdict: Verdict, check: CheckResult) -> CheckResult:
    """The first check that failed for this one's reason; itself if none did."""
    return (alike(verdict, check) or [check])[0]


def same_in_others(verdict: Verdict, check: CheckResult) -> str:
    """ "The same mistake in 2 more checks: ..." with up to 3 titles; "" if there are none."""
    others = alike(verdict, check)[1:]
    if not others:
        return ""
    what = "The same mistake" if check.mistake else "The same"
    checks = f"{len(others)} more checks" if len(others) > 1 else "1 more check"
    if len(others) > _NAMED:
        return f"{what} in {checks}."
    return f"{what} in {checks}: " + " ".join(other.title for other in others)


def _reason(check: CheckResult) -> tuple[str, ...]:
    """One known mistake, or one line that goes wrong in one way, or one message."""
    if check.mistake:
        return ("mistake", check.mistake)
    if check.location:
        return ("line", check.outcome, check.location, _kind(check.message))
    if check.message:
        return ("message", check.outcome, check.message)
    return ("check", check.name)


def _kind(message: str) -> str:
    """A message up to where the values come: `KeyError`, `out is wrong`.

    >>> _kind("IndexError: 7 is too large"), _kind("out is wrong for 3 keys: 2 of 8 differ.")
    ('IndexError', 'out is wrong')
    """
    first = message.partition("\n")[0]
    return re.sub(r"\d+", "0", re.split(r": | for ", first)[0])
