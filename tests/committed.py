"""The course as it was committed, for tests that must not depend on what a learner has done since.

A learner runs, changes and saves the notebooks: that never turns `make test` red. Outputs that are committed do.
`NOTEBOOKS=files make test` tests the files as they lie there instead: for a writer, before a commit.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import nbformat

from fdlib.course.build import build

__all__ = ["as_files", "code_cells", "committed_files", "notebooks", "read", "write_course"]

ROOT = Path(__file__).resolve().parents[1]


def as_files() -> bool:
    """Whether the files are asked for as they are."""
    return os.environ.get("NOTEBOOKS") == "files"


def notebooks(folder: Path = ROOT) -> dict[str, bytes]:
    """The course's notebooks by file name: the committed ones; without git, the files that nobody has run."""
    names = None if as_files() else committed_files("notebooks/", folder=folder)
    if names:
        paths = [name for name in names if name.endswith(".ipynb")]
        return {Path(path).name: _git(folder, "show", f"HEAD:./{path}") or b"" for path in paths}
    files = {path.name: path.read_bytes() for path in (folder / "notebooks").glob("[0-9]*.ipynb")}
    return {name: files[name] for name in sorted(files) if as_files() or not _was_run(files[name])}


def committed_files(*below: str, folder: Path = ROOT) -> list[str] | None:
    """The paths of the last commit, from `folder`; None without git, or where it has no commit of this folder."""
    found = _git(folder, "ls-tree", "-r", "--name-only", "HEAD", *below)
    return found.decode().splitlines() if found else None


def write_course(folder: Path) -> Path:
    """Write the notebooks, fresh exercises and the solutions into `folder`, as a newcomer gets them."""
    for name, text in notebooks().items():
        _write(folder / "notebooks" / name, text)
    for path in (ROOT / "solutions").glob("ex*.py"):
        _write(folder / "solutions" / path.name, path.read_bytes())
    build(folder / "exercises", source=folder / "solutions")
    return folder


def read(text: bytes, version: object = 4) -> nbformat.NotebookNode:
    return nbformat.reads(text.decode(), as_version=version)


def code_cells(text: bytes) -> list:
    return [cell for cell in read(text).cells if cell.cell_type == "code"]


def _was_run(text: bytes) -> bool:
    return any(cell.outputs or cell.execution_count for cell in code_cells(text))


def _write(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)


def _git(folder: Path, *arguments: str) -> bytes | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
