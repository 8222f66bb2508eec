"""What a learner is told, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fdlib.course.catalogue import exercise_path
from fdlib.course.grading.verdict import Verdict
from fdlib.course.reports.describe import describe_progress
from fdlib.course.reports.text import plain, render, render_check

from .verdicts import ALIKE, ALL, COMPILED, CUT, FAILED, GROWING, KNOWN, OWN, RIGHT, WRONG


def test_a_failed_exercise() -> None:
    assert render(FAILED) == (
        "Exercise 05, Splits: failed, 3 of 5 points.\n"
        "\n"
        "wrong    The second thing.\n"
        "    out is wrong.\n"
        "    First at head 3.\n"
        "    Read: notebooks/05_splits.ipynb\n"
        "    Same inputs again: pytest -p fdlib.course.pytest_plugin "
        "/h/ex05_x.py --seed 42\n"
        "\n"
        "The checks:\n"
        "    ok       The first thing.\n"
        "    wrong    The second thing.\n"
        "\n"
        "File: /h/ex05_x.py"
    )


def test_the_first_check_to_repair_comes_first_with_all_that_helps() -> None:
    location = "ex05_x.py:7: acc = acc + p"
    other = replace(
        WRONG, name="e", title="The last thing.", message="else", read="01: The formula"
    )
    verdict = replace(OWN, checks=(RIGHT, replace(KNOWN, location=location), other))
    assert render(verdict).partition("\n\nThe checks:")[0] == (
        "Exercise 05, Splits: failed, 3 of 7 points.\n"
        "\n"
        "wrong    The second thing.\n"
        "    Your out equals what you get when acc is not rescaled.\n"
        "    The old maximum is gone.\n"
        "    out is wrong.\n"
        "    First at head 3.\n"
        "    Your line: ex05_x.py:7: acc = acc + p\n"
        '    Region: "the sum"\n'
        '    Read: notebook 05, section "The correction factor"\n'
        "    Same inputs again: fdlib check 5 --seed 42\n"
        "    Or in a notebook: check(5, seed=42)\n"
        "    Repair this one first and check again. "
        "The others often follow; what is left is told in full."
    )
    assert "    wrong    The last thing.\n        else\n" in render(verdict)
    assert "The formula" not in render(verdict)
    assert 'Read: notebook 01, section "The formula"' in render_check(verdict, "e")


def test_one_known_mistake_is_told_once() -> None:
    verdict = replace(OWN, checks=(RIGHT, KNOWN, *ALIKE))
    text = render(verdict)
    assert text.count("not rescaled") == 1
    assert "The same mistake in 2 more checks: Thing c. Thing d.\n" in text
    assert "Repair this one first" not in text
    assert render_check(verdict, "c") == (
        "Thing c.\nThe same mistake as in the check 'b': "
        "Your out equals what you get when acc is not rescaled."
    )
    many = replace(verdict, checks=tuple(replace(KNOWN, name=f"b{i}") for i in range(5)))
    assert "The same mistake in 4 more checks.\n" in render(many)


def _errors(*reasons: tuple[str, str]) -> Verdict:
    checks = [
        replace(WRONG, name=str(i), outcome="error", message=message, location=location)
        for i, (message, location) in enumerate(reasons)
    ]
    return replace(OWN, checks=tuple(checks))


@pytest.mark.parametrize(
    ("reasons", "merged"),
    [
        ((("KeyError: 1", "f:3: x"), ("KeyError: 2", "f:3: x")), True),
        ((("out is wrong for 3 keys: a", "f:3: x"), ("out is wrong for no key", "f:3: x")), True),
        ((("KeyError: 1", ""), ("KeyError: 1", "")), True),
        ((("KeyError: 1", ""), ("KeyError: 2", "")), False),
        ((("KeyError: 1", "f:3: x"), ("KeyError: 1", "f:4: y")), False),
        ((("KeyError: 1", "f:3: x"), ("TypeError: 1", "f:3: x")), False),
    ],
)
def test_one_line_that_goes_wrong_in_one_way_is_told_once(
    reasons: tuple[tuple[str, str], ...], merged: bool
) -> None:
    verdict = _errors(*reasons)
    assert ("The same in 1 more check: The second thing." in render(verdict)) == merged
    assert ("The same as in the check '0'" in render_check(verdict, "1")) == merged
    assert "The same" not in render_check(verdict, "0")


def test_a_passed_exercise_is_short_and_says_what_is_next() -> None:
    passed = replace(FAILED, state="passed", checks=(RIGHT,))
    short = (
        "Exercise 05, Splits: passed, 3 of 3 points.\n\nThe checks:\n    ok       The first thing."
    )
    assert render(passed) == short
    assert render(replace(passed, path=OWN.path)) == (
        f"{short}\n\nCompare with the worked solution: fdlib solution 5\n"
        "Next: notebooks/06_lse_combine.ipynb"
    )
    last = replace(passed, path=str(exercise_path(6)), number=6)
    assert "fdlib solution 6" in render(last)
    assert "Next:" not in render(last)


def test_a_file_in_another_folder_of_that_name_is_checked_where_it_lies() -> None:
    handed_in = replace(FAILED, path="/h/anna b/exercises/ex05_flash_decoding.py")
    again = f"fdlib.course.pytest_plugin '{handed_in.path}' --seed 42\n"
    assert again in render(handed_in)
    assert "fdlib check" not in render(handed_in)
    assert "Next:" not in render(replace(handed_in, state="passed", checks=(RIGHT,)))


def test_what_is_wrong_besides_the_first_is_a_line_and_a_place() -> None:
    later = replace(KNOWN, name="e", title="Else.", message="out is\nlong.", location="f:3: x")
    plainly = replace(WRONG, name="f", title="Last.", message="lse is\nlong.", location="f:4: y")
    first = replace(WRONG, message="first\nblock", location="f:2: w")
    text = render(replace(OWN, checks=(first, later, plainly)))
    assert "    first\n    block\n" in text
    assert text.partition("The checks:\n")[2].partition("\n\n")[0] == (
        "    wrong    The second thing.\n"
        "    wrong    Else.\n"
        "        Your out equals what you get when acc is not rescaled.\n"
        "        Your line: f:3: x\n"
        "    wrong    Last.\n"
        "        lse is\n"
        "        Your line: f:4: y"
    )
    assert "The others often follow; what is left is told in full.\n" in text


def test_a_known_mistake_leads_where_nothing_is_known_about_the_first() -> None:
    unknown = replace(WRONG, name="u", title="Unknown.", diagnosis="In this case all is wrong.")
    verdict = replace(OWN, checks=(RIGHT, unknown, KNOWN, *ALIKE))
    text = render(verdict)
    assert "points.\n\nwrong    The second thing.\n    Your out equals what you get" in text
    assert "    wrong    Unknown.\n        In this case all is wrong.\n" in text
    assert text.count("not rescaled") == 1
    assert "Repair this one first and check again." in text
    for known in ({"location": "f:2: w"}, {"outcome": "error"}, {"mistake": "other"}):
        first = replace(unknown, **known)
        assert replace(verdict, checks=(first, KNOWN)).to_repair is first
    assert replace(verdict, checks=(unknown, WRONG)).to_repair is unknown
    assert replace(verdict, checks=(RIGHT,)).to_repair is None


def test_one_that_is_not_started_names_what_to_write() -> None:
    text = render(ALL["not started"])
    assert "Still to write: the sum, lse." in text
    assert "Read: notebooks/05_splits.ipynb" in text
    assert "The first thing" not in text
    assert "seed" not in text


def test_a_crash_is_told_once() -> None:
    verdict = ALL["timed out"]
    assert render(verdict).count(CUT) == 1
    assert f"wrong    The second thing.\n    {CUT}\n" in render(verdict)
    later = replace(verdict, checks=(WRONG, *verdict.checks[1:]))
    assert render(later).startswith(f"Exercise 05, Splits: timed out, 0 of 7 points.\n{CUT}\n")
    assert render(later).count(CUT) == 1
    assert "Not run: the exercise is timed out." in render_check(verdict, "n")


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
    quiet = replace(verdict, checks=(WRONG, replace(said, name="c")))
    assert "hello" not in render_check(quiet, "b")
    fine = replace(verdict, state="passed", checks=(RIGHT, replace(said, outcome="passed")))
    assert "It printed while it was loaded:\n    loading\n" in render(fine)
    assert render(fine).count("hello") == 14
    long = replace(FAILED, output="x" * 500, output_bytes=500)
    assert "x" * 200 + " (300 more characters)\n" in render(long)


def test_the_compile_table() -> None:
    text = render(ALL["compiled"])
    assert text[text.index("Compiled") : text.index("\n\nFile")] == (
        "Compiled for these GPUs; none has to be in this machine.\n"
        "    GPU   kernel                        shared memory  registers  spilled  result\n"
        "    T4    split_kernel                  -              -          -        error\n"
        "    A100  split_kernel, combine_kernel  48 of 99 KiB   200        0 B      ok\n"
        "    L4    split_kernel                  48 of 99 KiB   128        96 B     warning\n"
        "    H100  split_kernel                  48 of 99 KiB   128        96 B     warning\n"
        "error    T4 (split_kernel): There is no bfloat16 on a T4.\n"
        "    Your line: ex05_x.py:8: tl.dot(q, k)\n"
        "warning  L4, H100 (split_kernel, head_dim 128): 96 bytes of registers are kept in memory."
    )
    alike = replace(WRONG, name="compiles", message=f"{COMPILED[0].error}\nSo it is for: T4.")
    text = render(replace(ALL["compiled"], checks=(alike,)))
    assert "error    T4 (split_kernel): see above.\nwarning" in text
    assert text.count("There is no bfloat16 on a T4.") == 1
    wide = tuple(replace(each, kernel="k" * 200, gpu="H100-SXM5") for each in COMPILED[1:3])
    rows = render(replace(OWN, compiled=wide)).split("machine.\n")[1].splitlines()[:2]
    assert all(len(row) <= 100 for row in rows)


def test_a_check_that_still_runs_shows_what_is_done() -> None:
    assert plain(describe_progress(GROWING)) == (
        "Exercise 05, Splits: 2 of 4 checks done.\n\nThe checks:\n"
        "    ok       The first thing.\n"
        "    wrong    The second thing.\n"
        "    running  The first thing.\n"
        "    waiting  The first thing."
    )
    compiling = plain(describe_progress(replace(GROWING, compiled=COMPILED[:1])))
    assert "machine. More to come.\n    GPU" in compiling
