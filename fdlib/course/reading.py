"""Read a learner's file as text, or say why it cannot be read."""

from __future__ import annotations

import stat
from pathlib import Path

__all__ = ["LONGEST_BYTES", "is_special", "read_source"]

LONGEST_BYTES = 1_000_000  # of a file; the solutions have 8,000


def is_special(path: Path) -> bool:
    """Whether something is there that is neither a file nor a folder: opening a pipe waits forever."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def read_source(path: Path) -> str:
    """The text of a file, with \\n at line ends.

    Raises `ValueError` if it is not UTF-8 text, too long, in the middle of a merge, or no regular
    file (a pipe would be waited for).
    """
    found = path.stat()
    if is_special(path):
        raise ValueError(f"{path.name} is a pipe or a device; remove it and put a file there")
    if found.st_size > LONGEST_BYTES and stat.S_ISREG(found.st_mode):
        raise ValueError(
            f"{path.name} has {found.st_size:,} bytes; more than {LONGEST_BYTES:,} are not checked. "
            "Remove what does not belong in it."
        )
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_number = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path.name} is not UTF-8 text: line {line_number} holds the byte "
            f"0x{data[error.start]:02x}. Save it as UTF-8 in your editor."
        ) from None
    if "\0" in text:
        raise ValueError(
            f"{path.name} holds a zero byte; it is no UTF-8 text. Save it as UTF-8 in your editor."
        )
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if line_number := _unfinished_merge(text.split("\n")):
        raise ValueError(
            f"{path.name} holds a merge that is not finished: line {line_number} begins with "
            "<<<<<<<. Keep one of the two versions and delete the lines that begin with <<<<<<<, "
            "======= and >>>>>>>."
        )
    return text


def _unfinished_merge(lines: list[str]) -> int:
    """The number of the first line that Git marked, 0 if there is none."""
    begins = [i for i, line in enumerate(lines, 1) if line.startswith("<<<<<<< ")]
    ends = any(line.startswith(">>>>>>> ") for line in lines)
    return begins[0] if begins and ends and "=======" in lines else 0
