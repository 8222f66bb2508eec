"""Attention over words: the text stands there as it reads, and the heaviest words carry their weight."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from fdlib.xray.draw.words import COLUMNS, draw_attention_words

TOKENS = ("CH", "APTER", " one", ".", "\n", "\n", "A", " rabbit", "-", "hole", " it")


@pytest.fixture
def ax():
    figure, ax = plt.subplots(figsize=(9, 3))
    yield ax
    figure.canvas.draw()
    plt.close(figure)


def lines_of(ax) -> list[str]:
    """The monospaced text, line by line, as a reader sees it."""
    rows: dict[float, str] = {}
    for text in ax.texts:
        if text.get_fontfamily() == ["monospace"]:
            x, y = text.get_position()
            rows[y] = rows.get(y, "").ljust(int(x)) + text.get_text()
    return list(rows.values())


def numbers_of(ax) -> list[str]:
    return [t.get_text() for t in ax.texts if t.get_fontweight() == "bold"]


def test_the_text_reads_as_the_passage(ax):
    draw_attention_words(ax, TOKENS, [1 / 11] * 11, query=10, title="t")
    assert lines_of(ax) == ["CHAPTER one.", "A rabbit-hole it"]


def test_a_line_is_one_text_and_boxes_stand_where_its_characters_are(ax):
    weights = [0.0] * 10 + [1.0]
    draw_attention_words(ax, TOKENS, weights, query=10, named=0, title="t")
    [text] = [t for t in ax.texts if t.get_text() == "A rabbit-hole it"]
    box = ax.patches[0].get_window_extent()  # of " it": a quarter of a character wider, each side
    left, right = text.get_window_extent().x0, text.get_window_extent().x1
    pixels = (right - left) / len("A rabbit-hole it")
    assert abs((box.x0 - left) / pixels - (len("A rabbit-hole ") - 0.25)) < 0.3
    assert abs((box.x1 - right) / pixels - 0.25) < 0.3


def test_the_largest_weights_are_written(ax):
    weights = [0.01, 0, 0, 0, 0, 0, 0.09, 0.845, 0.05, 0, 0.005]
    draw_attention_words(ax, TOKENS, weights, query=10, named=2, title="where it looks")
    assert ax.get_title(loc="left") == "where it looks"
    assert sorted(numbers_of(ax)) == ["84.5%", "9.0%"]
    frames = [patch.get_linewidth() for patch in ax.patches if not patch.get_fill()]
    assert sorted(frames) == [0.8, 0.8, 1.8]


def test_tokens_before_first_and_after_the_weights_are_left_out(ax):
    draw_attention_words(ax, TOKENS, [0.1] * 8, query=7, first=6, title="t")
    assert lines_of(ax) == ["A rabbit"]


def test_lines_break_between_words_only(ax):
    tokens = [" ab", "cd", "ef", "."] * 60
    draw_attention_words(ax, tokens, [0.0] * 240, query=0, named=0, title="t")
    lines = lines_of(ax)
    assert max(len(line) for line in lines) <= COLUMNS
    assert all(line.startswith("abcdef.") and line.endswith("abcdef.") for line in lines)


@pytest.mark.parametrize("count", [0, 1])
def test_no_key_and_one_key(ax, count):
    draw_attention_words(ax, TOKENS, [1.0] * count, query=0, title="t")
    assert numbers_of(ax) == ["100.0%"] * count


def test_512_keys_without_weight(ax):
    draw_attention_words(ax, [" word"] * 512, [0.0] * 512, query=511, named=0, title="t")
    assert sum(line.count("word") for line in lines_of(ax)) == 512
    assert not any(patch.get_fill() for patch in ax.patches)
