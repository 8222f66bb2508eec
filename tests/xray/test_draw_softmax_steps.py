"""One pass, key by key, and the split weights: what stands in the picture is what was given."""

from __future__ import annotations

import pytest

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

from fdlib.xray.draw.softmax_steps import draw_softmax_walk, prepare_softmax_walk  # noqa: E402
from fdlib.xray.draw.split_weights import (  # noqa: E402
    draw_split_weights,
    draw_split_words,
    prepare_split_weights,
)
from fdlib.xray.figures.softmax_steps import SoftmaxStep, SoftmaxWalk  # noqa: E402
from fdlib.xray.figures.split_shares import SplitShare  # noqa: E402

WALK = SoftmaxWalk(
    ("The", " rabbit", "\n"),
    (1.0, 3.0, 2.0),
    (
        SoftmaxStep(0, 1, 1.0, 0.0, 0.0, 1.0),
        SoftmaxStep(1, 2, 3.0, 0.1353, 0.1353, 1.0),
        SoftmaxStep(2, 3, 3.0, 1.0, 1.1353, 0.3679),
    ),
    ((1.0, -1.0), (0.5, 2.0), (0.25, 1.0)),
)


def drawn(count: int):
    axes = prepare_softmax_walk(Figure(figsize=(6.6, 4.6)), WALK, title="walk")
    draw_softmax_walk(axes, WALK, count, WALK.weights_after(count))
    axes.words.figure.canvas.draw()
    return axes


def written(ax) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def test_a_new_maximum_is_told():
    axes = drawn(2)
    assert "\u03b1 = 0.1353" in written(axes.scores)
    assert "m = 3.00" in written(axes.scores)
    assert "0.14 kept + 1.00 added = 1.14" in written(axes.total)
    assert "rabbit" in written(axes.words).split("\n")
    assert "'rabbit' 88%" in written(axes.weights)


def test_no_new_maximum_is_not():
    assert "new maximum" not in written(drawn(3).scores)


def test_before_the_first_key():
    axes = drawn(0)
    assert "No key is read" in written(axes.scores)
    assert not axes.weights.collections


def splits(*shares: float) -> list[SplitShare]:
    places = range(len(shares))
    return [SplitShare(10 * i, 10 * i + 10, 0.0, shares[i], 10 * i) for i in places]


@pytest.fixture
def ax():
    ax = Figure(figsize=(6, 3)).subplots()
    prepare_split_weights(ax, 40, title="weights")
    yield ax
    ax.figure.canvas.draw()


def test_bars_stand_at_their_keys_as_high_as_their_share(ax):
    draw_split_weights(ax, splits(0.5, 0.1, 0.4))
    even, odd = ax.collections[:2]
    assert even.get_paths()[1].vertices[1].tolist() == [20, 0.4]
    assert odd.get_paths()[0].vertices[2].tolist() == [20, 0.1]
    assert even.get_hatch() != odd.get_hatch()
    assert {"50%", "10%", "40%", "if equal:\n33.3%"} <= {text.get_text() for text in ax.texts}


def test_a_split_without_keys_is_listed_and_not_drawn(ax):
    empty = SplitShare(20, 20, float("-inf"), 0.0, None)
    draw_split_weights(ax, [*splits(0.9, 0.1), empty])
    assert sum(len(bars.get_paths()) for bars in ax.collections[:2]) == 2
    draw_split_words(ax, [*splits(0.9, 0.1), empty], ["a"] * 20)
    assert "no keys" in written(ax)


def test_the_words_of_the_heaviest_splits(ax):
    tokens = [f" w{number}" for number in range(80)]
    draw_split_words(ax, splits(0.1, 0.2, 0.3, 0.05, 0.15, 0.12, 0.05, 0.03), tokens)
    lines = ax.texts[-1].get_text().split("\n")
    assert [line.split()[1] for line in lines] == ["0", "1", "2", "4", "5"]
    assert "w20 w21" in lines[2]
    assert lines[2].endswith("most: w20")


def test_no_splits(ax):
    draw_split_weights(ax, [])
    draw_split_words(ax, [], [])
