"""Print the source of a function or kernel, so that a notebook shows the code that really runs."""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["show_source"]


def show_source(function: Any, start: str = "", end: str = "") -> None:
    """Print the source of ``function``: a Python function or a ``@triton.jit`` kernel.

    With ``start`` and ``end`` only from the first line that contains the one to the next that contains the other.
    Raises `ValueError` if a text is not in the source.

    >>> from fdlib.plan import cdiv
    >>> show_source(cdiv, "return")
        return -(-a // b)
    """
    lines = inspect.getsource(getattr(function, "fn", function)).rstrip().split("\n")
    first = _find(lines, start, "start", 0)
    last = _find(lines, end, "end", first) if end else len(lines) - 1
    print("\n".join(lines[first : last + 1]))


def _find(lines: list[str], text: str, argument: str, begin: int) -> int:
    for number in range(begin, len(lines)):
        if text in lines[number]:
            return number
    raise ValueError(f"{argument}: got {text!r}, takes a text that is in the source")
