"""A picture of softmax in one pass, one key at a time: words, scores, the running m and l, weights so far, acc.

`prepare_softmax_walk` draws what stays for all keys, `draw_softmax_walk` what is known after some of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fdlib.xray.draw.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    LABEL_SIZE,
    ORANGE,
    PALE,
    SKY,
    TEXT_SIZE,
    VERMILION,
    WHITE,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fdlib.xray.figures.softmax_steps import SoftmaxStep, SoftmaxWalk

__all__ = ["WalkAxes", "draw_softmax_walk", "prepare_softmax_walk"]

_CHARACTERS = 67  # of the line of words
_WORD_AT = 33  # where in it the word that is read begins
_HIGHLIGHT = "#FFE2A8"  # a pale ORANGE


class WalkAxes(NamedTuple):
    """The five Axes of the picture, from above."""

    words: Axes
    scores: Axes
    weights: Axes
    total: Axes
    acc: Axes


def prepare_softmax_walk(figure: Figure, walk: SoftmaxWalk, *, title: str) -> WalkAxes:
    """The Axes, with the scores of keys that are not read yet as faint dots."""
    words = figure.add_axes((0.02, 0.865, 0.96, 0.065))
    scores = figure.add_axes((0.095, 0.535, 0.89, 0.31))
    weights = figure.add_axes((0.095, 0.285, 0.89, 0.19))
    total = figure.add_axes((0.095, 0.075, 0.38, 0.075))
    acc = figure.add_axes((0.545, 0.075, 0.44, 0.075))
    figure.text(0.02, 0.95, title, fontsize=LABEL_SIZE + 1, color=INK)
    last = len(walk.scores)
    low, high = min(walk.scores), max(walk.scores)
    room = 0.1 * (high - low) or 1.0
    scores.plot(
        range(last),
        walk.scores,
        "o",
        markersize=3.5,
        color=PALE,
        markeredgecolor=GREY,
        markeredgewidth=0.4,
    )
    scores.set(ylim=(low - 3.2 * room, high + 2.2 * room), ylabel="score")
    weights.set(ylim=(0, 1.28), yticks=[0, 0.5, 1], ylabel="weight so far")
    weights.set_xlabel("key", loc="right", labelpad=-2)
    total.set(ylim=(0, 1), yticks=[])
    acc.set(ylim=(0, 1), yticks=[], xticks=[])
    for ax in (words, scores, weights, total, acc):
        prepare(ax, "")
        quiet_axes(ax, *(("left", "bottom") if ax in (scores, weights) else ()))
    for ax in (scores, weights):
        ax.set_xlim(-1, last)
    scores.tick_params(labelbottom=False)
    words.set(xlim=(0, _CHARACTERS), ylim=(0, 1), xticks=[], yticks=[])
    total.set_xlim(0, max(step.l for step in walk.steps) * 1.05)
    acc.set_xlim(0, len(walk.accs[0]))
    return WalkAxes(words, scores, weights, total, acc)


def draw_softmax_walk(axes: WalkAxes, walk: SoftmaxWalk, count: int, weights: list[float]) -> None:
    """The state after the first ``count`` keys. ``weights`` are theirs, as `SoftmaxWalk.weights_after` gives them."""
    _draw_words(axes.words, walk.words, count)
    if not count:
        axes.scores.text(
            0.01, 0.05, "No key is read: m is -inf, l and acc are 0.", fontsize=LABEL_SIZE, color=INK,
            transform=axes.scores.transAxes,
        )  # fmt: skip
        return
    step = walk.steps[count - 1]
    _draw_scores(axes.scores, walk, count)
    _draw_weights(axes.weights, walk.words, weights)
    _draw_total(axes.total, step)
    _draw_acc(axes.acc, walk, count)
    if step.alpha < 1:
        _draw_correction(axes.scores, step)


def _draw_words(ax: Axes, words: tuple[str, ...], count: int) -> None:
    """The text around the word that is read, which has a frame; what is not read yet is grey."""
    flat = [word.replace("\n", " ") for word in words]
    here = flat[count - 1].strip() if count else ""
    before = "".join(flat[: max(count - 1, 0)])[-(_WORD_AT - 1) :]
    after = "".join(flat[count:])[: _CHARACTERS - _WORD_AT - len(here) - 1]
    gap = " " if count and flat[count - 1].startswith(" ") else ""
    look: dict[str, Any] = {"family": "monospace", "va": "center", "fontsize": TEXT_SIZE + 1}
    ax.text(_WORD_AT - 0.5, 0.5, before + gap, ha="right", color=INK, **look)
    ax.text(_WORD_AT + len(here) + 0.5, 0.5, after, ha="left", color=GREY, **look)
    if here:
        box = {"facecolor": _HIGHLIGHT, "edgecolor": INK, "pad": 2}
        ax.text(_WORD_AT, 0.5, here, ha="left", color=INK, bbox=box, **look)


def _draw_scores(ax: Axes, walk: SoftmaxWalk, count: int) -> None:
    maxima = [step.m for step in walk.steps[:count]]
    ax.step(range(count), maxima, where="post", color=VERMILION, linewidth=2.5)
    ax.plot(
        range(count),
        walk.scores[:count],
        "o",
        markersize=4.5,
        color=SKY,
        markeredgecolor=INK,
        markeredgewidth=0.5,
    )
    ax.plot([count - 1], [walk.scores[count - 1]], "o", markersize=11, fillstyle="none", color=INK)
    side, shift = ("right", -6) if count > 0.85 * len(walk.scores) else ("left", 6)
    ax.annotate(
        f"m = {maxima[-1]:.2f}", (count - 1, maxima[-1]), xytext=(shift, 4), textcoords="offset points",
        ha=side, fontsize=LABEL_SIZE, color=INK,
    )  # fmt: skip


def _draw_correction(ax: Axes, step: SoftmaxStep) -> None:
    """A new maximum: the factor on all that was collected."""
    ax.text(
        0.5, 0.06, f"new maximum: l and acc are multiplied by α = {step.alpha:.4f}", transform=ax.transAxes,
        ha="center", fontsize=LABEL_SIZE, color=INK,
        bbox={"facecolor": _HIGHLIGHT, "edgecolor": ORANGE, "boxstyle": "round,pad=0.3", "linewidth": 2},
    )  # fmt: skip


def _draw_weights(ax: Axes, words: tuple[str, ...], weights: list[float]) -> None:
    ax.vlines(range(len(weights)), 0, weights, color=GREEN, linewidth=5)
    top = max(range(len(weights)), key=weights.__getitem__)
    side = "left" if top < len(words) / 2 else "right"
    ax.annotate(
        f"{words[top].strip()!r} {weights[top]:.0%}", (top, weights[top]), xytext=(0, 3),
        textcoords="offset points", ha=side, fontsize=LABEL_SIZE, color=INK,
    )  # fmt: skip


def _draw_total(ax: Axes, step: SoftmaxStep) -> None:
    """The sum l as a bar: what was kept of the old, and what this key adds."""
    from matplotlib.patches import Rectangle

    ax.add_patch(
        Rectangle((0, 0.1), step.l_kept, 0.8, facecolor=BLUE, edgecolor=INK, linewidth=0.8)
    )
    ax.add_patch(
        Rectangle(
            (step.l_kept, 0.1),
            step.l_added,
            0.8,
            facecolor=WHITE,
            edgecolor=INK,
            hatch="////",
            linewidth=0.8,
        )
    )
    text = f"l = {step.l_kept:.2f} kept + {step.l_added:.2f} added = {step.l:.2f}"
    ax.text(0, 1.25, text, transform=ax.transAxes, fontsize=TEXT_SIZE, color=INK)


def _draw_acc(ax: Axes, walk: SoftmaxWalk, count: int) -> None:
    """The accumulator as a strip, one place a number; the colours span the largest that it ever holds."""
    reach = max(abs(number) for acc in walk.accs for number in acc) or 1.0
    acc = walk.accs[count - 1]
    ax.imshow(
        [acc], aspect="auto", cmap="PuOr", vmin=-reach, vmax=reach, extent=(0, len(acc), 0, 1),
        interpolation="nearest",
    )  # fmt: skip
    ax.text(
        0, 1.25, f"acc: {len(acc)} numbers, {min(acc):.2f} to {max(acc):.2f}", transform=ax.transAxes,
        fontsize=TEXT_SIZE, color=INK,
    )  # fmt: skip
