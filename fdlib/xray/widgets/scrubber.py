"""Softmax in one pass over real words, one key at a time."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fdlib.xray.draw.softmax_steps import WalkAxes, draw_softmax_walk, prepare_softmax_walk
from fdlib.xray.figures.softmax_steps import Fold, SoftmaxWalk, walk_keys
from fdlib.xray.widgets.controls import Choice, Control, Player
from fdlib.xray.widgets.panel import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["online_softmax_scrubber"]


def online_softmax_scrubber(passage: Any, fold: Fold, *, query: int = 60) -> Panel:
    """``fold(m, l, acc, scores, v)`` over the keys of one query of a `Passage`, one key a step."""
    heads = [(f"{info.name} ({info.role})", info.index) for info in passage.heads]
    controls: dict[str, Control] = {
        "keys": Player("Keys read", 0, query + 1, query + 1 if query < 47 else 47),
        "head": Choice("Head", heads, passage.head("L13.H8").index),
    }

    @cache
    def walk(head: int) -> SoftmaxWalk:
        return walk_keys(passage, fold, head=head, query=query)

    def ground(figure: Figure, head: int) -> None:
        title = f"The query {passage.tokens[query]!r} reads its {query + 1} keys"
        prepare_softmax_walk(figure, walk(head), title=f"{title}: head {passage.heads[head].name}")

    def draw(figure: Figure, keys: int, head: int) -> str:
        weights = walk(head).weights_after(keys)
        draw_softmax_walk(WalkAxes(*figure.axes), walk(head), keys, weights)
        return _sentence(walk(head), keys, weights)

    return Panel(
        "Softmax in one pass", draw, controls, size=(6.6, 4.6), ground=ground, ground_of=("head",)
    )


def _sentence(walk: SoftmaxWalk, keys: int, weights: list[float]) -> str:
    if not keys:
        return "No key is read: m is minus infinity, l and acc are 0."
    step = walk.steps[keys - 1]
    top = max(range(keys), key=weights.__getitem__)
    old = "-inf" if keys == 1 else f"{walk.steps[keys - 2].m:.2f}"
    move = (
        f"a new maximum: m goes from {old} to {step.m:.2f}, alpha = {step.alpha:.4f}"
        if step.alpha < 1
        else f"m stays {step.m:.2f}, alpha = 1"
    )
    return (
        f"Key {keys - 1}, {walk.words[keys - 1]!r}, has score {walk.scores[keys - 1]:.2f}: {move}. "
        f"l = {step.l_kept:.2f} kept + {step.l_added:.2f} added = {step.l:.2f}. "
        f"So far {walk.words[top]!r} weighs most, {weights[top]:.0%}."
    )
