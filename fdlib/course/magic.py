"""`%exercise 5` in a notebook: the file in a cell; running the cell saves and checks it.

There is one truth, the file. A copy of it is kept before a cell replaces it that does not come from
what it holds now (it was edited elsewhere, or by another cell), or that takes more out of it than
code between the marks, and before the first save of a session. A cell that lacks a region is not
saved: it was cut off.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fdlib.course.build import is_as_generated
from fdlib.course.catalogue import exercise_path
from fdlib.course.files import (
    Refused,
    must_be_writable,
    read_solution,
    shown,
    text_digest,
    write_atomically,
)
from fdlib.course.fresh import keep_own, replacing
from fdlib.course.reading import LONGEST_BYTES, read_source
from fdlib.course.regions import RegionError, empty_regions, outside, regions
from fdlib.course.shell import ipython

__all__ = ["exercise", "register"]

_came_from: dict[tuple[int, str], str] = {}  # (exercise, cell) -> digest of the file's text
_saved: set[int] = set()  # exercises that this session has saved


def register(shell: Any) -> None:
    """Make `%exercise` and `%%exercise` known to an IPython shell."""
    shell.register_magic_function(exercise, magic_kind="line_cell", magic_name="exercise")


def exercise(line: str, cell: str | None = None) -> None:
    """Show your file of an exercise in this cell: `%exercise 5`, or `%exercise 5 --seed 7`.

    Running the cell that appears saves its text to the file and checks it.
    """
    try:
        number, seed = _arguments(line)
        path = exercise_path(number)
        if cell is None:
            return _show(number, path, line.strip())
        _save(number, path, cell)
    except (Refused, ValueError) as error:
        print(error)
        return None
    from fdlib.course.learner import check

    return check(number, seed=seed)


def _arguments(line: str) -> tuple[int, int | None]:
    match = re.fullmatch(r"\s*(\d+)(?:\s+--seed[\s=]\s*(\d+))?\s*", line)
    if match is None:
        raise Refused(f"%exercise: got {line!r}, takes a number, as in `%exercise 5 --seed 7`.")
    return int(match[1]), None if match[2] is None else int(match[2])


def _show(number: int, path: Path, line: str) -> None:
    shell = ipython()
    code = _code(shell)
    if code is not None and not re.fullmatch(r"%?exercise\s.*", code):
        raise Refused(
            f"Put `%exercise {line}` alone in a cell: your file takes the place of all that the cell "
            "holds. Nothing was changed."
        )
    must_be_writable(path)  # running the cell will save it
    try:
        text = _ended(read_source(path))
    except FileNotFoundError:
        raise Refused(f"{path} is not there; reset({number}) writes it.") from None
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}).") from None
    shell.set_next_input(f"%%exercise {line}\n{text.rstrip()}", replace=code is not None)
    if code is not None:
        _came_from[number, _cell(shell)] = text_digest(text)


def _save(number: int, path: Path, cell: str) -> None:
    """Save a cell's text to the file, unless it is there already; raises `Refused` if it is none."""
    text = _ended(cell.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise Refused(
            f"This cell is empty and was not saved. `%exercise {number}` shows your file in a cell."
        )
    key = (number, _cell(ipython()))
    if _present(path) != text:
        _must_be_exercise(number, text)
        with replacing(path):
            present = _present(path) or ""
            known = bool(key[1]) and _came_from.get(key) == text_digest(present)
            why = _why_kept(number, known, present, text)
            if why and path.exists() and not is_as_generated(present):
                print(f"{shown(path)} {why}. It is kept in {shown(keep_own(path))}.")
            write_atomically(path, text)
        _saved.add(number)
        print(f"Saved to {shown(path)}.")
    _came_from[key] = text_digest(text)


def _why_kept(number: int, known: bool, present: str, text: str) -> str:
    """What the file held that somebody may want back, in words; "" if it is not worth a copy."""
    if not known:
        return "held something that this cell does not come from"
    if _takes_away(present, text):
        return "held more than code between the marks that this cell has not"
    return "" if number in _saved else "held your work from before this session"


def _takes_away(present: str, text: str) -> bool:
    """Whether a save changes more than the code of regions, or empties one."""
    try:
        if outside(text) != outside(present):
            return True
    except RegionError:
        return True
    return not set(empty_regions(text)) <= set(empty_regions(present))


def _must_be_exercise(number: int, text: str) -> None:
    names = [region.name for region in regions(read_solution(number))]
    lines = {line.strip() for line in text.split("\n")}
    missing = [f'"{mark}"' for name in names if (mark := f"# >>> write: {name}") not in lines]
    if missing:
        raise Refused(
            f"This cell was not saved: it lacks {', '.join(missing)} of exercise {number}. "
            f"Put back what is gone; `%exercise {number}` in another cell shows your file."
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise Refused(f"This cell was not saved: it is no UTF-8 text ({error}).") from None
    if size > LONGEST_BYTES:
        raise Refused(f"This cell was not saved: it is longer than {LONGEST_BYTES:,} bytes.")


def _present(path: Path) -> str | None:
    """The file's text; None if there is none or it cannot be read."""
    try:
        return _ended(read_source(path))
    except (OSError, ValueError):
        return None


def _ended(text: str) -> str:
    return text.rstrip("\n") + "\n"


def _code(shell: Any) -> str | None:
    """The text of the cell that runs; None if the front end does not say, or has no cells."""
    try:
        return str(shell.get_parent()["content"]["code"]).strip()
    except (AttributeError, KeyError, TypeError):
        return None


def _cell(shell: Any) -> str:
    """What the front end calls the cell that runs, "" if it does not say."""
    try:
        return str(shell.get_parent()["metadata"]["cellId"] or "")
    except (AttributeError, KeyError, TypeError):
        return ""
