"""What a learner's file may turn into: each time a clear sentence, and nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fdlib import cli
from fdlib.course import magic
from fdlib.course.catalogue import exercise_path
from fdlib.course.magic import exercise

from .toy import ADD, SOLUTION, TOY_NAME, posix_only

NAME = f"{TOY_NAME}: "
MERGE = "<<<<<<< HEAD\n        result += value\n=======\n        result -= value\n>>>>>>> theirs\n"
CHANGED: dict[str, tuple[bytes, str]] = {
    "latin-1": (
        SOLUTION.replace("The sum", "Größe").encode("latin-1"),
        "is not UTF-8 text: line 5 holds the byte 0xf6. Save it as UTF-8 in your editor.",
    ),
    "utf-16": (SOLUTION.encode("utf-16"), "Save it as UTF-8 in your editor."),
    "zero byte": (SOLUTION.encode() + b"\0", "Save it as UTF-8 in your editor."),
    "merge": (
        SOLUTION.replace(ADD, MERGE).encode(),
        "holds a merge that is not finished: line 9 begins with <<<<<<<. Keep one of the two",
    ),
    "too long": (
        SOLUTION.encode() + b"#" * 10_000_000,
        "more than 1,000,000 are not checked. Remove what does not belong in it.",
    ),
    "tabs": (
        SOLUTION.replace("    return result", "\treturn result").encode(),
        "TabError: inconsistent use of tabs and spaces in indentation. Indent with spaces alone",
    ),
    "syntax": (SOLUTION.replace("return result", "return (").encode(), "'(' was never closed"),
    "renamed function": (SOLUTION.replace("def mean", "def means").encode(), "no attribute 'mean'"),
    "signature": (
        SOLUTION.replace("def mean(values)", "def mean(values, more)").encode(),
        "'more'. Give the function back the parameters that the exercise gave it.",
    ),
}


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = cli.main(argv)
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    return code, printed.out + printed.err


@pytest.mark.parametrize("case", CHANGED)
def test_a_changed_file(course: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    content, message = CHANGED[case]
    exercise_path(91).write_bytes(content)
    code, said = run(capsys, "check", "91")
    assert code == 1
    assert message in said
    assert exercise_path(91).read_bytes() == content
    assert run(capsys, "hint", "91")[0] == 0
    assert run(capsys, "status")[0] == 0
    code, said = run(capsys, "reset", "91")
    assert code == 0
    (copy,) = (course / ".fdlib" / "backups").iterdir()
    assert copy.read_bytes() == content
    assert str(copy.relative_to(course)) in said


@pytest.mark.parametrize("case", ["latin-1", "utf-16", "zero byte", "merge", "too long"])
def test_the_magic_keeps_what_it_cannot_read(
    course: Path, capsys: pytest.CaptureFixture[str], monkeypatch, case: str
) -> None:
    content, message = CHANGED[case]
    monkeypatch.setattr(magic, "_came_from", {})
    monkeypatch.setattr(magic, "ipython", lambda: None)
    exercise_path(91).write_bytes(content)
    exercise("91")
    assert message in capsys.readouterr().out
    exercise("91", SOLUTION)
    assert "passed, 6 of 6" in capsys.readouterr().out
    (copy,) = (course / ".fdlib" / "backups").iterdir()
    assert copy.read_bytes() == content


def _rename() -> None:
    exercise_path(91).rename(exercise_path(91).with_name("ex91_mine.py"))


def _folder() -> None:
    exercise_path(91).unlink()
    exercise_path(91).mkdir()


def _link() -> None:
    exercise_path(91).unlink()
    exercise_path(91).symlink_to("gone.py")


def _pipe() -> None:
    exercise_path(91).unlink()
    os.mkfifo(exercise_path(91))


@pytest.mark.parametrize(
    ("change", "check_says", "reset_says"),
    [
        (_rename, "is not there. Is it ex91_mine.py? Then rename that.", ""),
        (lambda: exercise_path(91).unlink(), "is not there; `fdlib reset 91` writes", ""),
        (_folder, "is a folder; move it away", "is a folder; move it away and do it again."),
        pytest.param(_link, "is a link to a file that is not there", "a link to gone.py", marks=posix_only),
        pytest.param(_pipe, "is a pipe or a device; remove it", "is a pipe or a dev", marks=posix_only),
    ],
)  # fmt: skip
def test_no_file(
    course: Path, capsys, monkeypatch, change: Callable[[], None], check_says: str, reset_says: str
) -> None:
    change()
    code, said = run(capsys, "check", "91")
    assert code == 1
    assert check_says in said
    assert run(capsys, "hint", "91")[0] == 0
    assert run(capsys, "status")[0] == 0
    monkeypatch.setattr(magic, "ipython", lambda: None)
    exercise("91")
    assert (reset_says or "is not there; reset(91) writes it.") in capsys.readouterr().out
    code, said = run(capsys, "reset", "91")
    assert code == (1 if reset_says else 0)
    assert reset_says in said
    exercise("91", SOLUTION)
    said = capsys.readouterr().out
    assert (reset_says or "passed, 6 of 6") in said


def test_a_read_only_file_is_checked_and_not_replaced(course: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(magic, "ipython", lambda: None)
    exercise_path(91).write_text(SOLUTION)
    exercise_path(91).chmod(0o444)
    assert run(capsys, "check", "91")[0] == 0
    exercise("91", SOLUTION)
    assert "passed, 6 of 6" in capsys.readouterr().out
    code, said = run(capsys, "reset", "91")
    assert code == 1
    assert "is read-only; make it writable" in said
    exercise("91", SOLUTION.replace(ADD, "        pass\n"))
    assert "is read-only; make it writable" in capsys.readouterr().out
    assert exercise_path(91).read_text() == SOLUTION


@pytest.mark.parametrize("marker", ["# >>> write: divide", "\n    # <<<"])
def test_without_markers_the_code_still_counts(course: Path, capsys, marker: str) -> None:
    exercise_path(91).write_text(SOLUTION.replace(marker, ""))
    code, said = run(capsys, "check", "91")
    assert code == 0
    assert "The markers of the regions are damaged" in said
    assert run(capsys, "hint", "91")[0] == 0
    assert run(capsys, "status")[0] == 0


@pytest.mark.parametrize("command", ["check", "watch", "hint", "solution", "reset"])
def test_an_unknown_exercise(course: Path, capsys, command: str) -> None:
    code, said = run(capsys, command, "92")
    assert code == 2
    assert said == "fdlib: exercise: got 92, takes one of 91\n"
