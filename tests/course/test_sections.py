"""Where an error sends its reader: to what the region of its line is about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fdlib.course.catalogue import EXERCISES, Exercise
from fdlib.course.checks import all_checks
from fdlib.course.expect.check import COMPILES
from fdlib.course.grading.loader import still_empty
from fdlib.course.grading.runner import check
from fdlib.course.grading.sections import follow_regions
from fdlib.course.grading.verdict import CheckResult, Verdict
from fdlib.course.mistakes import load_mistakes
from fdlib.course.regions import regions

from .answers import edited
from .test_mistakes import solution
from .verdicts import FAILED


def _asked(exercise: Exercise) -> tuple[CheckResult, ...]:
    return tuple(
        CheckResult(c.name, c.title, c.points, read=c.read, region=c.region)
        for c in all_checks(exercise)
    )


def _followed(exercise: Exercise, result: CheckResult) -> str:
    verdict: Verdict = replace(FAILED, checks=(result,))
    found = follow_regions(verdict, _asked(exercise), load_mistakes(exercise), solution(exercise))
    return found.checks[0].read


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.module_name)
def test_each_region_has_a_section(exercise: Exercise) -> None:
    error = CheckResult("a", "A.", 1, "error", read="elsewhere")
    for region in regions(solution(exercise)):
        found = _followed(exercise, replace(error, region=region.name))
        assert found not in ("", "elsewhere")
        empty = replace(error, message=still_empty(region.name))
        assert _followed(exercise, empty) == found
    kept = (
        error,
        replace(error, region="no such region"),
        replace(error, region="the grid", outcome="failed"),
        replace(error, region="the grid", name=COMPILES),
    )
    assert {_followed(exercise, each) for each in kept} == {"elsewhere"}


def test_a_name_error_points_to_its_own_region(tmp_path: Path) -> None:
    path = tmp_path / "ex01_naive_attention.py"
    path.write_text(edited(1, "lse = torch.logsumexp(scores, dim=-1) | lse = logsumexp(scores)"))
    first = check(1, path=path, seed=0).result("large-scores")
    assert (first.outcome, first.region) == ("error", "the LSE and the output")
    assert first.read == "The formula"  # the check's own is "Four pieces of PyTorch"
