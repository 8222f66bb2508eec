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


def test_weights_stand_side_by_side(ax):
    splits.draw_split_weights(
        ax, [[0.5, 0.02, 0.48], [1.0, 0.0, 0.0]], ["L1.H1", "L1.H2"], title="Shares"
    )
    first = ax.patches[:3]
    assert [bar.get_width() for bar in first] == pytest.approx([0.5, 0.02, 0.48])
    assert [bar.get_x() for bar in first] == pytest.approx([0.0, 0.5, 0.52])
    assert written(ax) == ["50%", "48%", "100%"]
    assert in_legend(ax) == ["split 0", "split 1", "split 2"]
    assert tick_labels(ax.yaxis) == ["L1.H1", "L1.H2"]


@pytest.mark.parametrize("weights", [[], [[1.0]], [[1 / 512] * 512]])
def test_weights_at_the_extremes(ax, weights):
    splits.draw_split_weights(ax, weights, ["head"] * len(weights), title="")
    ax.figure.canvas.draw()


CURVES = {"1,024 keys": [(1, 20.0), (8, 6.5), (64, 9.0)], "65,536 keys": [(1, 800.0), (64, 30.0)]}


def test_time_has_a_line_a_ring_and_a_label_per_curve(ax):
    splits.draw_time_against_splits(ax, CURVES, [(16, "1 program per SM")], title="Time")
    assert in_legend(ax) == list(CURVES)
    assert written(ax) == ["6.5 us at 8", "30.0 us at 64", "1 program per SM"]
    lines = {line.get_label(): line for line in ax.lines}
    assert list(zip(*lines["1,024 keys"].get_data(), strict=True)) == CURVES["1,024 keys"]
    styles = {(lines[name].get_linestyle(), lines[name].get_marker()) for name in CURVES}
    assert len(styles) == len(CURVES)  # not by colour alone
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert tick_labels(ax.xaxis) == ["1", "8", "64"]


def test_texts_of_waves_do_not_lie_on_each_other(ax):
    waves = [(16, "1 program per SM"), (17, "2 programs per SM")]
    splits.draw_time_against_splits(ax, {}, waves, title="")
    first, second = ax.texts
    assert first.xyann[1] != second.xyann[1]


@pytest.mark.parametrize("curves", [{}, {"one point": [(1, 3.0)]}, {"no point": []}])
def test_time_at_the_extremes(ax, curves):
    splits.draw_time_against_splits(ax, curves, title="")
    ax.figure.canvas.draw()


def test_it_imports_nothing_that_could_compute():
    tree = ast.parse(inspect.getsource(splits))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith("fdlib")} == {"fdlib.xray.draw.style"}
    assert not modules & {"math", "numpy", "torch"}
