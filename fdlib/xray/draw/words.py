"""A picture of attention over words: the passage as it reads, each token shaded by the weight that it gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import GREY, INK, ORANGE, TEXT_SIZE, WHITE, prepare, quiet_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

__all__ = ["draw_attention_words"]

COLUMNS = 80  # characters in a line: fits a figure 9 inches wide, at TEXT_SIZE in a monospaced face
_LINE = 2.7  # heights of a line of text, with room above it for the weight


def draw_attention_words(
    ax: Axes,
    tokens: Sequence[str],
    weights: Sequence[float],
    *,
    query: int,
    first: int = 0,
    named: int = 3,
    title: str,
) -> None:
    """The text of ``tokens``, each key shaded by its weight; the ``named`` largest carry their number above.

    ``weights[j]`` belongs to ``tokens[j]``; tokens before ``first`` and past the weights are not shown. The token at
    ``query`` has a thick frame.
    """
    order = sorted(range(first, len(weights)), key=lambda j: -weights[j])[: max(named, 0)]
    lines: dict[int, str] = {0: ""}
    for j, row, column, text in _flow(tokens, first, len(weights)):
        y = -_LINE * row
        frame = 1.8 if j == query else 0.8 if j in order else 0
        _box(ax, column, y, len(text), weights[j], frame)
        lines[row] = lines.get(row, "").ljust(column) + text
        if j in order:
            _write_weight(ax, column + len(text) / 2, y + 0.62, weights[j])
    # A line at once: token by token, rounding to pixels tears words apart.
    for row, line in lines.items():
        _write_line(ax, 0, -_LINE * row, line)
    prepare(ax, title)
    right = -0.5 + ax.bbox.width / _character_width(ax)  # one unit of the x axis is one character
    ax.set(xlim=(-0.5, right), ylim=(-_LINE * max(lines) - 1.0, 1.9), xticks=[], yticks=[])
    ax.set_xlabel("thick frame: the query; shade and number: its weight on that word", color=GREY)
    quiet_axes(ax)


def _box(ax: Axes, x: float, y: float, width: int, weight: float, frame: float) -> None:
    """The shade behind a token, as strong as its weight, and its frame if it has one."""
    from matplotlib.patches import Rectangle

    corner = (x - 0.25, y - 0.6)
    if weight > 0:
        ax.add_patch(Rectangle(corner, width + 0.5, 1.2, facecolor=ORANGE, alpha=min(weight, 1.0)))
    if frame:
        ax.add_patch(
            Rectangle(corner, width + 0.5, 1.2, fill=False, edgecolor=INK, linewidth=frame)
        )


def _write_line(ax: Axes, x: float, y: float, line: str) -> Text:
    return ax.text(
        x, y, line, va="center_baseline", family="monospace", fontsize=TEXT_SIZE, color=INK
    )


def _character_width(ax: Axes) -> float:
    """Pixels from one character to the next, as the figure's renderer sets them."""
    widths = []
    for count in (COLUMNS, 2 * COLUMNS):
        ruler = _write_line(ax, 0, 0, "0" * count)
        widths.append(ruler.get_window_extent().width)
        ruler.remove()
    return (widths[1] - widths[0]) / COLUMNS


def _write_weight(ax: Axes, x: float, y: float, weight: float) -> None:
    ax.text(
        x, y, f"{weight:.1%}", ha="center", va="bottom", fontsize=TEXT_SIZE, fontweight="bold",
        color=INK, bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 0},
    )  # fmt: skip


def _flow(tokens: Sequence[str], first: int, end: int) -> Iterator[tuple[int, int, int, str]]:
    """(token, row, column, text) of each token, in lines of at most COLUMNS characters, broken between words."""
    row = column = 0
    for j in range(first, end):
        if "\n" in tokens[j]:
            row, column = (row + 1, 0) if column else (row, 0)
            continue
        text = tokens[j].removeprefix(" ")
        begins_word = tokens[j].startswith(" ")
        if begins_word and column + 1 + _word_length(tokens, j, end) > COLUMNS:
            row, column = row + 1, 0
        column += begins_word and column > 0
        yield j, row, column, text
        column += len(text)


def _word_length(tokens: Sequence[str], start: int, end: int) -> int:
    """Characters of the word that begins at ``start``: its tokens up to the next that begins with a space."""
    length = len(tokens[start].removeprefix(" "))
    for token in tokens[start + 1 : end]:
        if token[:1] in (" ", "\n"):
            break
        length += len(token)
    return length
