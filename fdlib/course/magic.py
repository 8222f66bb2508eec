"""`%exercise 5` in a notebook: the file in a cell; running the cell saves and checks it.

There is one truth, the file. A cell that did not come from what the file holds now (it was edited
elsewhere, or by another cell, or the kernel is a new one) replaces it only after a copy was kept.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fdlib.course.build import is_as_generated
from fdlib.course.catalogue import exercise_path, solution_path
from fdlib.course.files import Refused, must_be_writable, shown, text_digest, write_atomically
from fdlib.course.fresh import keep_own, replacing
from fdlib.course.grading.loader import LONGEST_BYTES, read_source
from fdlib.course.regions import regions

__all__ = ["exercise", "register"]

_came_from: dict[tuple[int, str], str] = {}  # (exercise, cell) -> digest of the file's text


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
    must_be_writable(path)  # running the cell will save it
    try:
        text = _ended(read_source(path))
    except FileNotFoundError:
        raise Refused(f"{path} is not there; reset({number}) writes it.") from None
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}).") from None
    shell = _shell()
    if _has_more(shell):
        raise Refused(
            "%exercise replaces its whole cell: put it alone in a cell. Nothing was done."
        )
    shell.set_next_input(f"%%exercise {line}\n{text.rstrip()}", replace=True)
    _came_from[number, _cell(shell)] = text_digest(text)


def _save(number: int, path: Path, cell: str) -> None:
    """Save a cell's text to the file, unless it is there already; raises `Refused` if it is none."""
    text = _ended(cell.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise Refused(
            f"This cell is empty and was not saved. `%exercise {number}` shows your file in a cell."
        )
    key = (number, _cell(_shell()))
    if _present(path) != text:
        _must_be_exercise(number, text)
        with replacing(path):
            present = _present(path) or ""
            known = bool(key[1]) and _came_from.get(key) == text_digest(present)
            if path.exists() and not known and not is_as_generated(present):
                print(
                    f"{shown(path)} held something that this cell does not come from. "
                    f"It is kept in {shown(keep_own(path))}."
                )
            write_atomically(path, text)
        print(f"Saved to {shown(path)}.")
    _came_from[key] = text_digest(text)


def _must_be_exercise(number: int, text: str) -> None:
    names = [region.name for region in regions(read_source(solution_path(number)))]
    if not any(f"# >>> write: {name}" in text for name in names):
        raise Refused(
            f'This cell holds no region of exercise {number} ("# >>> write: {names[0]}"), so it was '
            f"not saved. `%exercise {number}` in another cell shows your file."
        )
    missing = [name for name in names if f"# >>> write: {name}" not in text]
    if missing:
        raise Refused(
            f"This cell was not saved: it lacks the region {missing[0]!r}. `%exercise {number}` in "
            "another cell shows your file."
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


def _shell() -> Any:
    from IPython import get_ipython

    return get_ipython()


def _has_more(shell: Any) -> bool:
    """Whether the cell that runs holds other lines than the magic, as far as the front end says."""
    try:
        code = str(shell.get_parent()["content"]["code"])
    except (AttributeError, KeyError, TypeError):
        return False
    return any(line.strip() and "%exercise" not in line for line in code.splitlines())


def _cell(shell: Any) -> str:
    """What the front end calls the cell that runs, "" if it does not say."""
    try:
        return str(shell.get_parent()["metadata"]["cellId"] or "")
    except (AttributeError, KeyError, TypeError):
        return ""
