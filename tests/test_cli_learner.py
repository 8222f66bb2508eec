"""The learner's commands: what reaches the functions behind them, and the exit codes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fdlib import cli
from fdlib.course.files import Refused


@pytest.fixture
def asked(monkeypatch) -> list:
    """What was asked of the grader; exercise 2 fails, 3 cannot be checked here, the others pass."""
    asked = []

    def attempt_shown(number, *, seed):
        asked.append((number, seed))
        if number == 3:
            return None
        return SimpleNamespace(
            passed=number != 2, number=number, path="", name=f"ex{number}", state="", seconds=1.0,
            points=5, max_points=10,
        )  # fmt: skip

    monkeypatch.setattr("fdlib.course.attempt.attempt_shown", attempt_shown)
    return asked


@pytest.mark.parametrize(
    ("argv", "numbers", "code"),
    [
        (["check", "1"], [1], 0),
        (["check", "2"], [2], 1),
        (["check", "4", "1", "4"], [4, 1], 0),
        (["check", "1", "2", "4"], [1, 2, 4], 1),
        (["check", "3"], [3], 1),
        (["check", "3", "4"], [3, 4], 1),
        (["check"], [1, 2, 3, 4, 5, 6], 1),
    ],
)
def test_check_several(asked, capsys, argv, numbers, code):
    assert cli.main(argv) == code
    assert asked == [(number, None) for number in numbers]
    assert ("total" in capsys.readouterr().out) == (len(numbers) > 1)


def test_what_this_machine_cannot_check_is_a_row_of_the_table(asked, capsys):
    assert cli.main(["check", "3", "4"]) == 1
    rows = [line.split() for line in capsys.readouterr().out.split("\n") if line]
    assert rows[1:] == [
        ["ex4", "5/10", "1.0"],
        ["ex03_flash_attention", "-", "not", "graded", "-"],
        ["total", "5/10", "1.0"],
    ]


def test_check_seed(asked):
    assert cli.main(["check", "5", "--seed", "7"]) == 0
    assert asked == [(5, 7)]


def test_an_unknown_number_among_several_checks_nothing(asked, capsys):
    assert cli.main(["check", "1", "99"]) == 2
    assert asked == []
    assert "got 99" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "function", "arguments"),
    [
        (["hint", "5"], "coach.hint_text", ((5, None, None), {})),
        (["hint", "5", "--region", "2"], "coach.hint_text", ((5, "2", None), {})),
        (["hint", "5", "--level", "3"], "coach.hint_text", ((5, None, 3), {})),
        (["solution", "5"], "coach.solution_text", ((5,), {"give_up": False, "whole": False})),
        (
            ["solution", "5", "--give-up", "--whole"],
            "coach.solution_text",
            ((5,), {"give_up": True, "whole": True}),
        ),
        (["status"], "overview.status_text", ((), {})),
        (["reset", "5"], "fresh.write_fresh", ((5,), {})),
    ],
)
def test_each_prints_its_text_or_refuses(monkeypatch, capsys, argv, function, arguments):
    asked = []
    answers = iter(["the text", Refused("Not now.")])

    def answer(*args, **options):
        asked.append((args, options))
        found = next(answers)
        if isinstance(found, Refused):
            raise found
        return found

    monkeypatch.setattr(f"fdlib.course.{function}", answer)
    assert cli.main(argv) == 0
    assert capsys.readouterr().out == "the text\n"
    assert cli.main(argv) == 1
    assert capsys.readouterr().err == "fdlib: Not now.\n"
    assert asked == [arguments] * 2


@pytest.mark.parametrize(
    "argv", [["hint"], ["hint", "5", "--level", "4"], ["reset"], ["check", "x"], ["status", "5"]]
)
def test_wrong_command_lines(argv, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(argv)
    assert stopped.value.code == 2
    assert "usage: fdlib" in capsys.readouterr().err


def test_watch_ends_well(monkeypatch, capsys):
    def watch(numbers, *, seed):
        print(numbers, seed)
        raise KeyboardInterrupt

    monkeypatch.setattr("fdlib.course.watch.watch", watch)
    assert cli.main(["watch", "5", "--seed", "3"]) == 0
    assert cli.main(["watch"]) == 0
    assert capsys.readouterr().out == "[5] 3\n\n[1, 2, 3, 4, 5, 6] None\n\n"
