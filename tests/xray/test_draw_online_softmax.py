"""Softmax in one pass: each panel shows the numbers that it was given."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from fdlib.xray.draw.online_softmax import draw_online_softmax
from fdlib.xray.figures.softmax_steps import SoftmaxStep

STEPS = (
    SoftmaxStep(0, 2, m=2.0, alpha=0.0, l_kept=0.0, l_added=1.25),
    SoftmaxStep(2, 4, m=3.0, alpha=0.5, l_kept=0.625, l_added=1.25),
    SoftmaxStep(4, 5, m=3.0, alpha=1.0, l_kept=1.875, l_added=0.1),
)
SCORES = (0.0, 2.0, 1.0, 3.0, 0.7)


@pytest.fixture
def axes():
    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 7))
    yield axes
    figure.canvas.draw()
    plt.close(figure)


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_scores_maximum_and_words(axes):
    draw_online_softmax(axes, SCORES, STEPS, words={3: "rabbit"}, title="one pass")
    assert axes[0].get_title(loc="left") == "one pass"
    assert texts(axes[0]) == ["rabbit"]
    assert list(axes[0].lines[0].get_ydata()) == list(SCORES)
    heights = [line.get_ydata()[0] for line in axes[0].lines[1:4]]
    assert heights == [2.0, 3.0, 3.0]
    assert {t.get_text() for t in axes[0].get_legend().texts} == {
        "score of a key",
        "running maximum m",
    }


def test_the_correction_is_written_where_it_is_not_one(axes):
    draw_online_softmax(axes, SCORES, STEPS, title="t")
    assert [bar.get_height() for bar in axes[1].patches] == [0.0, 0.5, 1.0]
    assert texts(axes[1]) == ["0", "0.5"]


def test_the_sum_is_stacked_from_kept_and_added(axes):
    draw_online_softmax(axes, SCORES, STEPS, title="t")
    assert texts(axes[2]) == ["1.25", "1.88", "1.98"]
    kept, added = axes[2].patches[0::2], axes[2].patches[1::2]
    assert [bar.get_height() for bar in kept] == [0.0, 0.625, 1.875]
    assert [bar.get_y() for bar in added] == [0.0, 0.625, 1.875]
    assert not kept[0].get_hatch() and added[0].get_hatch()


@pytest.mark.parametrize("count", [0, 1, 512])
def test_no_key_one_key_and_512_blocks(axes, count):
    steps = [SoftmaxStep(i, i + 1, 0.0, 0.5, 0.5, 0.5) for i in range(count)]
    draw_online_softmax(axes, [0.0] * count, steps, title="t")
    assert len(axes[1].patches) == count
    assert len(axes[1].texts) <= 24  # numbers would stand over one another


def test_a_row_that_sees_no_key(axes):
    nothing = float("-inf")
    steps = [SoftmaxStep(0, 2, nothing, 0.0, 0.0, 0.0)]
    draw_online_softmax(axes, [nothing] * 2, steps, title="t")
    assert texts(axes[2]) == ["0.00"]


def test_refuses_another_number_of_axes(axes):
    with pytest.raises(ValueError, match="axes: got 2, takes 3"):
        draw_online_softmax(axes[:2], SCORES, STEPS, title="t")
