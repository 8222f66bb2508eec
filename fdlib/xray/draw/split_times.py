"""A picture of Flash-Decoding's time against the number of splits, with the waves of programs as bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import (
    BLUE,
    GREY,
    INK,
    PALE,
    TEXT_SIZE,
    VERMILION,
    WHITE,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fdlib.xray.figures.split_curve import Point, SplitCurve, Wave

__all__ = ["draw_split_times", "prepare_split_times"]

_MODEL = {"color": BLUE, "linestyle": "--", "linewidth": 1.8, "marker": "s", "markersize": 3.5}
_MEASURED = {
    "color": VERMILION,
    "linestyle": "-",
    "linewidth": 1.2,
    "marker": "o",
    "markersize": 6,
}
_NAMES = ("one program an SM", "two", "three", "four")
_MOST_TICKS = 4


def prepare_split_times(ax: Axes, splits: Sequence[int], *, title: str) -> None:
    """A logarithmic axis from the first to the last of ``splits``, and the title."""
    prepare(ax, title)
    ax.set(xscale="log", yscale="log", xlim=(splits[0] * 0.85, splits[-1] * 1.2), xlabel="splits")
    ax.minorticks_off()
    ax.set_xticks(splits, [str(count) for count in splits])
    ax.set_yticks([])
    quiet_axes(ax, "left", "bottom")


def draw_split_times(ax: Axes, curve: SplitCurve) -> None:
    """The modelled line, the measured points, their fastest points, the rule's choice and the waves."""
    times = [time for _, time in (*curve.model, *curve.measured)]
    low, high = min(times) / 1.5, max(times) * 2.2
    ax.set_ylim(low, high)
    _draw_waves(ax, curve.waves)
    _write_ticks(ax, low, high / 1.5)
    ax.plot(*zip(*curve.model, strict=True), **_MODEL)
    if curve.measured:
        ax.plot(*zip(*curve.measured, strict=True), **_MEASURED)
    else:
        ax.annotate(
            "MODEL only: nothing measured here", (1, 0), xycoords="axes fraction", xytext=(-4, -21),
            textcoords="offset points", ha="right", va="top", fontsize=TEXT_SIZE, color=INK,
            annotation_clip=False,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": WHITE, "edgecolor": INK, "linestyle": "--"},
        )  # fmt: skip
    ax.axvline(curve.rule, color=INK, linewidth=0.8, linestyle=(0, (1, 3)))
    ax.plot([curve.rule], [low * 1.12], "D", markersize=8, color=INK, fillstyle="none")
    _draw_key(ax, measured=bool(curve.measured))
    _ring(ax, curve.best_measured or curve.best_model)


def _draw_key(ax: Axes, *, measured: bool) -> None:
    """What the lines, the diamond and the bands are: only what is in the picture."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    lines = [Line2D([], [], **_MODEL, label="MODEL")]
    if measured:
        lines.append(Line2D([], [], **_MEASURED, label="MEASURED"))
    diamond = {"marker": "D", "markersize": 8, "color": INK, "linestyle": "", "fillstyle": "none"}
    handles = [
        *lines,
        Line2D([], [], **diamond, label="the rule's choice"),
        Patch(facecolor=PALE, edgecolor=GREY, label="waves of programs"),
    ]
    ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(-0.08, -0.17), ncols=4, frameon=False,
        fontsize=TEXT_SIZE, labelcolor=INK, handletextpad=0.5, columnspacing=1.0, handlelength=1.8,
    )  # fmt: skip


def _draw_waves(ax: Axes, waves: Sequence[Wave]) -> None:
    """Bands by turns grey and white; a name where it fits."""
    left, right = ax.get_xlim()
    for (start, end, number), name in zip(waves, _NAMES, strict=True):
        low, high = max(start, left), min(end, right)
        if low >= high:
            continue
        if number % 2:
            ax.axvspan(low, high, color=PALE, linewidth=0, zorder=0.5)
        ax.axvline(high, color=GREY, linewidth=0.8)
        if high / low > 1.35:
            short = name if high / low > 5 else str(number)
            ax.annotate(
                short, ((low * high) ** 0.5, 1), xycoords=("data", "axes fraction"), ha="center",
                xytext=(0, -5), textcoords="offset points", va="top", fontsize=TEXT_SIZE, color=INK,
            )  # fmt: skip


def _write_ticks(ax: Axes, low: float, high: float) -> None:
    """Round numbers of microseconds beside the axis: an axis that is drawn anew is slow."""
    steps = [step * 10**power for power in range(-1, 7) for step in (1, 2, 5)]
    inside = [step for step in steps if low <= step <= high]
    every = -(-len(inside) // _MOST_TICKS) or 1
    for step in inside[::every]:
        ax.axhline(step, color=PALE, linewidth=1, zorder=0.4)
        ax.annotate(
            f"{step:,g} us", (0, step), xycoords=("axes fraction", "data"), xytext=(-5, 0),
            textcoords="offset points", ha="right", va="center", fontsize=TEXT_SIZE, color=INK,
            annotation_clip=False,
        )  # fmt: skip


def _ring(ax: Axes, point: Point) -> None:
    splits, time_us = point
    # At the left end it would cover the marks of the time; elsewhere, at its right, the jump at the end of a wave.
    side, shift = ("left", 0) if splits < 2.5 * ax.get_xlim()[0] else ("right", -3)
    ax.plot(
        [splits], [time_us], "o", markersize=13, fillstyle="none", color=INK, markeredgewidth=1.5
    )
    ax.annotate(
        f"{time_us:,.1f} us at {splits}", point, xytext=(shift, 17), textcoords="offset points",
        ha=side, va="center", fontsize=TEXT_SIZE, color=INK, weight="bold",
        bbox={"boxstyle": "round,pad=0.12", "facecolor": WHITE, "edgecolor": "none", "alpha": 0.85},
    )  # fmt: skip
