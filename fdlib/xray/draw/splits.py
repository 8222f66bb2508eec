"""Pictures of the split: whose keys are whose, what each part weighs, what the split count costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fdlib.xray.draw.style import (
    CYCLE,
    GREY,
    HATCHES,
    INK,
    PALE,
    TEXT_SIZE,
    WHITE,
    prepare,
    quiet_axes,
    series_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_key_splits", "draw_split_weights", "draw_time_against_splits"]

Range = tuple[int, int]  # keys start to end - 1

_ROOM_FOR_LABEL = 0.04  # share of the strip that a number needs
_WIDTH_IN_STRIPES = 64  # more parts than this are drawn without hatch and outline
_MARKERS = "osD^vPX*"
_LINES = ("-", "--", "-.", ":")


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


def draw_split_weights(
    ax: Axes, weights: Sequence[Sequence[float]], labels: Sequence[str], *, title: str
) -> None:
    """One bar per row of ``weights``: the shares of its parts in order; they add up to 1.

    ``labels`` name the rows. A share is written into its piece as a percentage if there is room.
    """
    from matplotlib.patches import Patch

    for row, shares in enumerate(weights):
        left = 0.0
        for part, share in enumerate(shares):
            ax.barh(row, share, 0.66, left=left, clip_on=False, **series_style(part))
            if share >= _ROOM_FOR_LABEL:
                _write(ax, left + share / 2, row, f"{share:.0%}")
            left += share
    prepare(ax, title)
    ax.set(xlim=(0, 1), ylim=(max(len(weights), 1) - 0.5, -0.5), xlabel="share of the softmax")
    ax.set_yticks(range(len(weights)), labels)
    ax.xaxis.set_major_formatter(_percent)
    ax.tick_params(axis="y", length=0)
    quiet_axes(ax, "bottom")
    count = min(max((len(shares) for shares in weights), default=0), len(CYCLE))
    handles = [Patch(**series_style(part)) for part in range(count)]
    ax.legend(
        handles, [f"split {part}" for part in range(count)], ncols=max(count, 1), frameon=False,
        loc="upper left", bbox_to_anchor=(0, -0.22), fontsize=TEXT_SIZE, labelcolor=INK,
        handlelength=2, handleheight=1.2,
    )  # fmt: skip


def draw_time_against_splits(
    ax: Axes,
    curves: Mapping[str, Sequence[tuple[int, float]]],
    waves: Sequence[tuple[int, str]] = (),
    *,
    title: str,
) -> None:
    """One line per entry of ``curves``: (number of splits, microseconds), both axes logarithmic.

    A ring marks each line's fastest point. ``waves`` are vertical lines: (number of splits, what
    happens there).
    """
    for index, (label, points) in enumerate(curves.items()):
        splits, times_us = [s for s, _ in points], [t for _, t in points]
        style: dict[str, Any] = {
            "color": CYCLE[(5, 6, 2, 3)[index % 4]],
            "linestyle": _LINES[index % len(_LINES)],
            "marker": _MARKERS[index % len(_MARKERS)],
        }
        ax.plot(splits, times_us, label=label, markersize=5, linewidth=1.8, **style)
        if points:
            best_splits, best_us = min(points, key=lambda point: point[1])
            ax.plot(best_splits, best_us, "o", markersize=13, fillstyle="none", color=INK)
            ax.annotate(
                f"{best_us:.1f} us at {best_splits}", (best_splits, best_us), xytext=(0, 18),
                textcoords="offset points", ha="center", va="center", fontsize=TEXT_SIZE, color=INK,
                bbox={"boxstyle": "round,pad=0.1", "facecolor": WHITE, "edgecolor": "none"},
            )  # fmt: skip
    prepare(ax, title)
    ax.set(xscale="log", yscale="log", xlabel="splits", ylabel="microseconds")
    _mark_waves(ax, waves)
    _plain_ticks(ax, sorted({s for points in curves.values() for s, _ in points}))
    ax.grid(axis="y", color=PALE)
    ax.set_axisbelow(True)
    quiet_axes(ax, "left", "bottom")
    if curves:
        ax.legend(frameon=False, fontsize=TEXT_SIZE, labelcolor=INK)


def _mark_waves(ax: Axes, waves: Sequence[tuple[int, str]]) -> None:
    for line, (splits, text) in enumerate(waves):
        ax.axvline(splits, color=GREY, linewidth=1, linestyle=(0, (2, 3)))
        ax.annotate(
            text, (splits, 1), xycoords=("data", "axes fraction"), xytext=(-4, -4 - 15 * line),
            textcoords="offset points", va="top", ha="right", fontsize=TEXT_SIZE, color=GREY,
        )  # fmt: skip


def _plain_ticks(ax: Axes, splits: Sequence[int]) -> None:
    ax.minorticks_off()
    if splits:
        ax.set_xticks(splits, [str(s) for s in splits])
    low, high = ax.get_ylim()
    steps = [step * 10**power for power in range(-1, 6) for step in (1, 2, 5)]
    shown = [step for step in steps if low <= step <= high]
    if shown:
        ax.set_yticks(shown, [f"{step:g}" for step in shown])
    if low > 0:
        ax.set_ylim(low, 1.6 * high)  # room for the waves' texts


def _percent(value: float, _position: float) -> str:
    return f"{value:.0%}"


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
