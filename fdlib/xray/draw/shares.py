"""A picture of shares: bars from 0 to 100%, of things that one might take for each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import (
    INK,
    LABEL_SIZE,
    PALE,
    TEXT_SIZE,
    WHITE,
    prepare,
    quiet_axes,
    series_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_shares"]


def draw_shares(ax: Axes, rows: Sequence[tuple[str, float]], *, title: str) -> str:
    """A bar for each ``(what is counted, share)``, a share from 0 to 1, with its number; returns the same in words."""
    for place, (label, share) in enumerate(rows):
        ax.barh(place, 1, 0.5, facecolor=PALE, edgecolor="none")
        ax.barh(place, share, 0.5, **series_style(place))
        ax.text(0, place - 0.36, label, va="bottom", fontsize=TEXT_SIZE, color=INK)
        inside = share > 0.5
        ax.text(
            share - 0.02 if inside else share + 0.02, place, f"{share:.1%}", va="center", weight="bold",
            ha="right" if inside else "left", fontsize=LABEL_SIZE + 1, color=INK,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": WHITE, "edgecolor": "none"},
        )  # fmt: skip
    prepare(ax, title)
    ax.set(xlim=(0, 1), ylim=(len(rows) - 0.4, -0.85), yticks=[], xticks=[0, 0.5, 1])
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    quiet_axes(ax, "bottom")
    return " ".join(f"{label}: {share:.1%}." for label, share in rows)
