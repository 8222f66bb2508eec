"""The roofline: what stands in the picture is what was given."""

from __future__ import annotations

import pytest

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

from fdlib.gpus import get_gpu  # noqa: E402
from fdlib.shapes import AttentionShape, model  # noqa: E402
from fdlib.xray.draw.roofline import draw_call, draw_ghost, prepare_roofline  # noqa: E402
from fdlib.xray.figures.roofline import Roofline, roof_line  # noqa: E402

H200 = get_gpu("H200")


@pytest.fixture
def ax():
    ax = Figure(figsize=(6, 3)).subplots()
    prepare_roofline(ax, *roof_line(H200, 0.5, 2.0**17), ridge=H200.ridge, title="the roof")
    yield ax
    ax.figure.canvas.draw()  # what is lazily laid out fails here, if it does


def written(ax) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def test_roof_and_ridge(ax):
    assert ax.get_title(loc="left") == "the roof"
    assert list(ax.lines[0].get_ydata()) == [2.4, 989.4, 989.4]
    assert {"memory-bound", "compute-bound", "ridge: 206"} <= set(written(ax).split("\n"))


def test_a_call_stands_at_its_intensity_under_the_roof(ax):
    call = Roofline(model("Llama-3.1-8B").shape(16_384), H200)
    draw_call(ax, call, "decode")
    ((x, y),) = ax.lines[-1].get_xydata()
    assert (x, y) == (call.shape.intensity, call.tflops)
    assert "memory-bound:\nat least 14 us" in written(ax)
    assert "67.1 MB moved at least" in written(ax)


def test_a_ghost_is_hollow_and_another_marker(ax):
    call = Roofline(model("Llama-3.1-8B").shape(4096, len_q=4096), H200)
    draw_ghost(ax, call, "prefill")
    draw_call(ax, call, "here")
    square, disk = ax.lines[-3], ax.lines[-1]
    assert square.get_marker() != disk.get_marker()
    assert "compute-bound:" in written(ax)


@pytest.mark.parametrize(("len_q", "len_kv"), [(0, 0), (1, 0), (2**20, 2**20)])
def test_what_lies_outside_is_drawn_at_the_edge(ax, len_q, len_kv):
    shape = AttentionShape(heads_q=1, heads_kv=1, len_q=len_q, len_kv=len_kv)
    draw_call(ax, Roofline(shape, H200), "edge")
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    ((x, y),) = ax.lines[-1].get_xydata()
    assert left <= x <= right
    assert low <= y <= high


def test_small_numbers_are_written_as_people_do(ax):
    draw_call(ax, Roofline(model("Llama-3.1-8B").shape(1), H200), "decode")
    assert "16,384 FLOPs\n" in written(ax)
    assert "arithmetic: under 0.001 us" in written(ax)
    assert "e-0" not in written(ax)
