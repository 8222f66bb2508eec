"""A picture of what bandwidth allows a kernel to compute: the roofline, and attention calls under it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import (
    BLUE,
    GREY,
    INK,
    LABEL_SIZE,
    ORANGE,
    PALE,
    TEXT_SIZE,
    VERMILION,
    WHITE,
    format_bytes,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fdlib.xray.figures.roofline import Roofline

__all__ = ["draw_call", "draw_ghost", "prepare_roofline"]

_COLUMN = 1.05  # where the numbers stand, right of the Axes, as a share of their width


def prepare_roofline(
    ax: Axes, intensity: Sequence[float], roof_tflops: Sequence[float], *, ridge: float, title: str
) -> None:
    """The roof over FLOPs per byte, and the ridge where its slope ends; both axes logarithmic."""
    prepare(ax, title)
    low, high = min(roof_tflops), max(roof_tflops)
    ax.set(
        xscale="log", yscale="log", xlim=(min(intensity), max(intensity)), ylim=(low / 4, high * 3)
    )
    ax.minorticks_off()
    ax.set(xlabel="FLOPs per byte", ylabel="TFLOPS at most")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    ax.grid(color=PALE)
    ax.set_axisbelow(True)
    ax.plot(intensity, roof_tflops, color=INK, linewidth=2)
    ax.axvline(ridge, color=GREY, linewidth=1, linestyle="--")
    for name, side, shift in (("memory-bound", "right", -6), ("compute-bound", "left", 6)):
        ax.annotate(
            name, (ridge, low / 4), xytext=(shift, 6), textcoords="offset points", ha=side,
            fontsize=TEXT_SIZE, color=GREY,
        )  # fmt: skip
    ax.annotate(
        f"ridge: {ridge:,.0f}", (ridge, high), xytext=(0, 6), textcoords="offset points", ha="center",
        fontsize=TEXT_SIZE, color=INK, bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 1},
    )  # fmt: skip
    quiet_axes(ax, "left", "bottom")


def draw_ghost(ax: Axes, call: Roofline, name: str) -> None:
    """A call to compare with: a hollow square and its name; no name if that is empty."""
    x, y = _place(ax, call)
    ax.plot([x], [y], "s", markersize=8, color=GREY, markerfacecolor=WHITE)
    _name(ax, name, x, y, GREY)


def draw_call(ax: Axes, call: Roofline, name: str) -> None:
    """A call as a disk under the roof, its intensity as a line down to the axis, its numbers at the right."""
    x, y = _place(ax, call)
    ax.plot([x, x], [ax.get_ylim()[0], y], color=VERMILION, linewidth=1.5, linestyle=(0, (2, 2)))
    ax.plot([x], [y], "o", markersize=12, color=VERMILION, markeredgecolor=INK)
    _name(ax, name, x, y, INK)
    rows = (
        _flops(call.shape.flops),
        f"{format_bytes(call.shape.min_bytes)} moved at least",
        f"{call.shape.intensity:,.1f} FLOPs per byte",
        f"arithmetic: {_short(call.compute_us)} us",
        f"memory: {_short(call.memory_us)} us",
    )
    look = {"transform": ax.transAxes, "va": "top", "color": INK}
    ax.text(_COLUMN, 1, "\n".join(rows), fontsize=TEXT_SIZE, linespacing=1.6, **look)
    ax.text(
        _COLUMN, 0.4, f"{call.bound}-bound:\nat least {_short(call.floor_us)} us", fontsize=LABEL_SIZE,
        linespacing=1.5, **look,
        bbox={"facecolor": WHITE, "edgecolor": ORANGE if call.bound == "memory" else BLUE, "linewidth": 2,
              "boxstyle": "round,pad=0.4"},
    )  # fmt: skip


def _place(ax: Axes, call: Roofline) -> tuple[float, float]:
    """Where the call stands, kept inside the picture."""
    (left, right), (low, _) = ax.get_xlim(), ax.get_ylim()
    return min(max(call.shape.intensity, left), right), max(call.tflops, low)


def _name(ax: Axes, name: str, x: float, y: float, colour: str) -> None:
    """Below the roof, where nothing else stands; at its left where the right has no room."""
    side, shift = ("right", -8) if x > 0.05 * ax.get_xlim()[1] else ("left", 10)
    ax.annotate(
        name, (x, y), xytext=(shift, -16), textcoords="offset points", ha=side, fontsize=LABEL_SIZE,
        color=colour,
    )  # fmt: skip


def _flops(count: int) -> str:
    """A number of FLOPs in the unit that leaves one to three digits before the point."""
    for unit, size in (("PFLOPs", 1e15), ("TFLOPs", 1e12), ("GFLOPs", 1e9), ("MFLOPs", 1e6)):
        if count >= size:
            return f"{_short(count / size)} {unit}"
    return f"{count:,} FLOPs"


def _short(number: float) -> str:
    """Three digits, or all before the point; no more than three after it."""
    if 0 < number < 0.001:
        return "under 0.001"
    return f"{number:,.0f}" if number >= 99.5 else f"{number:.3g}"
