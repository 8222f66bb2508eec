"""Answers to the exercises, made of the solutions: what tests grade."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from fdlib.course.catalogue import find, solution_path
from fdlib.course.grading.loader import load_module
from fdlib.course.mistakes import apply_edits


def edited(number: int, edits: str) -> str:
    """The solution with these edits, each of a text that stands once in its marked regions."""
    pairs = [re.split(r" \|(?: |$)", edit.strip()) for edit in edits.split(";;")]
    source = solution_path(number).read_text(encoding="utf-8")
    return apply_edits(source, tuple((old, new) for old, new in pairs))


def load_text(number: int, source: str) -> ModuleType:
    name = find(number).module_name
    return load_module(Path(f"{name}.py").absolute(), name, source)
