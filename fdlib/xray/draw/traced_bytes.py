"""A picture of traced traffic: for each tensor argument, the bytes asked for around the bytes that must reach HBM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import (
    BLUE,
    INK,
    LABEL_SIZE,
    ORANGE,
    TEXT_SIZE,
    WHITE,
    format_bytes,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fdlib.xray.figures.traced_bytes import KernelBytes

__all__ = ["draw_traced_bytes", "prepare_traced_bytes"]

_HEAD = 1.25  # rows that the line with a kernel's name takes
_MEANING = (
    "Asked for: every load and store of every program. HBM: each 32-byte sector that a launch uses, once, if it "
    "finds nothing in L2."
)
_ROOM = 1.34  # of the longest bar: its numbers stand behind it
# The one lies inside the other: they differ in height and outline, not by colour alone.
_ASKED = {"facecolor": ORANGE, "edgecolor": INK, "linewidth": 0.8}
_HBM = {"facecolor": BLUE, "edgecolor": WHITE, "linewidth": 0.8}


def prepare_traced_bytes(ax: Axes, kernels: Sequence[KernelBytes], *, title: str) -> None:
    """A row for each argument of each kernel, its name at the left, and the key."""
    from matplotlib.patches import Patch

    prepare(ax, title)
    places = _places(kernels)
    last = max((rows[-1] for _, rows in places if rows), default=0)
    ax.set(xlim=(0, _ROOM), ylim=(last + 0.6, -0.7), xticks=[])
    names = [row.name for kernel in kernels for row in kernel.rows]
    ax.set_yticks([place for _, rows in places for place in rows], names, fontsize=TEXT_SIZE)
    ax.tick_params(axis="y", length=0)
    quiet_axes(ax, "left")
    ax.legend(
        handles=[Patch(**_ASKED, label="asked for by programs"),
                 Patch(**_HBM, label="must reach HBM, at least")],
        loc="upper left", bbox_to_anchor=(-0.05, 0.01), ncols=2, frameon=False, fontsize=TEXT_SIZE,
        labelcolor=INK,
    )  # fmt: skip


def draw_traced_bytes(ax: Axes, kernels: Sequence[KernelBytes]) -> str:
    """Two bars in a row on one linear scale, both numbers behind them; returns what the picture says, in words."""
    from matplotlib.collections import PolyCollection

    longest = max((row.asked for kernel in kernels for row in kernel.rows), default=0) or 1
    wide, thin = [], []
    for kernel, (head, rows) in zip(kernels, _places(kernels), strict=True):
        ax.text(0.008, head, _headline(kernel), va="center", fontsize=LABEL_SIZE, color=INK)
        for row, place in zip(kernel.rows, rows, strict=True):
            wide.append(_corners(row.asked / longest, place, 0.40))
            thin.append(_corners(row.hbm / longest, place, 0.2))
            text = f"{format_bytes(row.asked)} / {format_bytes(row.hbm)}"
            end = max(row.asked, row.hbm) / longest
            ax.text(end + 0.012, place, text, va="center_baseline", fontsize=TEXT_SIZE, color=INK)
    ax.add_collection(PolyCollection(wide, **_ASKED), autolim=False)
    ax.add_collection(PolyCollection(thin, **_HBM), autolim=False)
    return " ".join([*map(_sentence, kernels), _MEANING])


def _places(kernels: Sequence[KernelBytes]) -> list[tuple[float, list[float]]]:
    """Where each kernel's headline and rows stand, from the top."""
    places, top = [], 0.0
    for kernel in kernels:
        rows = [top + _HEAD + number for number in range(len(kernel.rows))]
        places.append((top + 0.1, rows))
        top += _HEAD + len(kernel.rows)
    return places


def _corners(length: float, place: float, half: float) -> list[tuple[float, float]]:
    return [(0, place - half), (length, place - half), (length, place + half), (0, place + half)]


def _headline(kernel: KernelBytes) -> str:
    both = f"{format_bytes(kernel.asked)} asked for, {format_bytes(kernel.hbm)} to or from HBM"
    return f"{kernel.name}: {both}"


def _sentence(kernel: KernelBytes) -> str:
    launches = f"{kernel.launches} launch" + "es" * (kernel.launches != 1)
    programs = f"{kernel.programs:,} program" + "s" * (kernel.programs != 1)
    largest = max(kernel.rows, key=lambda row: row.hbm)
    return (
        f"{_headline(kernel)} ({launches}, {programs}), most of it "
        f"{largest.name.split()[-1]} with {format_bytes(largest.hbm)}."
    )
