"""The ten verdicts of CONTRIBUTING.md are what the grader says."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from fdlib.course.catalogue import find

from .shown_verdicts import SHOWN, Shown, rendered

ROOT = Path(__file__).resolve().parents[2]


def _pinned() -> bool:
    """Whether the compiler is the one with which the page was written: its table shows registers."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    return f"triton=={importlib.metadata.version('triton')}" in text


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.title)
def test_the_page_shows_what_the_grader_says(shown: Shown) -> None:
    if find(shown.number).kind == "triton" and not _pinned():
        pytest.skip("another Triton than the pinned one")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"{shown.title}**\n\n```text\n{rendered(shown)}\n```" in page, (
        "python tests/gate/shown_verdicts.py writes the page anew"
    )
