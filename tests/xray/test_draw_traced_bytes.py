"""Traced traffic as a picture; a kernel that loads a block twice, or skips one, changes numbers and pixels."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("matplotlib")
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import fdlib  # noqa: F401  (chooses the interpreter before triton is imported)
from fdlib.device import interpreting
from fdlib.xray.draw.traced_bytes import draw_traced_bytes, prepare_traced_bytes, rows_high
from fdlib.xray.figures.traced_bytes import ArgumentBytes, KernelBytes, traced_bytes
from fdlib.xray.simulate import simulate
from fdlib.xray.trace import trace

SOLUTION = Path(__file__).parents[2] / "solutions" / "ex05_flash_decoding.py"
LOOP = "for first in range(start, end, BLOCK_N):\n"
MUTATIONS = {
    "as it is": LOOP,
    "loads a block of K twice": LOOP
    + "        tl.load(k_base + (first + tl.arange(0, BLOCK_N))[:, None] * stride_kn + offs_d[None, :],\n"
    "                mask=(first + tl.arange(0, BLOCK_N) < end)[:, None], other=0.0)\n",
    "skips the first block": LOOP.replace("(start,", "(start + BLOCK_N,"),
}
HEADS, KEYS, DIM, SPLITS, BLOCK = 2, 256, 16, 2, 32
ONE_READ = HEADS * KEYS * DIM * 2  # bytes of K, float16, once for each query head


def rows(*kernels: KernelBytes) -> tuple[np.ndarray, str, list[str]]:
    """The pixels, the sentence and the texts of a picture."""
    figure = Figure(figsize=(6, 4))
    canvas = FigureCanvasAgg(figure)
    ax = figure.subplots()
    prepare_traced_bytes(ax, kernels, title="Traffic")
    said = draw_traced_bytes(ax, kernels)
    canvas.draw()
    return np.array(canvas.buffer_rgba()), said, [text.get_text() for text in ax.texts]


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    if not interpreting():
        pytest.skip("a child process per trace: test_trace_child has that")
    folder, found = tmp_path_factory.mktemp("kernels"), {}
    q, k, v = (torch.randn(1, n, HEADS, DIM).half() for n in (1, KEYS, KEYS))
    for number, (name, loop) in enumerate(MUTATIONS.items()):
        source = SOLUTION.read_text(encoding="utf-8")
        assert LOOP in source
        path = folder / f"mutation_{number}.py"
        path.write_text(source.replace(LOOP, loop), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[name] = trace(module.split_kv, q, k, v, SPLITS, BLOCK)
    return found


def asked(trace_of, argument: str) -> int:
    return next(r.asked for r in traced_bytes("", trace_of).rows if r.name == argument)


def test_numbers_change_with_the_kernel(traces):
    whole, twice, skips = (asked(each, "K") for each in traces.values())
    assert whole == ONE_READ
    assert twice == 2 * ONE_READ
    assert skips == ONE_READ - SPLITS * HEADS * BLOCK * DIM * 2
    assert asked(traces["loads a block of K twice"], "V") == ONE_READ


def test_twice_is_no_more_for_hbm_and_a_skip_is_less(traces):
    whole, twice, skips = (traced_bytes("", each).hbm for each in traces.values())
    assert whole == twice
    assert skips < whole


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name != "as it is"])
def test_the_picture_changes_with_the_kernel(traces, name):
    right, said_right, texts_right = rows(traced_bytes("kernel", traces["as it is"]))
    again, *_ = rows(traced_bytes("kernel", traces["as it is"]))
    wrong, said_wrong, texts_wrong = rows(traced_bytes("kernel", traces[name]))
    assert (right == again).all()
    assert (right != wrong).any(-1).mean() > 0.005
    assert said_right != said_wrong
    assert texts_right != texts_wrong


def test_the_simulated_timeline_changes_with_the_kernel(traces):
    whole, twice, skips = (simulate(each, "H200").makespan_ns for each in traces.values())
    assert skips < whole < twice


def test_bars_are_as_long_as_their_bytes():
    kernel = KernelBytes(
        "k", 1, 4, (ArgumentBytes("K", 4000, 1000), ArgumentBytes("Out", 2000, 2000))
    )
    ax = Figure().subplots()
    prepare_traced_bytes(ax, [kernel], title="")
    said = draw_traced_bytes(ax, [kernel])
    ends = [[path.vertices[:, 0].max() for path in group.get_paths()] for group in ax.collections]
    assert ends == [[4000, 2000], [1000, 2000]]
    texts = [text.get_text() for text in ax.texts]
    assert texts == [
        "k: 6.00 kB asked for, 3.00 kB to or from HBM",
        "4.00 kB / 1.00 kB",
        "2.00 kB / 2.00 kB",
    ]
    assert "1 launch, 4 programs" in said
    assert "largest: Out with 2.00 kB." in said
    marks = [label.get_text() for label in ax.get_xticklabels()]
    assert marks == ["0 B", "1.00 kB", "2.00 kB", "3.00 kB", "4.00 kB", "5.00 kB"][: len(marks)]
    assert rows_high([kernel]) == 2 + rows_high([KernelBytes("no arguments", 1, 1, ())])
    heights = {np.ptp(group.get_paths()[0].vertices[:, 1]).round(2) for group in ax.collections}
    assert len(heights) == 2  # not by colour alone


def test_the_axis_stays_that_of_what_it_was_prepared_for():
    large, small = (KernelBytes("k", 1, 1, (ArgumentBytes("K", n, n),)) for n in (4000, 40))
    ax = Figure().subplots()
    prepare_traced_bytes(ax, [large], title="")
    right = ax.get_xlim()[1]
    draw_traced_bytes(ax, [small])
    assert (ax.get_xlim()[1], ax.collections[0].get_paths()[0].vertices[:, 0].max()) == (right, 40)


def test_equals_are_all_named():
    rows_of = [ArgumentBytes(name, 64, 32) for name in ("1. q", "1. k", "2. q")]
    ax = Figure().subplots()
    said = draw_traced_bytes(ax, [KernelBytes("k", 2, 2, tuple(rows_of))])
    assert "; largest: q and k with 32 B each." in said


def test_launches_are_numbered_when_there_are_several(traces):
    one = traces["as it is"]
    assert [row.name for row in traced_bytes("", one).rows][:3] == ["Q", "K", "V"]
    from dataclasses import replace

    two = replace(one, launches=one.launches * 2)
    names = [row.name for row in traced_bytes("", two).rows]
    assert (names[0], names[-1]) == ("1. Q", "2. LsePartial")


@pytest.mark.parametrize("kernels", [[], [KernelBytes("none", 1, 1, (ArgumentBytes("K", 0, 0),))]])
def test_nothing_to_draw(kernels):
    rows(*kernels)
