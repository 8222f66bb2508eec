"""Pictures of memory: what bandwidth allows a kernel to compute (roofline), and how the KV cache grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fdlib.xray.draw.style import (
    CYCLE,
    GREY,
    INK,
    PALE,
    TEXT_SIZE,
    WHITE,
    YELLOW,
    format_bytes,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_kv_growth", "draw_roofline"]

Point = tuple[str, float, float]  # (label, FLOPs per byte, TFLOPS)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
# Yellow is too faint for a line on white; grey is for what is not a series.
_COLOURS = tuple(colour for colour in CYCLE if colour not in (YELLOW, GREY))
_LABEL_GAP = 0.065  # of the axes' height, between labels at the right end


def draw_roofline(
    ax: Axes,
    intensity: Sequence[float],
    roof_tflops: Sequence[float],
    points: Sequence[Point],
    *,
    ridge: float,
    title: str,
) -> None:
    """The roof over FLOPs per byte, the ridge where its slope ends, and the named points; both axes logarithmic.

    ``intensity`` and ``roof_tflops`` are the roof's line; ``points`` holds ``(label, FLOPs per byte, TFLOPS)``.
    """
    ax.plot(intensity, roof_tflops, color=INK, linewidth=2)
    ax.axvline(ridge, color=GREY, linewidth=1, linestyle="--")
    low, high = min(roof_tflops), max(roof_tflops)
    for name, side, shift in (("memory-bound", "right", -6), ("compute-bound", "left", 6)):
        ax.annotate(
            name, (ridge, low), xytext=(shift, 4), textcoords="offset points", ha=side,
            fontsize=TEXT_SIZE, color=GREY,
        )  # fmt: skip
    ax.annotate(
        f"ridge: {ridge:,.0f}", (ridge, high), xytext=(0, 5), textcoords="offset points",
        ha="center", fontsize=TEXT_SIZE, color=INK,
        bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 1},
    )  # fmt: skip
    for index, (label, x, y) in enumerate(points):
        look: dict[str, Any] = {
            "marker": _MARKERS[index % 8],
            "color": _COLOURS[index % len(_COLOURS)],
        }
        ax.plot([x], [y], linestyle="none", markersize=10, markeredgecolor=INK, label=label, **look)
    prepare(ax, title)
    ax.set(xscale="log", yscale="log", ylim=(low, high * 2))
    ax.set(xlabel="FLOPs per byte, log scale", ylabel="TFLOPS at most, log scale")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    ax.grid(color=PALE)
    ax.set_axisbelow(True)
    quiet_axes(ax, "left", "bottom")
    if points:
        ax.legend(
            loc="upper left", bbox_to_anchor=(0, -0.2), frameon=False, fontsize=TEXT_SIZE + 1,
            handletextpad=0.3,
        )  # fmt: skip


def draw_kv_growth(
    ax: Axes,
    tokens: Sequence[int],
    cache_bytes: Mapping[str, Sequence[float]],
    *,
    memory_bytes: Mapping[str, float] | None = None,
    title: str,
) -> None:
    """Bytes of the KV cache over tokens: a line a model, named at its right end; memory sizes as horizontal lines.

    ``cache_bytes`` maps a label to its bytes at each of ``tokens``; ``memory_bytes`` a label to one size.
    """
    memory = dict(memory_bytes or {})
    for index, line in enumerate(cache_bytes.values()):
        look: dict[str, Any] = {
            "color": _COLOURS[index % len(_COLOURS)],
            "linestyle": _LINES[index % len(_LINES)],
        }
        ax.plot(tokens, line, linewidth=2.5, **look)
    for size in memory.values():
        ax.axhline(size, color=GREY, linewidth=1, linestyle=(0, (1, 2)))
    prepare(ax, title)
    top = max([1.0, *memory.values(), *(max(line, default=0) for line in cache_bytes.values())])
    left, right = min(tokens, default=0), max(tokens, default=1)
    ax.set(xlim=(left, max(right, left + 1)), ylim=(0, 1.06 * top))
    ax.set(xlabel="tokens in the cache", ylabel="bytes of the KV cache")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.yaxis.set_major_formatter(lambda value, _: format_bytes(value))
    quiet_axes(ax, "left", "bottom")
    for label, size in memory.items():
        ax.annotate(
            f"{label}: {format_bytes(size)}", (0, size), xycoords=("axes fraction", "data"),
            xytext=(6, 3), textcoords="offset points", fontsize=TEXT_SIZE, color=GREY,
        )  # fmt: skip
    ends = {label: line[-1] for label, line in cache_bytes.items() if len(line)}
    _label_ends(ax, ends, 1.06 * top)


def _label_ends(ax: Axes, ends: Mapping[str, float], height: float) -> None:
    """Each line's name and last value beside its right end, moved up where two would touch."""
    floor = 0.0
    for label, value in sorted(ends.items(), key=lambda entry: entry[1]):
        place = max(value / height, floor)
        floor = place + _LABEL_GAP
        ax.annotate(
            f"{label}: {format_bytes(value)}", (1, value / height), xycoords="axes fraction",
            xytext=(1.02, place), textcoords="axes fraction", va="center",
            fontsize=TEXT_SIZE + 1, color=INK, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
