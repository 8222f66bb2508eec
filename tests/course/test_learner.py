from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fdlib.course import check, load
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
