"""Every example in a docstring of fdlib runs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "fdlib"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules_with_examples() -> list[str]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples(name):
    source = importlib.util.find_spec(name).origin
    if "require_triton()" in Path(source).read_text(encoding="utf-8"):
        pytest.importorskip("triton")
    outcome = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert outcome.attempted
    assert not outcome.failed
