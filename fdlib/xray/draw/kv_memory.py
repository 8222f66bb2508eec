"""A picture of a GPU's memory: the weights of a model below, the KV cache on top of them, growing with each token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import (
    INK,
    LABEL_SIZE,
    ORANGE,
    PALE,
    SKY,
    TEXT_SIZE,
    VERMILION,
    WHITE,
    format_bytes,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fdlib.xray.figures.kv_memory import KvMemory

__all__ = ["draw_kv_memory", "prepare_kv_memory"]

Mark = tuple[str, str, str]  # marker, colour, name

_EVEN: Mark = ("D", WHITE, "cache as large as weights")
_FULL: Mark = ("X", VERMILION, "memory full")
_ABOVE = 1.22  # the picture's height over the memory, so that one sees what does not fit


def prepare_kv_memory(ax: Axes, memory_bytes: int, tokens: int, *, title: str) -> None:
    """Axes up to ``tokens`` tokens, and the line above which nothing fits."""
    prepare(ax, title)
    ax.set(xlim=(0, tokens), ylim=(0, _ABOVE * memory_bytes))
    ax.set(xlabel="tokens in the cache, for each text")
    ax.set_xticks([tokens * part // 4 for part in range(5)])
    ax.set_yticks([memory_bytes * part // 4 for part in range(5)])
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.yaxis.set_major_formatter(lambda value, _: format_bytes(value))
    ax.axhspan(memory_bytes, _ABOVE * memory_bytes, facecolor=PALE, edgecolor="none", zorder=0)
    ax.axhline(memory_bytes, color=INK, linewidth=2)
    quiet_axes(ax, "left", "bottom")


def draw_kv_memory(ax: Axes, memory: KvMemory, tokens: int) -> None:
    """Weights and cache over the tokens, a line at ``tokens``, and where the cache outgrows the weights or the GPU."""
    right = ax.get_xlim()[1]
    weights, end = memory.weight_bytes, memory.weight_bytes + memory.cache_bytes(int(right))
    room = memory.memory_bytes
    full = min(max(memory.tokens_that_fit, 0), right)
    floor, top = min(weights, room), min(max(end, room) if full < right else end, room)
    ax.fill_between([0, right], 0, floor, facecolor=ORANGE, hatch="/", edgecolor=INK, linewidth=0)
    ax.fill_between([0, full, right], floor, [floor, top, top], facecolor=SKY, edgecolor="none")
    ax.plot([0, right], [weights, end], color=INK, linewidth=1.5)
    marks = (
        (memory.tokens_like_weights, 2 * weights, _EVEN),
        (memory.tokens_that_fit, room, _FULL),
    )
    shown = [mark for mark in marks if 0 <= mark[0] <= right and mark[1] <= ax.get_ylim()[1]]
    for place, height, (marker, colour, _) in shown:
        look = {"color": colour, "markeredgecolor": INK, "clip_on": False}
        ax.plot([place], [height], marker, markersize=10, **look)
    used = weights + memory.cache_bytes(tokens)
    ax.axvline(tokens, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    here = _write_here(ax, format_bytes(used), tokens, used)
    _write_no_room(ax, memory, tokens)
    cache = ("s", SKY, f"KV cache: {format_bytes(memory.cache_bytes(tokens))}")
    names = [("s", ORANGE, f"weights: {format_bytes(weights)}"), (here, WHITE, "both now")]
    _write_names(ax, [cache] * (weights < room) + names + [name for *_, name in shown])


def _write_no_room(ax: Axes, memory: KvMemory, tokens: int) -> None:
    """What the grey part is, in the half of it where the line of the tokens is not."""
    side, x = ("right", 0.99) if tokens < 0.5 * ax.get_xlim()[1] else ("left", 0.01)
    ax.text(
        x, (1 + _ABOVE) / 2 / _ABOVE, f"no room: the {memory.gpu.name} has {format_bytes(memory.memory_bytes)}",
        va="center", ha=side, fontsize=TEXT_SIZE, color=INK, transform=ax.transAxes,
        zorder=4, bbox={"facecolor": PALE, "edgecolor": "none", "pad": 1},
    )  # fmt: skip


def _write_here(ax: Axes, text: str, tokens: int, used: float) -> str:
    """A ring and the sum of both where the tokens are, an arrow below the upper edge if that is higher; the marker."""
    right, top = ax.get_xlim()[1], 0.96 * ax.get_ylim()[1]
    marker = "o" if used <= top else "^"
    outer = (
        0.5 * right <= tokens < 0.85 * right and used > 0.9 * top
    )  # "no room" stands at the left then
    side, shift = ("left", 9) if outer or tokens < 0.15 * right else ("right", -9)
    look = {"color": INK, "markerfacecolor": WHITE, "clip_on": False}
    ax.plot([tokens], [min(used, top)], marker, markersize=11, **look)
    ax.annotate(
        text, (tokens, min(used, 0.9 * top)), xytext=(shift, 8), textcoords="offset points", ha=side,
        fontsize=LABEL_SIZE, color=INK, bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip
    return marker


def _write_names(ax: Axes, names: Sequence[Mark]) -> None:
    """What is in the picture, below it: outside of the parts, which may be thin."""
    for place, (marker, colour, text) in enumerate(names):
        x, y = 0.355 * (place % 3), -0.25 - 0.11 * (place // 3)
        look = {"transform": ax.transAxes, "clip_on": False}
        ax.plot([x], [y], marker, markersize=9, color=colour, markeredgecolor=INK, **look)
        ax.text(
            x + 0.022, y, text, va="center", fontsize=TEXT_SIZE, color=INK, transform=ax.transAxes
        )  # fmt: skip
