"""Lines of times on log scales."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from fdlib.xray.draw.times import draw_times


@pytest.fixture
def ax():
    figure, axes = plt.subplots(figsize=(9, 4))
    yield axes
    figure.canvas.draw()
    plt.close(figure)


def test_lines_hold_the_data_and_differ_without_colour(ax):
    series = {name: [(1024, 3.0 + i), (16384, 20.0 + i)] for i, name in enumerate("abcdef")}
    draw_times(ax, series, title="Times", x_label="keys")
    assert [tuple(line.get_ydata()) for line in ax.lines] == [(3.0 + i, 20.0 + i) for i in range(6)]
    assert len({(line.get_marker(), line.get_linestyle()) for line in ax.lines}) == 6
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list("abcdef")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1,024", "16,384"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("keys", "microseconds")


@pytest.mark.parametrize("count", [0, 1, 512])
def test_any_number_of_points(ax, count):
    series = {"splits": [(x + 1, 100 / (x + 1)) for x in range(count)]} if count else {}
    draw_times(ax, series, title="Times", x_label="splits")
    assert len(ax.lines) == (1 if count else 0)
