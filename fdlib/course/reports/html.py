"""A verdict in a notebook: the words of `text.py` as HTML, without script or anything from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby

from fdlib.course.grading.verdict import Verdict
from fdlib.course.reports.describe import describe
from fdlib.course.reports.document import STATES, Block, Group, Line, Table
from fdlib.course.reports.style import STYLE

__all__ = ["markup", "render"]

_TYPEWRITER = {"where", "command"}
_LINES_TOGETHER = {"message", "printed"}


def render(verdict: Verdict) -> str:
    """What a learner reads after a check."""
    return markup(describe(verdict))


def markup(document: Iterable[Block]) -> str:
    """A document as one element that brings its style along."""
    lines = [f"<style>{STYLE}</style>", '<div class="fdlib-report" dir="ltr">']
    return "\n".join([*lines, *_blocks(document), "</div>"])


def _blocks(blocks: Iterable[Block]) -> Iterator[str]:
    """Neighbouring lines of a message or of printed text go into one element."""
    for role, run in groupby(blocks, _role):
        if role in _LINES_TOGETHER:
            text = "\n".join(escape(line.text) for line in run if isinstance(line, Line))
            yield f'<pre class="fdlib-{role}">{text}</pre>'
            continue
        for block in run:
            if isinstance(block, Line):
                yield _line(block)
            elif isinstance(block, Table):
                yield _table(block)
            else:
                yield from _group(block)


def _role(block: Block) -> str:
    return block.role if isinstance(block, Line) else ""


def _line(line: Line) -> str:
    # No <h4>: JupyterLab would list it among the notebook's own headings.
    heading = ' role="heading" aria-level="4"' if line.role in {"heading", "title"} else ""
    text = escape(line.text)
    if line.role in _TYPEWRITER:
        text = f"<code>{text}</code>"
    if line.label in STATES:
        text = f"{_badge(line.label)} <span>{text}</span>"
        return f'<p class="fdlib-state">{text}</p>'
    if line.label:
        text = f'<span class="fdlib-label">{escape(line.label)}</span> {text}'
    return f'<p class="fdlib-{line.role}"{heading}>{text}</p>'


def _badge(word: str) -> str:
    name = word.replace(" ", "-")
    return f'<span class="fdlib-badge fdlib-{name}">{escape(word)}</span>'


def _group(group: Group) -> Iterator[str]:
    yield f'<div class="fdlib-{group.part}">'
    if group.head:
        yield _line(group.head)
    if group.part == "checks":
        yield "<ul>"
        for block in group.blocks:
            yield from ("<li>", *_blocks([block]), "</li>")
        yield "</ul>"
    elif group.blocks:
        yield from ('<div class="fdlib-inner">', *_blocks(group.blocks), "</div>")
    yield "</div>"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th> ' for name in table.header)
    rows = "\n".join(_row(row) for row in table.rows)
    return (
        f"<table>\n<caption>{escape(table.caption)}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _row(row: tuple[str, ...]) -> str:
    name, *cells, word = row
    middle = "".join(f"<td>{escape(cell)}</td> " for cell in cells)
    return f'<tr><th scope="row">{escape(name)}</th> {middle}<td>{_badge(word)}</td></tr>'
