"""A picture of softmax in one pass: scores, the running maximum, the sum and its correction, block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fdlib.xray.draw.style import (
    BLUE,
    INK,
    LABEL_SIZE,
    ORANGE,
    PALE,
    SKY,
    TEXT_SIZE,
    VERMILION,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fdlib.xray.figures.softmax_steps import SoftmaxStep

__all__ = ["draw_online_softmax"]

_HEADROOM = 1.28  # above the tallest bar, for its number
_MAX_NUMBERED = 24  # blocks; more would write numbers over one another


def draw_online_softmax(
    axes: Sequence[Axes],
    scores: Sequence[float],
    steps: Sequence[SoftmaxStep],
    *,
    words: Mapping[int, str] | None = None,
    title: str,
) -> None:
    """Three panels over the keys: scores under the running maximum, the correction factor, and the sum l.

    ``axes`` are three, best with a shared x axis. ``words`` maps key positions to a text that is written there.
    Raises `ValueError` for another number of axes.
    """
    if len(axes) != 3:
        raise ValueError(f"axes: got {len(axes)}, takes 3: scores, correction factor, sum")
    _draw_scores(axes[0], scores, steps, words or {})
    _draw_alpha(axes[1], steps)
    _draw_sum(axes[2], steps)
    for ax in axes:
        prepare(ax, title if ax is axes[0] else "")
        for step in steps[1:]:
            ax.axvline(step.start - 0.5, color=PALE, linewidth=0.8, zorder=0)
        quiet_axes(ax, "left", "bottom")
        ax.set_xlim(-1, max(len(scores), 1))
    axes[2].set_xlabel("key position (a vertical line: a new block)", fontsize=LABEL_SIZE)


def _draw_scores(
    ax: Axes, scores: Sequence[float], steps: Sequence[SoftmaxStep], words: Mapping[int, str]
) -> None:
    ax.plot(range(len(scores)), scores, ".", color=SKY, markersize=5, label="score of a key")
    for index, step in enumerate(steps):
        label = "running maximum m" if index == 0 else "_nolegend_"
        span = [step.start - 0.5, step.end - 0.5]
        ax.plot(span, [step.m, step.m], color=VERMILION, linewidth=2.5, label=label)
    for key, word in words.items():
        ax.annotate(
            word, (key, scores[key]), xytext=(-8, 6), textcoords="offset points", ha="right",
            fontsize=TEXT_SIZE, color=INK,
        )  # fmt: skip
        ax.plot([key], [scores[key]], "o", markersize=9, markerfacecolor="none", color=INK)
    ax.set_ylabel("score")
    ax.margins(y=0.15)
    if steps:
        ax.legend(loc="lower right", frameon=False, fontsize=TEXT_SIZE, ncols=2)


def _draw_alpha(ax: Axes, steps: Sequence[SoftmaxStep]) -> None:
    """Bars of the correction factor; a number where it is not 1, that is where the maximum moved."""
    for step in steps:
        ax.bar(_middle(step), step.alpha, _width(step), color=ORANGE, edgecolor=INK, linewidth=0.8)
        if step.alpha < 1 and len(steps) <= _MAX_NUMBERED:
            _write(ax, step, step.alpha, f"{step.alpha:.3g}")
    ax.set(ylabel="correction α", ylim=(0, _HEADROOM))


def _draw_sum(ax: Axes, steps: Sequence[SoftmaxStep]) -> None:
    for index, step in enumerate(steps):
        names = ("kept: old l · α", "added by this block") if index == 0 else ("_nolegend_",) * 2
        kept: dict[str, Any] = {"color": BLUE, "label": names[0]}
        added: dict[str, Any] = {
            "facecolor": "white",
            "hatch": "////",
            "edgecolor": INK,
            "label": names[1],
        }
        ax.bar(_middle(step), step.l_kept, _width(step), edgecolor=INK, linewidth=0.8, **kept)
        ax.bar(_middle(step), step.l_added, _width(step), step.l_kept, linewidth=0.8, **added)
        if len(steps) <= _MAX_NUMBERED:
            _write(ax, step, step.l, f"{step.l:.2f}")
    tallest = max((step.l for step in steps), default=1.0)
    ax.set(ylabel="sum l", ylim=(0, _HEADROOM * max(tallest, 1e-9)))
    if steps:
        ax.legend(
            loc="upper left", bbox_to_anchor=(0, -0.32), frameon=False, ncols=2, fontsize=TEXT_SIZE
        )


def _middle(step: SoftmaxStep) -> float:
    return (step.start + step.end - 1) / 2


def _width(step: SoftmaxStep) -> float:
    return 0.8 * (step.end - step.start)


def _write(ax: Axes, step: SoftmaxStep, height: float, text: str) -> None:
    ax.annotate(
        text, (_middle(step), height), xytext=(0, 2), textcoords="offset points", ha="center",
        fontsize=TEXT_SIZE, color=INK,
    )  # fmt: skip
