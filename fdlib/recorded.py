"""Measurements from a real GPU that ship with the package, so that a learner without one sees reality."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["load_recorded", "recorded_names"]

_FOLDER = Path(__file__).parent / "data" / "recorded"


def recorded_names() -> list[str]:
    """The names that `load_recorded` takes."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def load_recorded(name: str) -> dict[str, Any]:
    """One recorded run, as a dict: where, when and how it was made, and its numbers.

    Every record has ``gpu``, ``driver``, ``torch``, ``triton``, ``python``, ``date`` and ``command``.
    Raises `ValueError` for a name that does not ship.

    >>> load_recorded("h200_decode")["gpu"]
    'NVIDIA H200'
    """
    path = _FOLDER / f"{name}.json"
    if name not in recorded_names():
        raise ValueError(f"name: got {name!r}, takes one of {', '.join(recorded_names())}")
    return json.loads(path.read_text(encoding="utf-8"))
