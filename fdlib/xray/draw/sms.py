"""A picture of SMs: which have a program at all, and which have none."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import (
    BLUE,
    GREY,
    INK,
    TEXT_SIZE,
    WHITE,
    prepare,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_sms"]

_WIDE = 3.6  # columns per row of the grid of squares: fits a figure of 9 x 3.2 inches


def draw_sms(ax: Axes, busy: int, num_sms: int, *, title: str) -> None:
    """One square an SM: the first ``busy`` filled and hatched, the others hollow; the counts stand below.

    Which SMs get the programs is the GPU's choice: the picture shows how many. Raises `ValueError` unless
    ``0 <= busy <= num_sms`` and there is an SM.
    """
    from matplotlib.patches import Rectangle

    if num_sms < 1:
        raise ValueError(f"num_sms: got {num_sms}, takes 1 or more")
    if not 0 <= busy <= num_sms:
        raise ValueError(f"busy: got {busy}, takes 0 to {num_sms}, the number of SMs")
    columns = ceil(sqrt(num_sms * _WIDE))
    rows = ceil(num_sms / columns)
    looks = {
        True: {"facecolor": BLUE, "edgecolor": WHITE, "hatch": "///"},
        False: {"facecolor": WHITE, "edgecolor": GREY},
    }
    for sm in range(num_sms):
        corner = (sm % columns, -(sm // columns))
        ax.add_patch(Rectangle(corner, 0.8, 0.8, linewidth=1, **looks[sm < busy]))
    prepare(ax, title)
    ax.set(
        xlim=(-0.3, columns + 0.1), ylim=(-rows + 0.6, 1.1), aspect="equal", xticks=[], yticks=[]
    )
    quiet_axes(ax)
    handles = [Rectangle((0, 0), 1, 1, **looks[True]), Rectangle((0, 0), 1, 1, **looks[False])]
    labels = [f"busy: {busy} of {num_sms} SMs", f"idle: {num_sms - busy} of {num_sms} SMs"]
    ax.legend(
        handles, labels, loc="upper left", bbox_to_anchor=(0, 0), ncols=2, frameon=False,
        fontsize=TEXT_SIZE + 1, handlelength=1.2, handleheight=1.2, labelcolor=INK,
    )  # fmt: skip
