"""Replace an exercise's file, by its first state or by a new text, with a copy of what it held."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from fdlib.course.build import generate
from fdlib.course.catalogue import exercise_path, records_folder, solution_path
from fdlib.course.files import (
    Refused,
    keep_copy,
    locked,
    must_be_writable,
    read_solution,
    sentence,
    shown,
    write_atomically,
)

__all__ = ["keep_own", "replacing", "write_fresh"]


def write_fresh(number: int) -> str:
    """Write an exercise's file as it was at the start; returns what was done, in words.

    Raises `Refused` if that cannot be done, or if what stands there cannot be kept.
    """
    path, solution = exercise_path(number), solution_path(number)
    data = generate(read_solution(number), solution.name).encode()
    lines = [f"{shown(path)} is as it was at the start."]
    with replacing(path):
        if path.exists():
            if path.stat().st_size == len(data) and path.read_bytes() == data:
                return f"{shown(path)} is as it was at the start; nothing was changed."
            copy = keep_own(path)
            lines.append(f"What it held is kept in {shown(copy)}. To have it back:")
            lines.append("    " + _copy_command(copy, path))
        write_atomically(path, data)
    return "\n".join(lines)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[None]:
    """Hold the lock of the learner's files; what the system refuses becomes a `Refused`."""
    must_be_writable(path)
    try:
        with locked(records_folder()):
            path.parent.mkdir(exist_ok=True)
            yield
    except OSError as error:
        raise Refused(f"{path} was not replaced and is as it was ({sentence(error)}).") from None


def keep_own(path: Path) -> Path:
    """Keep a copy of a learner's file among the backups, and return where."""
    return keep_copy(path, records_folder() / "backups")


def _copy_command(source: Path, target: Path) -> str:
    if sys.platform == "win32":
        return f'copy "{shown(source)}" "{shown(target)}"'
    return shlex.join(["cp", shown(source), shown(target)])
