from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fdlib.course import catalogue, check, hint, load, reset, solution, status
from fdlib.course.regions import skeleton

from .toy import SOLUTION

Toy = Callable[..., Path]


def test_load_returns_the_file_as_it_is_now(toy: Toy) -> None:
    path = toy()
    assert load(91, path=path).mean([1, 2, 6]) == 3
    toy(divide="    return 7\n")
    assert load(91, path=path).mean([1, 2, 6]) == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (skeleton(SOLUTION), "exercise 91 is not started: write add the value, divide in"),
        ("x = (\n", "exercise 91 does not import. SyntaxError: '(' was never closed ex91_toy"),
        (None, "exercise 91 cannot be read"),
    ],
)
def test_load_says_why_not(toy: Toy, tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "not_there.py" if text is None else toy(text)
    with pytest.raises(RuntimeError) as error:
        load(91, path=path)
    assert message in str(error.value)


def test_check_prints_the_verdict(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(91, path=toy(skeleton(SOLUTION))) is None
    assert "Exercise 91, Add and average: not started, 0 of 6" in capsys.readouterr().out


@pytest.mark.parametrize(
    "call", [check, hint, reset, partial(solution, give_up=True), lambda _: status()]
)
def test_without_a_course_each_refuses_in_a_sentence(
    tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str], call
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "__file__", str(tmp_path / "a/b/c.py"))
    call(5)
    said, errors = capsys.readouterr()
    assert re.fullmatch(r"Not done\. the course's folder .* is not at or above .*\n", said)
    assert errors == ""


def test_a_check_of_an_unknown_exercise_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    check(99)
    assert capsys.readouterr().out.startswith("Not done. exercise: got 99, takes one of 1, 2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"number": True}, "Not done. exercise: got True, takes one of 1, 2"),
        ({"number": 4.0}, "Not done. exercise: got 4.0, takes one of 1, 2"),
        (
            {"number": 4, "path": "exercises/ex05_flash_decoding.py"},
            "Not done. path: got ex05_flash_decoding.py, a file of exercise 5, for exercise 4; ask",
        ),
        ({"number": 4, "path": 5}, "Not done. path: got 5, takes the name of a file"),
    ],
)
def test_a_wrong_number_or_file_is_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: dict[str, Any], said: str
) -> None:
    check(**arguments)
    out = capsys.readouterr().out
    assert out.startswith(said)
    assert out.count("\n") == 1
    with pytest.raises(ValueError, match="got"):
        load(**arguments)


def test_importing_the_course_imports_no_torch() -> None:
    code = (
        "import sys, fdlib.course; fdlib.course.load; import fdlib.course.pytest_plugin;"
        "import fdlib.course.grading.runner;"
        "assert not {'torch', 'triton', 'numpy', 'matplotlib'} & set(sys.modules)"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True, timeout=60)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ImportError, match="cannot import name 'chekc'"):
        from fdlib.course import chekc  # noqa: F401
