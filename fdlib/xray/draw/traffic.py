"""A picture of memory traffic: bytes that went between memory and chip, as horizontal bars on a log scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import (
    INK,
    PALE,
    TEXT_SIZE,
    format_bytes,
    prepare,
    quiet_axes,
    series_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_traffic"]

Row = tuple[str, str, float]  # (label at the left, kind: colour and hatch, bytes)


def draw_traffic(ax: Axes, rows: Sequence[Row], *, title: str) -> None:
    """Bytes moved, a horizontal bar each, first row on top; every bar carries its number.

    ``rows`` holds ``(label, kind, bytes)``; kinds differ in colour and hatch and stand in a legend if there are two or
    more. The scale is logarithmic: each line of the grid is ten times the one before. Bytes of 0 have no bar.
    """
    from matplotlib.patches import Patch

    kinds = list(dict.fromkeys(kind for _, kind, _ in rows))
    shown = [count for _, _, count in rows if count > 0] or [1]
    left, right = min(shown) / 4, max(shown) * 12  # room for the number behind the longest bar
    for place, (_, kind, count) in enumerate(rows):
        if count > 0:
            ax.barh(place, count - left, 0.68, left, **series_style(kinds.index(kind)))
        ax.annotate(
            format_bytes(count), (max(count, left), place), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=TEXT_SIZE + 1, color=INK,
        )  # fmt: skip
    prepare(ax, title)
    ax.set(
        xscale="log",
        xlim=(left, right),
        ylim=(len(rows) - 0.4, -0.6),
        xlabel="bytes moved, log scale",
    )
    ax.set_yticks(range(len(rows)), [label for label, _, _ in rows], fontsize=TEXT_SIZE + 1)
    ax.xaxis.set_major_formatter(lambda value, _: format_bytes(value))
    ax.grid(axis="x", which="major", color=PALE)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.minorticks_off()
    quiet_axes(ax, "bottom")
    if len(kinds) > 1:
        ax.legend(
            [Patch(**series_style(index)) for index in range(len(kinds))], kinds,
            loc="upper left", bbox_to_anchor=(0, -0.24), ncols=min(len(kinds), 4),
            frameon=False, fontsize=TEXT_SIZE,
        )  # fmt: skip
