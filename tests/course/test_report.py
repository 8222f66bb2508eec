from __future__ import annotations

from dataclasses import replace

from fdlib.course.grading.verdict import CheckResult, Verdict
from fdlib.course.reports.scores import score_table
from fdlib.course.reports.text import render, render_check

RIGHT = CheckResult("a", "The first thing.", 3, "passed")
WRONG = CheckResult("b", "The second thing.", 2, "failed", "out is wrong.\nFirst at head 3.")
FAILED = Verdict(
    5, "ex05_x", "Splits", "05_splits", "/h/ex05_x.py", "failed", (RIGHT, WRONG), 42, seconds=1.26
)


def test_a_failed_exercise() -> None:
    assert render(FAILED) == (
        "Exercise 05, Splits: failed, 3 of 5 points.\n"
        "  ok     The first thing.\n"
        "  WRONG  The second thing.\n"
        "        out is wrong.\n"
        "        First at head 3.\n"
        "Read: notebooks/05_splits.ipynb. File: /h/ex05_x.py\n"
        "Same inputs again: .venv/bin/pytest -p fdlib.course.pytest_plugin /h/ex05_x.py --seed 42"
    )


def test_a_check_names_its_section_its_region_and_the_command_that_repeats_it() -> None:
    wrong = replace(WRONG, read="The correction factor", region="the sum")
    other = replace(WRONG, name="c", message="else", read="01: The formula", region="lse")
    verdict = replace(FAILED, checks=(RIGHT, wrong, other), path="/h/exercises/ex05_x.py")
    text = render(verdict)
    assert 'Look at the region "the sum".\nRead: notebook 05, section "The correction' in text
    assert "The formula" not in text
    assert 'Read: notebook 01, section "The formula"' in render_check(verdict, "c")
    assert "again: .venv/bin/fdlib check 5 --seed 42, or check(5, seed=42) in a notebook" in text
    assert "Repair the first one first; the later ones often follow." in text
    assert "Repair" not in render(FAILED)


def test_one_cause_is_told_once() -> None:
    alike = [
        replace(WRONG, name=name, title=f"Thing {name}.", outcome="error", message="KeyError: 'x'")
        for name in "bcd"
    ]
    verdict = replace(FAILED, checks=(RIGHT, *alike))
    text = render(verdict)
    assert text.count("KeyError") == 1
    assert "        The same in 2 more checks: Thing c. Thing d.\n" in text
    assert render_check(verdict, "c") == "Thing c.\nThe same as in the check 'b': KeyError: 'x'"
    assert "The same" not in render_check(verdict, "b")


def test_a_passed_exercise_is_short() -> None:
    text = render(replace(FAILED, state="passed", checks=(RIGHT,)))
    assert text == "Exercise 05, Splits: passed, 3 of 3 points.\n  ok     The first thing."


def test_one_that_is_not_started_names_what_to_write() -> None:
    checks = (replace(RIGHT, outcome="not run"),)
    verdict = replace(
        FAILED, state="not started", checks=checks, message="Nothing.", empty=("the sum", "lse")
    )
    text = render(verdict)
    assert "Still to write: the sum, lse." in text
    assert "Read: notebooks/05_splits.ipynb" in text
    assert "The first thing" not in text
    assert "seed" not in text


def test_a_crash_is_told_once() -> None:
    message = "The process ended: SIGSEGV."
    checks = (replace(WRONG, outcome="error", message=message), replace(RIGHT, outcome="not run"))
    verdict = replace(FAILED, state="crashed", checks=checks, message=message, location="f:3: x")
    assert render(verdict).count("SIGSEGV") == 1
    assert "Not run: the exercise is stopped by a crash." in render_check(verdict, "a")
    assert render_check(verdict, "b").count("SIGSEGV") == 1


def test_what_was_printed_is_shown_shortened() -> None:
    said = replace(WRONG, output="hello\n" * 40)
    notes = ("It left processes running.",)
    output = "loading\n" + said.output
    verdict = replace(FAILED, checks=(RIGHT, said), output=output, output_bytes=1000, notes=notes)
    for text in (render(verdict), render_check(verdict, "b")):
        assert 'It printed in the check "The second thing.":\n    hello\n' in text
        assert text.count("hello") == 15
        assert "(26 more lines)" in text
        assert "the last 752 of 1,000 bytes are gone" in text
        assert "It left processes running." in text
    assert "hello" not in render_check(
        replace(verdict, checks=(WRONG, replace(said, name="c"))), "b"
    )
    fine = replace(verdict, state="passed", checks=(RIGHT, replace(said, outcome="passed")))
    assert "It printed while it was loaded:\n    loading\n" in render(fine)
    assert render(fine).count("hello") == 14
    long = replace(FAILED, output="x" * 500, output_bytes=500)
    assert "x" * 200 + " (300 more characters)\n" in render(long)


def test_the_table_is_sorted_and_summed() -> None:
    other = replace(FAILED, number=1, name="ex01_y", state="passed", checks=(RIGHT,), seconds=10.0)
    assert score_table([FAILED, other]) == (
        "exercise  points  state   seconds\n"
        "ex01_y       3/3  passed     10.0\n"
        "ex05_x       3/5  failed      1.3\n"
        "total        6/8             11.3"
    )
