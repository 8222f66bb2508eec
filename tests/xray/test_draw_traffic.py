"""Bars of bytes: each carries its number, also when there is nothing to show."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from fdlib.xray.draw.traffic import draw_traffic


@pytest.fixture
def ax():
    figure, axes = plt.subplots(figsize=(9, 3.2))
    yield axes
    figure.canvas.draw()
    plt.close(figure)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_bars_numbers_and_labels(ax):
    rows = [("8B", "naive", 70.5e9), ("8B", "tiled", 0.326e9), ("70B", "naive", 17.4e9)]
    draw_traffic(ax, rows, title="Traffic")
    assert texts(ax) == ["70.5 GB", "326 MB", "17.4 GB"]
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert ends == pytest.approx([count for _, _, count in rows])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["8B", "8B", "70B"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["naive", "tiled"]
    assert ax.patches[0].get_hatch() != ax.patches[1].get_hatch()
    assert ax.get_xscale() == "log"


def test_the_first_row_is_on_top(ax):
    draw_traffic(ax, [("a", "x", 10), ("b", "x", 20)], title="Traffic")
    low, high = ax.get_ylim()
    assert low > high
    assert ax.get_legend() is None  # one kind needs no key


@pytest.mark.parametrize("counts", [[], [0], [0, 5], [1], [1e18, 1]])
def test_extreme_counts(ax, counts):
    draw_traffic(ax, [(str(count), "kind", count) for count in counts], title="Traffic")
    assert len(ax.patches) == sum(count > 0 for count in counts)
    assert len(texts(ax)) == len(counts)
