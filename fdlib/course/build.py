"""Generate the exercises from the solutions, and keep what a learner has written.

The last line of a generated file carries a digest of the lines before it. A file that still agrees
with its digest is as it was generated and may be replaced by a newer one; any other holds
somebody's work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fdlib.course.files import write_atomically
from fdlib.course.regions import STAMP, skeleton

__all__ = ["BuildReport", "build", "generate", "is_as_generated"]


@dataclass(frozen=True)
class BuildReport:
    """What a build did, by file name; with `check=True`, what it would have done."""

    written: tuple[str, ...] = ()  # new, or replaced an older generated text
    unchanged: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # edited by somebody, or no file; not touched
    orphans: tuple[str, ...] = ()  # an exercise without a solution, not touched
    blocked: tuple[tuple[str, str], ...] = ()  # of those kept: what stands there instead of a text

    @property
    def drifted(self) -> tuple[str, ...]:
        """The files that differ from what the solutions generate."""
        return tuple(sorted(self.written + self.kept + self.orphans))

    def __str__(self) -> str:
        blocked = dict(self.blocked)
        lines = [f"kept {name}: {blocked.get(name, 'it holds edits')}" for name in self.kept]
        lines += [f"kept {name}: no solution has this name" for name in self.orphans]
        lines.append(
            f"{len(self.written)} written, {len(self.unchanged)} unchanged, "
            f"{len(self.kept) + len(self.orphans)} kept"
        )
        return "\n".join(lines)


def build(into: Path, *, source: Path, check: bool = False) -> BuildReport:
    """Generate `into/exNN_*.py` from `source/exNN_*.py`; a file that somebody edited is kept.

    With `check=True` nothing is written; `drifted` of the report names what differs.
    Raises `FileNotFoundError` if `source` holds no solution, `ValueError` on wrong markers or if
    `into` is no folder that can be written to.
    """
    if (into.exists() or into.is_symlink()) and not into.is_dir():
        raise ValueError(f"{into} is not a folder; move it away and build again")
    solutions = sorted(source.glob("ex[0-9][0-9]_*.py"))
    if not solutions:
        raise FileNotFoundError(f"source: {source} holds no file named exNN_*.py")
    texts = {path.name: _generate_from(path) for path in solutions}
    outcome: dict[str, list[str]] = {"written": [], "unchanged": [], "kept": []}
    blocked = []
    for name, text in texts.items():
        if reason := _blocked(into / name):
            blocked.append((name, reason))
        outcome["kept" if reason else _compare(into / name, text)].append(name)
    if not check:
        _write(into, {name: texts[name] for name in outcome["written"]})
    orphans = sorted(p.name for p in into.glob("ex[0-9][0-9]_*.py") if p.name not in texts)
    lists = {key: tuple(names) for key, names in outcome.items()}
    return BuildReport(**lists, orphans=tuple(orphans), blocked=tuple(blocked))


def _blocked(path: Path) -> str:
    """What stands where a text should, in words; "" if a text does, or nothing."""
    if path.is_dir():
        return "it is a folder; move it away and build again"
    if path.is_symlink() and not path.exists():
        return "it is a link to a file that is not there; remove it and build again"
    if path.exists() and not path.is_file():
        return "it is no regular file; remove it and build again"
    return ""


def _write(into: Path, texts: Mapping[str, str]) -> None:
    try:
        into.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_atomically(into / name, text)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(f"{into} cannot be written to ({reason})") from error


def _generate_from(solution: Path) -> str:
    try:
        return generate(solution.read_text(encoding="utf-8"), solution.name)
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"{solution}: {error}") from error


def generate(solution: str, name: str) -> str:
    """The text of an exercise's file: the solution's skeleton and the line with its digest."""
    body = skeleton(solution).rstrip("\n") + "\n\n\n"
    return f"{body}{STAMP}{name}; write between the markers. {_digest(body)}\n"


def is_as_generated(text: str) -> bool:
    """Whether a text is a generated one that nobody has edited since."""
    body, found, stamp = text.rstrip("\n").rpartition(STAMP)
    return bool(found) and stamp.split()[-1:] == [_digest(body)]


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _compare(path: Path, text: str) -> str:
    if not (path.exists() or path.is_symlink()):
        return "written"
    try:
        present = path.read_text(encoding="utf-8")  # line endings become \n
    except (OSError, UnicodeDecodeError):
        return "kept"
    if present == text:
        return "unchanged"
    return "written" if is_as_generated(present) else "kept"
