"""A learner's files: named, recognized, and written so that nothing is lost.

A file is written whole or not at all, by one process at a time, and the old one is kept.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import shlex
import shutil
import stat
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO

from fdlib.course.catalogue import solution_path
from fdlib.course.reading import is_special, read_source

__all__ = [
    "Refused",
    "dated",
    "file_digest",
    "keep_copy",
    "locked",
    "must_be_writable",
    "read_solution",
    "sentence",
    "shown",
    "text_digest",
    "write_atomically",
]

_LOCK_WAIT_S = 10.0
_NO_LOCKS_HERE = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # some network file systems
_OLD_S = 3600.0
_PIECE_BYTES = 1 << 16


class Refused(RuntimeError):
    """Nothing was done; the message says why, and what to do."""


def sentence(error: Exception) -> str:
    """An error in one line: the system's without their number, any other as it stands."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def shown(path: Path) -> str:
    """A path as it is typed from here: relative if it lies below the working directory."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, FileNotFoundError):  # elsewhere, or the working directory is gone
        return str(path)


def text_digest(text: str) -> str:
    """A digest of a text, which may hold lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """The digest of a file's text; "" if it holds none that can be read."""
    with contextlib.suppress(OSError, ValueError):
        return text_digest(read_source(path))
    return ""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file: whenever the process ends, the file is the old one or the new one, complete.

    Text is written as UTF-8 with its line ends as they are. What earlier, killed processes left in
    the folder is removed.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with _replaced(path) as file:
        file.write(data)


@contextlib.contextmanager
def _replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of another once it is complete."""
    _sweep(path.parent)
    own = f"{os.getpid()}.{threading.get_ident()}"
    temporary = path.with_name(f".{path.name}.{own}.fdlib.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    for left in folder.glob(".*.fdlib.tmp"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if _is_left(left, int(left.name.split(".")[-4])):
                left.unlink()


def _is_left(temporary: Path, process: int) -> bool:
    if sys.platform == "win32":  # os.kill would end the process that it asks about
        return time.time() - temporary.stat().st_mtime > _OLD_S
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made if need be; it goes with the process that holds it.

    Raises `OSError` if the folder cannot be written to, or if the lock is not free for 10 s.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if is_special(folder / "lock"):
        reason = "it is a pipe or a device; remove it"
        raise OSError(errno.EINVAL, reason, str(folder / "lock"))
    with open(folder / "lock", "ab") as file:
        deadline = time.monotonic() + _LOCK_WAIT_S
        while not _take(file):
            if time.monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, "another fdlib is busy with it", str(folder))
            time.sleep(0.01)
        try:
            yield
        finally:
            _give_back(file)


def _take(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in _NO_LOCKS_HERE  # without locks, one goes on without
    return True


def _give_back(file: IO[bytes]) -> None:
    """On Windows; elsewhere closing the file does it."""
    if sys.platform == "win32":
        import msvcrt

        with contextlib.suppress(OSError):
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)


def keep_copy(path: Path, folder: Path) -> Path:
    """Copy a file's bytes to a dated name in a folder, and return where; no copy is overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = dated(folder / path.name)
    with open(path, "rb") as source, _replaced(copy) as target:
        _copy_data(source, target)
    return copy


def _copy_data(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy piece by piece, and holes as holes: a file may claim more than the disk has room for."""
    while piece := source.read(_PIECE_BYTES):
        if piece == bytes(len(piece)):
            target.seek(len(piece), os.SEEK_CUR)
        else:
            target.write(piece)
    target.truncate()


def dated(path: Path) -> Path:
    """A name that is free, with the date and time in it: `name.2026-11-30_214305.py`."""
    now = datetime.now().strftime("%Y-%m-%d_%H%M%S")
    names = (
        path.with_name(f"{path.stem}.{now}{'' if n == 1 else f'_{n}'}{path.suffix}")
        for n in itertools.count(1)
    )
    return next(name for name in names if not os.path.lexists(name))


def read_solution(number: int) -> str:
    """The solution of an exercise; raises `Refused` if this copy of the course lacks it."""
    path = solution_path(number)
    try:
        return read_source(path)
    except FileNotFoundError:
        raise Refused(
            f"{path} is missing: this copy of the course is not complete. "
            "Nothing was done; put it back, as from a fresh copy of the course."
        ) from None
    except (OSError, ValueError) as error:
        raise Refused(f"{path} cannot be read ({sentence(error)}); nothing was done.") from None


def must_be_writable(path: Path) -> None:
    """Raises `Refused` unless a file may be written here: an ordinary one, or none yet."""
    if path.is_symlink():
        raise Refused(
            f"{path} is a link to {os.readlink(path)}: a link is not written through. "
            "Put a copy of the file in its place, or remove the link, and do it again."
        )
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise Refused(f"{path} is a folder; move it away and do it again.")
    if is_special(path):
        raise Refused(f"{path} is a pipe or a device; remove it and do it again.")
    if not mode & stat.S_IWUSR:
        command = f"chmod u+w {shlex.quote(str(path))}"
        raise Refused(f"{path} is read-only; make it writable ({command}) and do it again.")
