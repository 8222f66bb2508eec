"""A picture of the split: whose keys are whose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fdlib.xray.draw.style import (
    CYCLE,
    HATCHES,
    INK,
    TEXT_SIZE,
    WHITE,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_key_splits"]

Range = tuple[int, int]  # keys start to end - 1

_ROOM_FOR_LABEL = 0.04  # share of the strip that a number needs
_WIDTH_IN_STRIPES = 64  # more parts than this are drawn without hatch and outline


def draw_key_splits(
    ax: Axes, strips: Sequence[tuple[str, Sequence[Range]]], len_kv: int, *, title: str
) -> None:
    """One strip of ``len_kv`` keys per entry of ``strips`` (label, ranges), cut where ranges end.

    Each piece is the work of one program and carries its number if there is room. Pieces next to
    each other differ in colour and hatch; an empty range is not drawn.
    """
    for row, (_, ranges) in enumerate(strips):
        crowded = len(ranges) > _WIDTH_IN_STRIPES
        for number, (start, end) in enumerate(ranges):
            if end <= start:
                continue
            ax.barh(
                row, end - start, 0.72, left=start, clip_on=False, **_piece_style(number, crowded)
            )
            if end - start >= _ROOM_FOR_LABEL * len_kv:
                _write(ax, (start + end) / 2, row, str(number))
    prepare(ax, title)
    ax.set(xlim=(0, max(len_kv, 1)), ylim=(len(strips) - 0.4, -0.6), xlabel="key")
    ax.set_yticks(range(len(strips)), [label for label, _ in strips])
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.tick_params(axis="y", length=0)
    quiet_axes(ax, "bottom")


def _piece_style(number: int, crowded: bool) -> dict[str, Any]:
    place = number % 2
    style: dict[str, Any] = {"facecolor": CYCLE[place]}
    if not crowded:
        style |= {"hatch": HATCHES[place], "edgecolor": INK, "linewidth": 0.8}
    return style


def _write(ax: Axes, x: float, y: float, text: str) -> None:
    ax.text(
        x, y, text, ha="center", va="center", fontsize=TEXT_SIZE, color=INK,
        bbox={"boxstyle": "round,pad=0.2", "facecolor": WHITE, "edgecolor": "none"},
    )  # fmt: skip
