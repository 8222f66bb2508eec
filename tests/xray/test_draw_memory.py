"""The roofline and the growth of the KV cache: what stands in the picture is what was given."""

from __future__ import annotations

from itertools import pairwise

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from fdlib.xray.draw.memory import draw_kv_growth, draw_roofline


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    figure.canvas.draw()  # what is lazily laid out fails here, if it does
    plt.close(figure)


def texts(ax) -> list[str]:
    legend = ax.get_legend()
    return [t.get_text() for t in ax.texts] + (
        [t.get_text() for t in legend.texts] if legend else []
    )


def test_roofline_shows_roof_points_and_names(ax):
    points = [("decode", 4.0, 19.2), ("prefill", 6553.6, 989.4)]
    draw_roofline(ax, [1, 206, 10_000], [4.8, 989.4, 989.4], points, ridge=206, title="the roof")
    assert ax.get_title(loc="left") == "the roof"
    assert {"decode", "prefill", "memory-bound", "compute-bound", "ridge: 206"} <= set(texts(ax))
    assert list(ax.lines[0].get_ydata()) == [4.8, 989.4, 989.4]
    drawn = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines[2:]]
    assert drawn == [(4.0, 19.2), (6553.6, 989.4)]
    assert len({line.get_marker() for line in ax.lines[2:]}) == 2  # not by colour alone


@pytest.mark.parametrize("count", [0, 1, 12])
def test_roofline_takes_any_number_of_points(ax, count):
    points = [(f"p{i}", 1.0 + i, 5.0) for i in range(count)]
    draw_roofline(ax, [1, 100], [1, 100], points, ridge=100, title="t")
    assert (ax.get_legend() is None) == (count == 0)


def test_growth_names_each_line_at_its_end(ax):
    lines = {"A": [0, 1e9, 2e9], "B": [0, 2e9, 68.7e9]}
    draw_kv_growth(ax, [0, 10, 20], lines, memory_bytes={"GPU": 80e9}, title="growth")
    assert {"A: 2.00 GB", "B: 68.7 GB", "GPU: 80.0 GB"} <= set(texts(ax))
    assert [list(line.get_ydata()) for line in ax.lines[:2]] == list(lines.values())
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()


def test_growth_keeps_labels_apart_that_end_together(ax):
    draw_kv_growth(ax, [0, 1], {name: [0, 5e9] for name in "ABC"}, title="same")
    places = sorted(label.get_position()[1] for label in ax.texts)
    assert len(places) == 3
    assert min(b - a for a, b in pairwise(places)) > 0.05


@pytest.mark.parametrize(
    ("tokens", "lines"), [([], {}), ([0], {"A": [0]}), ([], {"A": []}), ([0, 1], {"A": [0, 0]})]
)
def test_growth_of_nothing(ax, tokens, lines):
    draw_kv_growth(ax, tokens, lines, title="empty")
    assert ax.get_title(loc="left") == "empty"
