"""Time against splits: the points are drawn as given, the fastest one is given, bands are waves of programs."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from fdlib.shapes import AttentionShape
from fdlib.xray.draw.split_times import draw_split_times, prepare_split_times
from fdlib.xray.figures.split_curve import SPLITS, SplitCurve

SHAPE = AttentionShape(heads_q=8, heads_kv=1, len_kv=4096)
MODEL = ((1, 50.0), (16, 8.0), (512, 90.0))


def curve(measured=(), programs: int = 1, rule: int = 16) -> SplitCurve:
    return SplitCurve(SHAPE, "H200", 132, programs, rule, MODEL, tuple(measured))


@pytest.fixture
def ax():
    ax = Figure(figsize=(7, 4)).subplots()
    prepare_split_times(ax, SPLITS, title="Time")
    yield ax
    ax.figure.canvas.draw()


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def points(ax) -> list[list[tuple[float, float]]]:
    return [list(zip(*line.get_data(), strict=True)) for line in ax.lines]


def test_a_line_for_the_model_and_points_for_what_was_measured(ax):
    measured = ((1, 52.0), (16, 9.0))
    draw_split_times(ax, curve(measured))
    assert list(MODEL) in points(ax)
    assert list(measured) in points(ax)
    looks = {line.get_label() for line in ax.get_legend().get_lines()}
    assert {"MODEL", "MEASURED"} <= looks
    assert not any("nothing measured" in text for text in texts(ax))


def test_without_a_recording_it_says_so(ax):
    draw_split_times(ax, curve())
    assert "MODEL only: nothing measured here" in texts(ax)
    assert "8.0 us at 16" in texts(ax)


def test_the_ring_is_where_the_data_says(ax):
    draw_split_times(ax, curve(((8, 7.0), (16, 9.0))))
    assert "7.0 us at 8" in texts(ax)
    assert [(8.0, 7.0)] in points(ax)


@pytest.mark.parametrize(("programs", "ends"), [(1, [132, 264, 396, 528]), (64, [2.06, 4.12])])
def test_bands_end_where_every_sm_has_one_more_program(ax, programs, ends):
    draw_split_times(ax, curve(programs=programs))
    edges = [line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1]
    assert set(map(float, ends[:2])) <= {round(float(edge), 2) for edge in edges}


def test_far_more_programs_than_sms(ax):
    draw_split_times(ax, curve(programs=100_000))
    assert not ax.patches  # all waves lie left of one split


def test_the_key_has_what_is_in_the_picture(ax):
    draw_split_times(ax, curve())
    assert "MEASURED" not in {text.get_text() for text in ax.get_legend().get_texts()}


def test_the_label_of_the_best_covers_neither_marks_nor_jump(ax):
    for rule, side in ((1, "left"), (16, "right")):
        draw_split_times(ax, SplitCurve(SHAPE, "H200", 132, 1, rule, ((rule, 3.0), (512, 9.0)), ()))
        assert (
            next(text for text in ax.texts if text.get_text() == f"3.0 us at {rule}").get_ha()
            == side
        )


def test_colour_is_not_all_that_differs(ax):
    draw_split_times(ax, curve(((8, 7.0), (16, 9.0))))
    model, measured = ax.get_legend().get_lines()[:2]
    assert model.get_linestyle() != measured.get_linestyle()
    assert model.get_marker() != measured.get_marker()
