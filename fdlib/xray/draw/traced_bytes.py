"""A picture of traced traffic: for each tensor argument, the bytes asked for around the bytes that must reach HBM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import (
    BLUE,
    INK,
    LABEL_SIZE,
    ORANGE,
    PALE,
    TEXT_SIZE,
    WHITE,
    format_bytes,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fdlib.xray.figures.traced_bytes import KernelBytes

__all__ = ["draw_traced_bytes", "prepare_traced_bytes", "rows_high"]

_HEAD = 1.7  # rows that the line with a kernel's name takes
_MEANING = (
    "Asked for: every load and store of every program. HBM: each 32-byte sector that a launch uses, once, if it "
    "finds nothing in L2."
)
_ROOM = 1.34  # of the longest bar: its numbers stand behind it
_STEPS = (1, 2, 2.5, 5, 10)  # between marks of the axis, times a power of ten
_MARKS = 4  # at most, after 0
# The one lies inside the other: they differ in height and outline, not by colour alone.
_ASKED = {"facecolor": ORANGE, "edgecolor": INK, "linewidth": 0.8}
_HBM = {"facecolor": BLUE, "edgecolor": WHITE, "linewidth": 0.8}


def prepare_traced_bytes(ax: Axes, kernels: Sequence[KernelBytes], *, title: str) -> None:
    """A row for each argument of each kernel, its name at the left, an axis for the longest of them, and the key."""
    from matplotlib.patches import Patch

    prepare(ax, title)
    places = _places(kernels)
    last = max((rows[-1] for _, rows in places if rows), default=0)
    longest = max((row.asked for kernel in kernels for row in kernel.rows), default=0) or 1
    ax.set(xlim=(0, _ROOM * longest), ylim=(last + 0.6, -0.7))
    marks = _marks(longest)
    ax.set_xticks(marks, [format_bytes(mark) for mark in marks])
    ax.grid(axis="x", color=PALE)
    ax.set_axisbelow(True)
    names = [row.name for kernel in kernels for row in kernel.rows]
    ax.set_yticks([place for _, rows in places for place in rows], names, fontsize=TEXT_SIZE)
    ax.tick_params(axis="y", length=0)
    quiet_axes(ax, "left", "bottom")
    ax.legend(
        handles=[Patch(**_ASKED, label="asked for by programs"),
                 Patch(**_HBM, label="must reach HBM, at least")],
        loc="upper left", bbox_to_anchor=(-0.05, 0), ncols=2, frameon=False, fontsize=TEXT_SIZE,
        labelcolor=INK, borderaxespad=1.9,
    )  # fmt: skip


def draw_traced_bytes(ax: Axes, kernels: Sequence[KernelBytes]) -> str:
    """Two bars in a row on the axis, both numbers behind them; returns what the picture says, in words."""
    from matplotlib.collections import PolyCollection

    right = ax.get_xlim()[1]
    wide, thin = [], []
    for kernel, (head, rows) in zip(kernels, _places(kernels), strict=True):
        ax.text(0.006 * right, head, _headline(kernel), va="center", fontsize=LABEL_SIZE, color=INK)
        for row, place in zip(kernel.rows, rows, strict=True):
            wide.append(_corners(row.asked, place, 0.40))
            thin.append(_corners(row.hbm, place, 0.2))
            text = f"{format_bytes(row.asked)} / {format_bytes(row.hbm)}"
            end = max(row.asked, row.hbm) + 0.009 * right
            ax.text(end, place, text, va="center_baseline", fontsize=TEXT_SIZE, color=INK)
    ax.add_collection(PolyCollection(wide, **_ASKED), autolim=False)
    ax.add_collection(PolyCollection(thin, **_HBM), autolim=False)
    return " ".join([*map(_sentence, kernels), _MEANING])


def rows_high(kernels: Sequence[KernelBytes]) -> float:
    """How many rows high the picture is."""
    return sum(_HEAD + len(kernel.rows) for kernel in kernels)


def _places(kernels: Sequence[KernelBytes]) -> list[tuple[float, list[float]]]:
    """Where each kernel's headline and rows stand, from the top."""
    places, top = [], 0.0
    for kernel in kernels:
        rows = [top + _HEAD + number for number in range(len(kernel.rows))]
        places.append((top + _HEAD - 1.15, rows))
        top += _HEAD + len(kernel.rows)
    return places


def _marks(longest: int) -> list[float]:
    """0 and up to four round numbers of bytes."""
    power = 10.0 ** (len(str(longest // _MARKS)) - 1)
    step = next(step * power for step in _STEPS if _MARKS * step * power >= longest * 0.8)
    return [mark * step for mark in range(_MARKS + 1) if mark * step <= longest * _ROOM * 0.97]


def _corners(length: float, place: float, half: float) -> list[tuple[float, float]]:
    return [(0, place - half), (length, place - half), (length, place + half), (0, place + half)]


def _headline(kernel: KernelBytes) -> str:
    both = f"{format_bytes(kernel.asked)} asked for, {format_bytes(kernel.hbm)} to or from HBM"
    return f"{kernel.name}: {both}"


def _sentence(kernel: KernelBytes) -> str:
    launches = f"{kernel.launches} launch" + "es" * (kernel.launches != 1)
    programs = f"{kernel.programs:,} program" + "s" * (kernel.programs != 1)
    return f"{_headline(kernel)} ({launches}, {programs}){_largest(kernel)}."


def _largest(kernel: KernelBytes) -> str:
    """Who moves the most, by name; an argument that is so in several launches is named once."""
    if not kernel.largest:
        return ""
    names = list(dict.fromkeys(row.name.split()[-1] for row in kernel.largest))
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    each = " each" * (len(kernel.largest) > 1)
    return f"; largest: {listed} with {format_bytes(kernel.largest[0].hbm)}{each}"
