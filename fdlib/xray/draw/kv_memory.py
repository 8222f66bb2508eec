"""A picture of a GPU's memory: the weights of a model below, the KV cache on top of them, growing with each token."""

from __future__ import annotations

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

_ABOVE = 1.22  # the picture's height over the memory, so that one sees what does not fit


def prepare_kv_memory(
    ax: Axes, gpu_name: str, memory_bytes: int, tokens: int, *, title: str
) -> None:
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
    ax.text(
        0.01 * tokens, 1.09 * memory_bytes, f"no room: the {gpu_name} has {format_bytes(memory_bytes)}",
        va="center", fontsize=TEXT_SIZE, color=INK,
    )  # fmt: skip
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
    _mark(ax, memory.tokens_like_weights, 2 * weights, "D", WHITE)
    _mark(ax, memory.tokens_that_fit, room, "X", VERMILION)
    used = weights + memory.cache_bytes(tokens)
    ax.axvline(tokens, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    _write_here(ax, format_bytes(used), tokens, used, right)
    _write_names(ax, memory, tokens)


def _mark(ax: Axes, tokens: int, height: float, marker: str, colour: str) -> None:
    """A marker where the line passes a size, if it does so inside the picture."""
    if 0 <= tokens <= ax.get_xlim()[1]:
        ax.plot([tokens], [height], marker, markersize=10, color=colour, markeredgecolor=INK)


def _write_here(ax: Axes, text: str, tokens: int, used: float, right: float) -> None:
    """A ring and the sum of both where the tokens are, at the upper edge if that is higher."""
    top = ax.get_ylim()[1]
    side, shift = ("left", 9) if tokens < 0.15 * right else ("right", -9)
    look = {"color": INK, "markerfacecolor": WHITE, "clip_on": False}
    ax.plot([tokens], [min(used, top)], "o" if used <= top else "^", markersize=11, **look)
    ax.annotate(
        text, (tokens, min(used, 0.9 * top)), xytext=(shift, 8), textcoords="offset points", ha=side,
        fontsize=LABEL_SIZE, color=INK, bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip


def _write_names(ax: Axes, memory: KvMemory, tokens: int) -> None:
    """What the two parts are, with their bytes, beside small squares: outside of the parts, which may be thin."""
    rows = (
        ("s", SKY, f"KV cache: {format_bytes(memory.cache_bytes(tokens))}"),
        ("s", ORANGE, f"weights: {format_bytes(memory.weight_bytes)}"),
        ("D", WHITE, "cache as large as weights"),
        ("X", VERMILION, "memory full"),
    )
    places = ((0.0, -0.25), (0.44, -0.25), (0.0, -0.36), (0.44, -0.36))
    for (x, y), (marker, colour, text) in zip(places, rows, strict=True):
        look = {"transform": ax.transAxes, "clip_on": False}
        ax.plot([x], [y], marker, markersize=9, color=colour, markeredgecolor=INK, **look)
        ax.text(
            x + 0.022, y, text, va="center", fontsize=TEXT_SIZE, color=INK, transform=ax.transAxes
        )  # fmt: skip
