"""A picture of split weights: each split at its keys, as high as its share of the softmax, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fdlib.xray.draw.style import (
    CYCLE,
    GREY,
    HATCHES,
    INK,
    LABEL_SIZE,
    TEXT_SIZE,
    prepare,
    quiet_axes,
)
from fdlib.xray.figures.split_shares import by_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fdlib.xray.figures.split_shares import SplitShare

__all__ = ["draw_split_weights", "draw_split_words", "prepare_split_weights"]

_LISTED = 5  # splits whose words are written
_START, _END = 20, 15  # characters of a split's text that are written
_NUMBERED = 10  # with more splits only the larger ones carry their share


def prepare_split_weights(ax: Axes, len_kv: int, *, title: str) -> None:
    """Axes over ``len_kv`` keys, with shares from 0 to 1."""
    prepare(ax, title)
    ax.set(xlim=(0, len_kv), ylim=(0, 1.15), yticks=[0, 0.25, 0.5, 0.75, 1.0])
    ax.set_ylabel("share of the softmax")
    ax.set_xlabel("key", loc="right", labelpad=-3)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    quiet_axes(ax, "left", "bottom")


def draw_split_weights(ax: Axes, splits: Sequence[SplitShare]) -> None:
    """A bar for each split at its keys, neighbours apart in colour and hatch; a dashed line where all are equal."""
    from matplotlib.collections import PolyCollection

    seen = [split for split in splits if split.top is not None]
    for place in (0, 1):
        corners = [
            [(s.start, 0), (s.start, s.share), (s.end, s.share), (s.end, 0)] for s in seen[place::2]
        ]
        style: dict[str, Any] = {
            "facecolor": CYCLE[place],
            "hatch": HATCHES[place],
            "edgecolor": INK,
        }
        ax.add_collection(PolyCollection(corners, linewidth=0.8, **style), autolim=False)
    equal = 1 / max(len(splits), 1)
    ax.axhline(equal, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.text(
        1.01, equal, f"if equal:\n{equal:.1%}", va="center", fontsize=TEXT_SIZE, color=INK,
        transform=ax.get_yaxis_transform(),
    )  # fmt: skip
    for split in seen:
        if len(seen) <= _NUMBERED or split.share > 2 * equal:
            _write(ax, (split.start + split.end) / 2, split.share + 0.035, f"{split.share:.0%}")


def draw_split_words(ax: Axes, splits: Sequence[SplitShare], tokens: Sequence[str]) -> None:
    """The words of the splits that weigh most, and the word in each that gets most; ``ax`` is an empty corner."""
    listed = sorted(by_share(splits)[:_LISTED])
    lines = [_line(number, splits[number], tokens) for number in listed]
    ax.text(
        0, 1, "\n".join(lines), va="top", family="monospace", fontsize=TEXT_SIZE, linespacing=1.45,
        color=INK, transform=ax.transAxes,
    )  # fmt: skip


def _line(number: int, split: SplitShare, tokens: Sequence[str]) -> str:
    if split.top is None:
        return f"split {number:>2} {split.share:>6.1%}  no keys"
    text = "".join(tokens[split.start : split.end]).replace("\n", " ").strip()
    if len(text) > _START + _END + 5:
        text = f"{text[:_START].rstrip()} ... {text[-_END:].lstrip()}"
    top = tokens[split.top].strip() or "a line's end"
    return f"split {number:>2} {split.share:>6.1%}  {text:<{_START + _END + 5}}  most: {top}"


def _write(ax: Axes, x: float, y: float, text: str) -> None:
    ax.text(x, y, text, ha="center", fontsize=LABEL_SIZE, color=INK)
