"""The score matrix as tiles."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from fdlib.xray.draw.tiles import draw_tiles


@pytest.fixture
def ax():
    figure, axes = plt.subplots(figsize=(9, 4))
    yield axes
    figure.canvas.draw()
    plt.close(figure)


CAUSAL = [["masked", "skipped"], ["whole", "masked"]]


def test_every_tile_has_its_letter_and_look(ax):
    draw_tiles(ax, CAUSAL, title="Tiles")
    assert [text.get_text() for text in ax.texts] == ["m", "s", "w", "m"]
    looks = {(patch.get_facecolor(), patch.get_hatch()) for patch in ax.patches}
    assert len(looks) == 3
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["m: masked", "s: skipped", "w: whole"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("block of keys", "block of queries")


def test_the_frame_covers_its_row(ax):
    draw_tiles(ax, CAUSAL, title="Tiles", outlined_row=1)
    frame = ax.patches[-1]
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((0, 1), 2, 1)
    assert not frame.get_fill()


@pytest.mark.parametrize("size", [0, 1, 64])
def test_any_size(ax, size):
    draw_tiles(ax, [["whole"] * size] * size, title="Tiles")
    assert len(ax.patches) == size * size
    assert len(ax.texts) == (1 if size == 1 else 0)  # 64 x 64 letters would not fit
