"""Squares for SMs: what is on the Axes for normal and extreme data."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from fdlib.xray.draw.sms import draw_sms
from fdlib.xray.draw.style import WHITE


@pytest.fixture
def ax():
    figure, axes = plt.subplots(figsize=(9, 3.2))
    yield axes
    figure.canvas.draw()  # what cannot be rendered fails here
    plt.close(figure)


def squares(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("busy", "num_sms"), [(8, 132), (16, 132), (0, 40), (148, 148), (1, 1), (0, 1)]
)
def test_one_square_an_sm(ax, busy, num_sms):
    draw_sms(ax, busy, num_sms, title="SMs")
    filled = [square for square in squares(ax) if to_hex(square.get_facecolor()).upper() != WHITE]
    assert (len(squares(ax)), len(filled)) == (num_sms, busy)
    assert all(square.get_hatch() for square in filled)  # not by colour alone
    assert len({square.get_xy() for square in squares(ax)}) == num_sms
    assert legend(ax) == [
        f"busy: {busy} of {num_sms} SMs",
        f"idle: {num_sms - busy} of {num_sms} SMs",
    ]
    assert ax.get_title(loc="left") == "SMs"


@pytest.mark.parametrize("busy", [-1, 133])
def test_busy_out_of_range(ax, busy):
    with pytest.raises(ValueError, match=f"busy: got {busy}, takes 0 to 132"):
        draw_sms(ax, busy, 132, title="SMs")


def test_a_gpu_has_sms(ax):
    with pytest.raises(ValueError, match="num_sms: got 0, takes 1 or more"):
        draw_sms(ax, 0, 0, title="SMs")
