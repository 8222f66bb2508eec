"""A report as data: lines with roles, in groups, and tables.

`describe.py` writes it; `text.py`, `terminal.py` and `html.py` show the same words in the same order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

__all__ = [
    "STATES",
    "TEXT_WIDTH",
    "Block",
    "Group",
    "Line",
    "Part",
    "Role",
    "State",
    "Table",
    "flatten",
    "shorten",
    "visible",
]

# Roles whose label is a word for a state, so that nothing is said by colour alone.
State = Literal["ok", "wrong", "error", "warning", "not run", "running", "waiting"]
STATES: tuple[str, ...] = get_args(State)
Role = (
    State
    | Literal[
        "heading",  # which exercise, what came of it
        "title",  # of a group
        "sentence",  # what explains a state; what is known about a cause
        "mistake",  # a known mistake, by name
        "message",  # how values differ, what an exception said; in a typewriter face
        "printed",  # by the learner's file
        "where",  # a line of the learner's file
        "command",  # to type
        "pointer",  # where to read, where to write, what is next
        "note",
    ]
)
Part = Literal["first", "check", "checks", "printed", "compiled", "closing"]
_ESCAPE_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\))")
TEXT_WIDTH = 92  # characters of a line, where running text is wrapped
_LONGEST = 600  # characters of a line


@dataclass(frozen=True)
class Line:
    """One line; no character in it moves the cursor, hides or turns the text around."""

    role: Role
    text: str
    label: str = ""  # stands before the text: the state's word, or "Read:"

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", visible(self.text))


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row names it, the last one is the word for its state."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        rows = tuple(tuple(shorten(visible(cell), 40) for cell in row) for row in self.rows)
        object.__setattr__(self, "rows", rows)


@dataclass(frozen=True)
class Group:
    """Blocks that belong together, below their head if they have one."""

    part: Part
    head: Line | None = None
    blocks: tuple[Block, ...] = field(default=())


Block = Line | Table | Group


def flatten(document: Iterable[Block]) -> Iterator[tuple[int, Line | Table | None]]:
    """The lines and tables in order, each with its depth; None for the gap before each group."""
    for i, block in enumerate(document):
        if isinstance(block, Group) and i:
            yield 0, None
        yield from _within(block, 0)


def _within(block: Block, depth: int) -> Iterator[tuple[int, Line | Table]]:
    if not isinstance(block, Group):
        yield depth, block
        return
    if block.head:
        yield depth, block.head
        depth += 1
    for inner in block.blocks:
        yield from _within(inner, depth)


def visible(text: str) -> str:
    """One line of text with escape sequences gone and other invisible characters written out.

    >>> visible("\\x1b[31mred\\x1b[0m \\x07 \\u202e")
    'red \\\\x07 \\\\u202e'
    """
    text = _ESCAPE_SEQUENCE.sub("", text).expandtabs(4)
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return character.encode("unicode_escape").decode()
    return character


def shorten(text: str, length: int = _LONGEST) -> str:
    """The text, or its first characters and how many more there are."""
    cut = len(text) - length
    return text if cut <= 0 else f"{text[:length]} ({cut:,} more characters)"
