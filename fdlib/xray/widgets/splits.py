"""What each split of the keys weighs for the last token of a real passage."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fdlib.xray.draw.split_weights import (
    draw_split_weights,
    draw_split_words,
    prepare_split_weights,
)
from fdlib.xray.draw.style import quiet_axes
from fdlib.xray.figures.split_shares import SplitShare, by_share, split_shares
from fdlib.xray.widgets.controls import Choice, Control, Slider
from fdlib.xray.widgets.panel import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["split_weights"]

_MOST_SPLITS = 32  # more than the passage has blocks: some splits get no key


def split_weights(passage: Any) -> Panel:
    """The shares exp(lse_i - lse) of 1 to 32 splits in each head of a `Passage`, and the words of the splits."""
    query = len(passage.tokens) - 1
    heads = [(f"{info.name} ({info.role})", info.index) for info in passage.heads]
    controls: dict[str, Control] = {
        "num_splits": Slider("Splits", 1, _MOST_SPLITS, 4),
        "head": Choice("Head", heads, passage.head("L13.H8").index),
    }

    @cache
    def shares(num_splits: int, head: int) -> list[SplitShare]:
        return split_shares(passage, head=head, query=query, num_splits=num_splits)

    def ground(figure: Figure) -> None:
        ax = figure.add_axes((0.105, 0.455, 0.785, 0.445))
        title = f"What each split weighs for the last token, {passage.tokens[query]!r}"
        prepare_split_weights(ax, query + 1, title=title)
        words = figure.add_axes((0.02, 0.0, 0.97, 0.335))
        words.set(xticks=[], yticks=[])
        quiet_axes(words)

    def draw(figure: Figure, num_splits: int, head: int) -> str:
        found = shares(num_splits, head)
        draw_split_weights(figure.axes[0], found)
        draw_split_words(figure.axes[1], found, passage.tokens)
        return _sentence(f"{passage.heads[head].name}", found, passage.tokens)

    return Panel("Split weights", draw, controls, size=(6.6, 3.9), ground=ground)


def _sentence(name: str, splits: list[SplitShare], tokens: Any) -> str:
    order = by_share(splits)
    named = ", ".join(f"split {number} has {splits[number].share:.1%}" for number in order[:3])
    empty = sum(split.top is None for split in splits)
    top = tokens[splits[order[0]].top].strip()
    without = f" {empty} of them have no key: their LSE is -inf and their share 0." if empty else ""
    many = "1 split" if len(splits) == 1 else f"{len(splits)} splits"
    return (
        f"Head {name}, {many}: {named}. Most weight in split {order[0]} goes to {top!r}.{without}"
    )
