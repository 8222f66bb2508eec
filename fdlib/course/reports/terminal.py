"""A verdict in a terminal: the words of `text.py`, wrapped to its width, with `rich`'s styles."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from fdlib.course.grading.verdict import Verdict
from fdlib.course.reports import text
from fdlib.course.reports.describe import describe
from fdlib.course.reports.document import STATES, Block, Line, Table, flatten

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

__all__ = ["console_for", "is_styled", "show", "styled"]

# The terminal's own colours, so that they suit its background; the words say the same.
_STYLES = {
    "heading": "bold",
    "title": "bold",
    "mistake": "bold",
    "where": "cyan",
    "command": "cyan",
    "ok": "green",
    "wrong": "bold red",
    "error": "bold magenta",
    "warning": "bold yellow",
    "running": "bold",
}
_INDENT = 4


def show(verdict: Verdict, file: TextIO | None = None) -> None:
    """Print what a learner reads: styled in a terminal that can, else plain text."""
    file = file or sys.stdout  # None if it is closed: then `print` prints nothing
    if is_styled(file):
        console_for(file).print(styled(describe(verdict)))
    else:
        encoding = getattr(file, "encoding", None) or "utf-8"
        words = text.render(verdict).encode(encoding, "backslashreplace").decode(encoding)
        print(words, file=file, flush=True)


def is_styled(file: TextIO | None) -> bool:
    """Whether this is a terminal that can style text, whose owner did not ask for none."""
    if file is None:  # Python has no output if it was closed
        return False
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in {"dumb", "unknown"}:
        return False
    encoding = (getattr(file, "encoding", None) or "").lower().replace("-", "")
    return file.isatty() and encoding == "utf8"


def console_for(file: TextIO) -> Console:
    """A console that changes nothing in the text."""
    from rich.console import Console

    return Console(file=file, markup=False, emoji=False, highlight=False)


def styled(document: Iterable[Block]) -> RenderableType:
    """A document for `Console.print`."""
    from rich.console import Group

    return Group(*(part for depth, block in flatten(document) for part in _parts(block, depth)))


def _parts(block: Line | Table | None, depth: int) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    if block is None:
        yield Text("")  # a padded one would take no line
        return
    parts = _table(block) if isinstance(block, Table) else (_line(block),)
    for part in parts:
        yield Padding(part, (0, 0, 0, _INDENT * depth), expand=False)


def _line(line: Line) -> RenderableType:
    from rich.table import Table as Grid
    from rich.text import Text

    style = _STYLES.get(line.role, "")
    if line.label in STATES:
        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.add_column(min_width=text.LABEL_WIDTH, no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(Text(line.label, style), Text(line.text))
        return grid
    words = Text(f"{line.label} " if line.label else "", overflow="fold")
    return words.append(line.text, style)


def _table(table: Table) -> Iterator[Text]:
    from rich.text import Text

    caption, header, *rows = text.table_lines(table)
    yield Text(caption, "bold", overflow="fold")
    yield Text(header, "bold", overflow="fold")
    for line, row in zip(rows, table.rows, strict=True):
        before = line[: len(line) - len(row[-1])]
        yield Text(before, overflow="fold").append(row[-1], _STYLES.get(row[-1], ""))
