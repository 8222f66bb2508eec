"""Which part of the output belongs to which check.

The worker writes a marker between two checks into the pipe that takes the output. The word in it is
new in each run, so that nothing that a learner prints looks like one.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys

__all__ = ["mark", "marker", "split"]


def marker(word: str, check: str) -> bytes:
    """What stands before the output of a check."""
    return f"\x1e{word} {check}\x1e".encode()


def mark(word: str, check: str) -> None:
    """Write the marker behind what was printed until now."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the learner's code may have replaced them
            stream.flush()
    with contextlib.suppress(OSError):  # or closed the descriptor
        os.write(1, marker(word, check))


def split(output: str, word: str) -> tuple[str, dict[str, str]]:
    """(the output without markers, what each check printed); "" is what came before the checks."""
    pieces = re.split(f"\x1e{re.escape(word)} ([^\x1e]*)(?:\x1e|$)", output)
    by_check = dict(zip(["", *pieces[1::2]], pieces[::2], strict=True))
    return "".join(pieces[::2]), {name: text for name, text in by_check.items() if text}
