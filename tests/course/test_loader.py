from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fdlib.course.grading.loader import explain, load_module, printable


def _explain(tmp_path: Path, source: str) -> tuple[str, str]:
    path = tmp_path / "ex91_toy.py"
    try:
        load_module(path, "ex91_toy", source).run()
    except BaseException as error:
        return explain(error, path)
    raise AssertionError("nothing was raised")


def test_a_module_is_made_from_the_text_and_not_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ex91_toy.py"
    path.write_text("x = 1\n")
    module = load_module(path, "ex91_toy", "x = 2\n")
    assert module.x == 2
    assert sys.modules["ex91_toy"] is module
    assert [p.name for p in tmp_path.iterdir()] == ["ex91_toy.py"]  # no bytecode beside it
    del sys.modules["ex91_toy"]


@pytest.mark.parametrize(
    ("source", "message", "where"),
    [
        ("def run(:\n", "SyntaxError: invalid syntax", "ex91_toy.py:1: def run(:"),
        ("x = 1\nimport not_there\n", "No module named 'not_there'", "ex91_toy.py:2: import not"),
        ("def run():\n    return 1 / 0\n", "ZeroDivisionError", "ex91_toy.py:2: return 1 / 0"),
        ("def run():\n    int('x')\n", "ValueError: invalid literal", "ex91_toy.py:2: int('x')"),
        ("import sys\ndef run():\n    sys.exit(3)\n", "called sys.exit(3)", "ex91_toy.py:3"),
        ("def run():\n    run()\n", "RecursionError: maximum", "ex91_toy.py:2: run()"),
        (
            "def run():\n    raise NotImplementedError('write: the sum')\n",
            "The region 'the sum' is still empty.",
            "ex91_toy.py:2",
        ),
        (
            "class E(Exception):\n    def __str__(self):\n        return 1\n"
            "def run():\n    raise E\n",
            "E: (its message cannot be shown)",
            "ex91_toy.py:5",
        ),
        ("def run():\n    raise ValueError('\\udc80')\n", "ValueError: \\udc80", "ex91_toy.py:2"),
        (
            "class E(Exception):\n    __module__ = None\ndef run():\n    raise E('why')\n",
            "E: why",
            "ex91_toy.py:4",
        ),
        (
            "class E(Exception):\n    def __str__(self):\n        raise SystemExit\n"
            "    @property\n    def src(self):\n        raise KeyboardInterrupt\n"
            "def run():\n    raise E\n",
            "E: (its message cannot be shown)",
            "",
        ),
        ("run = None\n", "TypeError: 'NoneType' object is not callable", ""),
    ],
)
def test_an_exception_is_explained(tmp_path: Path, source: str, message: str, where: str) -> None:
    found_message, found_where = _explain(tmp_path, source)
    assert message in found_message
    assert found_where.startswith(where)
    assert bool(found_where) == bool(where)
    assert "ex91_toy" not in sys.modules or sys.modules.pop("ex91_toy")


def test_a_message_of_megabytes_is_cut() -> None:
    assert printable(ValueError("x" * 10**7)) == "x" * 2000
