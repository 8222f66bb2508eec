from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fdlib.course.attempt import attempt
from fdlib.course.catalogue import exercise_path
from fdlib.course.coach import hint_text, solution_text
from fdlib.course.files import Refused
from fdlib.course.learner import hint, solution
from fdlib.course.progress import load

from .toy import DIVIDE, SOLUTION


def test_each_call_goes_one_level_further(course: Path) -> None:
    texts = [hint_text(91) for _ in range(4)]
    assert "region 1 of 2: add the value\nHint 1 of 3 (nudge):\n    Look at add" in texts[0]
    assert "`fdlib hint 91`, or hint(91) in a notebook, goes one step further" in texts[0]
    assert "Hint 2 of 3 (idea)" in texts[1]
    assert "Hint 3 of 3 (pseudocode):\n    1. a step\n       of two lines\n" in texts[2]
    assert "That is the last hint for this region" in texts[2]
    assert "`fdlib solution 91` shows the solution once yours has passed." in texts[2]
    assert texts[3] == texts[2]
    assert load().exercise(91).hints == {"add the value": [1, 2, 3]}


def test_where_no_progress_is_kept_the_next_level_is_named(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (course / ".fdlib").write_text("a file")  # stands for a folder that is read-only
    asked = {"level": None}
    for level in (1, 2, 3):
        last = hint_text(91, **asked).splitlines()[-1]
        assert ("`fdlib solution 91`" in last) == (level == 3)
        assert (f"`fdlib hint 91 --level {level + 1}`, or hint(91, level=" in last) == (level < 3)
        asked = {"level": level + 1}
    assert "`fdlib hint 91 --region 2 --level 2`, or hint(91, 2, level=2)" in hint_text(
        91, "divide"
    )


def test_the_first_empty_region_is_chosen(course: Path) -> None:
    empty = '    raise NotImplementedError("write: divide")\n'
    exercise_path(91).write_text(SOLUTION.replace(DIVIDE, empty))
    assert "region 2 of 2: divide" in hint_text(91)


def test_else_the_region_of_the_check_that_failed(course: Path) -> None:
    exercise_path(91).write_text(SOLUTION.replace(DIVIDE, "    return 1 / 0\n"))
    assert "region 1 of 2" in hint_text(91)
    attempt(91)
    assert "region 2 of 2: divide" in hint_text(91)


@pytest.mark.parametrize("wanted", ["divide", "DIV", "2", 2])
def test_a_region_by_name_or_number(course: Path, wanted: str | int) -> None:
    assert "region 2 of 2: divide" in hint_text(91, wanted)
    text = hint_text(91, wanted, level=1)
    assert "Hint 1 of 3" in text
    assert "`fdlib hint 91 --region 2`, or hint(91, 2) in a notebook" in text


@pytest.mark.parametrize("wanted", ["", "d", "3", 0, "multiply"])
def test_an_unknown_region_lists_them(course: Path, wanted: str | int) -> None:
    with pytest.raises(ValueError, match=r"takes one of 1 \(add the value\), 2 \(divide\)"):
        hint_text(91, wanted)
    assert load().exercises == {}


def test_an_unknown_level(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="level: got 4, takes 1, 2 or 3"):
        hint_text(91, level=4)
    hint(91, level=4)
    assert capsys.readouterr().out == "Not done. level: got 4, takes 1, 2 or 3\n"


def test_an_exercise_without_hints(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "fdlib.course.hints.ex91")
    with pytest.raises(Refused, match="Exercise 91 has no hints; read notebooks/91_toy.ipynb"):
        hint_text(91)


@pytest.mark.parametrize("content", [None, b"\xff", b"# no markers\n"])
def test_a_file_that_says_nothing_gets_the_first_hint(course: Path, content) -> None:
    exercise_path(91).unlink()
    if content is not None:
        exercise_path(91).write_bytes(content)
    assert "region 1 of 2" in hint_text(91)


def test_the_solution_waits_for_a_pass(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refused, match="--give-up"):
        solution_text(91)
    solution(91)
    assert "has not passed yet" in capsys.readouterr().out
    assert not load().exercise(91).solution
    exercise_path(91).write_text(SOLUTION)
    attempt(91)
    text = solution_text(91)
    assert "Region 1 of 2: add the value\n    result += value\n" in text
    assert "Region 2 of 2: divide\n    return total(values) / len(values)" in text
    assert "def mean" not in text
    assert SOLUTION in solution_text(91, whole=True)
    assert not load().exercise(91).gave_up


def test_giving_up_is_noted_and_once_seen_is_seen(course: Path) -> None:
    assert "result += value" in solution_text(91, give_up=True)
    assert load().exercise(91).gave_up
    assert "result += value" in solution_text(91)
