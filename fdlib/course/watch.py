"""Check an exercise each time its file is saved."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fdlib.course.attempt import attempt_shown
from fdlib.course.catalogue import exercise_path
from fdlib.course.files import shown
from fdlib.course.reading import LONGEST_BYTES, is_special

__all__ = ["saves", "watch"]

_POLL_S = 0.3
_STABLE_S = 0.2  # an editor may save in several steps

_State = tuple[int, int, str]  # modified, size, digest
_GONE: _State = (0, 0, "")


def watch(numbers: Sequence[int], *, seed: int | None = None) -> None:
    """Check these exercises at each save, until interrupted."""
    paths = {exercise_path(number): number for number in numbers}
    names = ", ".join(map(shown, paths))
    print(f"Watching {names}.\nSave a file and it is checked; Ctrl-C ends.", flush=True)
    for path in saves(list(paths)):
        if path.is_file():
            print(flush=True)
            attempt_shown(paths[path], seed=seed)
        elif path.exists():
            print(f"\n{shown(path)} is no file now; waiting for one.", flush=True)
        else:
            print(f"\n{shown(path)} is gone; waiting for it to come back.", flush=True)


def saves(paths: Sequence[Path], sleep: Callable[[float], None] = time.sleep) -> Iterator[Path]:
    """Yield a path each time that its content has changed or gone, and is at rest again."""
    known = {path: _state(path)[2] for path in paths}
    while True:
        sleep(_POLL_S)
        for path in paths:
            if _state(path)[2] == known[path]:
                continue
            before, known[path] = known[path], _at_rest(path, sleep)
            if known[path] != before:
                yield path


def _at_rest(path: Path, sleep: Callable[[float], None]) -> str:
    """The digest of a file that has not changed for a moment; "" if it is gone."""
    before = None
    while before != (now := _state(path)):
        before = now
        sleep(_STABLE_S)
    return now[2]


def _state(path: Path) -> _State:
    try:
        if is_special(path):
            return _GONE
        found = path.stat()
        known = (found.st_mtime_ns, found.st_size)
        if found.st_size > LONGEST_BYTES:  # it is not checked; to read it each time takes long
            return *known, str(known)
        return *known, hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return _GONE
