"""Notice that a learner's code put its own function in the place of one that the checks compute with.

This is for code that replaces, say, `torch.maximum` for its own ends and does not put it back; then
the comparisons would mean nothing. It is no lock: code in the same process can get round it.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable
from typing import Any

from fdlib.course.expect import compare
from fdlib.course.grading import events

__all__ = ["remember"]


def remember() -> Callable[[], str]:
    """Look at what is there now; the result names what was replaced since then, "" for nothing."""
    owners = {
        "": builtins,
        "math.": math,
        "fdlib.course.expect.compare.": compare,
        "fdlib.course.grading.events.": events,
    }
    if torch := sys.modules.get("torch"):
        owners |= {"torch.": torch, "torch.Tensor.": torch.Tensor}
    kept = [(name, owner, _functions(owner)) for name, owner in owners.items()]

    def replaced() -> str:
        for name, owner, before in kept:
            now = _functions(owner)
            for key, value in before.items():
                if now.get(key) is not value:
                    return name + key
        return ""

    return replaced


def _functions(owner: Any) -> dict[str, Any]:
    """Of a class what it inherits too; of a module what is public, or all if it is the checker's."""
    if isinstance(owner, type):
        return {key: value for each in reversed(owner.__mro__) for key, value in vars(each).items()}
    own = owner in (compare, events)
    return {
        key: value
        for key, value in vars(owner).items()
        if callable(value) and (own or not key.startswith("_"))
    }
