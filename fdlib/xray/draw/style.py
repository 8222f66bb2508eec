"""The look that all pictures share: a palette that colour-blind readers can tell apart, hatches, font sizes.

A picture never says a thing by colour alone: what differs in colour differs in hatch, marker or label too.
Source of the palette: Okabe and Ito 2008, "Color Universal Design", https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE",
    "CYCLE",
    "GREEN",
    "GREY",
    "HATCHES",
    "INK",
    "LABEL_SIZE",
    "ORANGE",
    "PALE",
    "PURPLE",
    "SKY",
    "TEXT_SIZE",
    "TITLE_SIZE",
    "VERMILION",
    "WHITE",
    "YELLOW",
    "format_bytes",
    "prepare",
    "quiet_axes",
    "series_style",
]

ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"

WHITE = "#FFFFFF"
INK = "#222222"  # text and outlines
GREY = "#767676"  # secondary text: 4.5 to 1 on white
PALE = "#E8E8E8"  # grid lines, empty places

CYCLE = (SKY, ORANGE, GREEN, PURPLE, YELLOW, BLUE, VERMILION, GREY)
HATCHES = ("//", "", "..", "xx", "\\\\", "++", "oo", "--")

TITLE_SIZE = 13
LABEL_SIZE = 11
TEXT_SIZE = 10


def series_style(index: int) -> dict[str, Any]:
    """Colour, hatch and outline of the ``index``-th kind of thing in a picture, for bars and patches.

    >>> series_style(0)["hatch"] != series_style(1)["hatch"]
    True
    """
    place = index % len(CYCLE)
    return {
        "facecolor": CYCLE[place],
        "hatch": HATCHES[place],
        "edgecolor": INK,
        "linewidth": 0.8,
    }


def prepare(ax: Axes, title: str) -> None:
    """White ground (a dark page shows a white card), and the title at the left."""
    ax.figure.set_facecolor(WHITE)
    ax.set_facecolor(WHITE)
    ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK)
    ax.tick_params(labelsize=TEXT_SIZE, colors=INK)
    ax.xaxis.label.set_size(LABEL_SIZE)
    ax.yaxis.label.set_size(LABEL_SIZE)


def quiet_axes(ax: Axes, *keep: str) -> None:
    """Hide the frame but for the sides in ``keep`` ("left", "bottom")."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in keep)


def format_bytes(count: float) -> str:
    """A number of bytes for a label, in powers of ten: B, kB, MB, GB or TB, three digits.

    >>> format_bytes(0), format_bytes(4_194_304), format_bytes(68.7e9)
    ('0 B', '4.19 MB', '68.7 GB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= 0.9995 * size:
            value = count / size
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f} {unit}"
    return f"{count:.0f} B"
