"""The pictures of the split draw what they are given, also at the extremes, and compute nothing else."""

from __future__ import annotations

import ast
import inspect

import pytest

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

from fdlib.plan import split_ranges  # noqa: E402
from fdlib.xray.draw import splits  # noqa: E402


@pytest.fixture
def ax():
    return Figure(figsize=(9, 3)).subplots()


def written(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def tick_labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def in_legend(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_piece_per_split_at_its_keys(ax):
    ranges = split_ranges(100_000, 10, 16)
    splits.draw_key_splits(ax, [("10 splits", ranges)], 100_000, title="Cut")
    drawn = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert drawn == ranges
    assert written(ax) == [str(split) for split in range(10)]
    assert tick_labels(ax.yaxis) == ["10 splits"]
    assert ax.get_title(loc="left") == "Cut"


def test_the_outline_of_the_last_piece_is_not_clipped(ax):
    splits.draw_key_splits(ax, [("2", [(0, 5), (5, 10)])], 10, title="")
    assert ax.get_xlim() == (0, 10)
    assert not any(bar.get_clip_on() for bar in ax.patches)


def test_neighbours_differ_in_hatch_and_not_only_in_colour(ax):
    splits.draw_key_splits(ax, [("2", [(0, 5), (5, 10)])], 10, title="")
    first, second = ax.patches
    assert first.get_hatch() != second.get_hatch()
    assert first.get_facecolor() != second.get_facecolor()


@pytest.mark.parametrize("len_kv", [0, 1, 300])
@pytest.mark.parametrize("num_splits", [1, 7, 512])
def test_empty_splits_are_not_drawn(ax, len_kv, num_splits):
    ranges = split_ranges(len_kv, num_splits, 64)
    splits.draw_key_splits(ax, [("one head", ranges)], len_kv, title="")
    assert len(ax.patches) == sum(end > start for start, end in ranges)
    ax.figure.canvas.draw()


def test_many_splits_carry_no_numbers(ax):
    splits.draw_key_splits(ax, [("", split_ranges(100_000, 512, 64))], 100_000, title="")
    assert written(ax) == []
    assert len(ax.patches) == 512
    ax.figure.canvas.draw()


def test_no_strips(ax):
    splits.draw_key_splits(ax, [], 0, title="Nothing")
    ax.figure.canvas.draw()


def test_it_imports_nothing_that_could_compute():
    tree = ast.parse(inspect.getsource(splits))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith("fdlib")} == {"fdlib.xray.draw.style"}
    assert not modules & {"math", "numpy", "torch"}
