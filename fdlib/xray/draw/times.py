"""A picture of times against a length or a count, both on log scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PURPLE,
    TEXT_SIZE,
    VERMILION,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_times"]

_LINES = (
    (VERMILION, "o", "-"),
    (BLUE, "s", "--"),
    (GREEN, "^", "-."),
    (ORANGE, "D", ":"),
    (PURPLE, "v", "-"),
    (GREY, "P", "--"),
)


def draw_times(
    ax: Axes,
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    x_label: str,
    y_label: str = "microseconds",
) -> None:
    """One line per name: its points are ``(x, time)``, all above 0. Lines differ in colour, marker and dash."""
    for index, (name, points) in enumerate(series.items()):
        color, marker, dash = _LINES[index % len(_LINES)]
        ax.plot(
            [x for x, _ in points], [time for _, time in points], color=color, marker=marker,
            linestyle=dash, markersize=6, linewidth=1.8, label=name,
        )  # fmt: skip
    prepare(ax, title)
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    places = sorted({x for points in series.values() for x, _ in points})
    if 0 < len(places) <= 8:
        ax.set_xticks(places, [f"{place:,.0f}" for place in places])
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
    ax.minorticks_off()
    ax.grid(color=PALE)
    ax.set_axisbelow(True)
    quiet_axes(ax, "left", "bottom")
    if series:
        ax.legend(
            loc="center left",
            bbox_to_anchor=(1.02, 0.5),
            frameon=False,
            fontsize=TEXT_SIZE,
            labelcolor=INK,
        )
