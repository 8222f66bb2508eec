"""A verdict as plain text: for pytest, pipes, and wherever nothing else can be shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fdlib.course.grading.verdict import Verdict
from fdlib.course.reports.describe import describe, describe_check
from fdlib.course.reports.document import STATES, Block, Line, Table, flatten

__all__ = ["LABEL_WIDTH", "plain", "render", "render_check", "table_lines"]

LABEL_WIDTH = max(map(len, STATES))
_INDENT = "    "


def render(verdict: Verdict) -> str:
    """What a learner reads after a check."""
    return plain(describe(verdict))


def render_check(verdict: Verdict, name: str) -> str:
    """What a learner reads about one check that did not pass."""
    return plain(describe_check(verdict, name))


def plain(document: Iterable[Block]) -> str:
    """A document as lines of text, with an empty line before each group."""
    lines: list[str] = []
    for depth, block in flatten(document):
        lines += [_INDENT * depth + line for line in _lines(block)]
    return "\n".join(lines)


def _lines(block: Line | Table | None) -> Iterator[str]:
    if isinstance(block, Table):
        yield from table_lines(block)
    else:
        yield _label(block) + block.text if block else ""


def _label(line: Line) -> str:
    if line.label in STATES:
        return f"{line.label:<{LABEL_WIDTH}}  "
    return f"{line.label} " if line.label else ""


def table_lines(table: Table) -> Iterator[str]:
    """The caption, the header and the rows in columns, the word for its state last in a row."""
    yield table.caption
    rows = (table.header, *table.rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.header))]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield (_INDENT + "  ".join(cells)).rstrip()
