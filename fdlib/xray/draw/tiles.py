"""A picture of the score matrix cut in tiles: what a kernel does with each tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fdlib.xray.draw.style import INK, TEXT_SIZE, WHITE, prepare, quiet_axes, series_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_tiles"]

_MAX_LETTERS = 24  # in larger grids a letter does not fit its tile


def draw_tiles(
    ax: Axes,
    tiles: Sequence[Sequence[str]],
    *,
    title: str,
    row_label: str = "block of queries",
    column_label: str = "block of keys",
    outlined_row: int | None = None,
) -> None:
    """Scores as a grid of tiles: ``tiles[row][column]`` names what happens there, such as "whole" or "skipped".

    Every name has a colour, a hatch and, in small grids, its first letter in the tile. The name "skipped" stays white.
    ``outlined_row`` draws a thick frame around one row: the work of one program.
    """
    from matplotlib.patches import Patch, Rectangle

    names = list(dict.fromkeys(name for row in tiles for name in row))
    looks = {name: series_style(index) for index, name in enumerate(names)}
    if "skipped" in looks:
        looks["skipped"] = {"facecolor": WHITE, "edgecolor": INK, "linewidth": 0.8}
    width = max((len(row) for row in tiles), default=0)
    letters = max(len(tiles), width) <= _MAX_LETTERS
    for place, row in enumerate(tiles):
        for column, name in enumerate(row):
            ax.add_patch(Rectangle((column, place), 1, 1, **looks[name]))
            if letters:
                ax.text(
                    column + 0.5, place + 0.5, name[0], ha="center", va="center", color=INK, fontsize=TEXT_SIZE,
                    bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 1.2},
                )  # fmt: skip
    if outlined_row is not None:
        frame = Rectangle((0, outlined_row), width, 1, fill=False, edgecolor=INK, linewidth=3.5)
        frame.set_clip_on(False)
        ax.add_patch(frame)
    prepare(ax, title)
    ax.set(
        xlim=(0, max(width, 1)), ylim=(max(len(tiles), 1), 0), xlabel=column_label, ylabel=row_label
    )
    ax.set(aspect="equal")
    if letters:
        ax.set_xticks([column + 0.5 for column in range(width)], range(width))
        ax.set_yticks([place + 0.5 for place in range(len(tiles))], range(len(tiles)))
    ax.tick_params(length=0)
    quiet_axes(ax)
    handles = [Patch(**look, label=f"{name[0]}: {name}") for name, look in looks.items()]
    if handles:
        ax.legend(
            handles=handles,
            loc="center left",
            bbox_to_anchor=(1.03, 0.5),
            frameon=False,
            fontsize=TEXT_SIZE + 1,
        )
