"""Timelines: the copy of a kernel that notes times, how launches are replaced, and the errors."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

import torch
from triton.runtime.jit import JITFunction

import fdlib
from fdlib.xray.instrument import instrumented_source
from fdlib.xray.recorder import _grid_of, _per_launch, instrumenting
from fdlib.xray.timeline import _ONE_TIMELINE

CHILD = Path(__file__).with_name("instrumented_elsewhere.py")
ROOT = Path(__file__).resolve().parents[2]
CAPABILITIES = (75, 80, 90, 100)
needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")

START, END = "fdlib_note_start(fdlib_spans)", "fdlib_note_end(fdlib_spans)"


def lines(source: str) -> list[str]:
    return [line.strip() for line in instrumented_source(source).splitlines()]


def test_the_docstring_stays_first():
    assert lines('def k(X):\n    """What it does."""\n    tl.store(X, 1)')[1:] == [
        '"""What it does."""', START, "tl.store(X, 1)", END,
    ]  # fmt: skip


def test_an_empty_kernel_is_noted_too():
    assert lines('def k(X):\n    """Nothing."""') == [
        "def k(fdlib_spans, X):",
        '"""Nothing."""',
        START,
        END,
    ]
    assert lines("def k():\n    pass") == ["def k(fdlib_spans):", START, "pass", END]


def test_each_return_is_noted_and_none_twice():
    found = lines(
        "def k(X, n):\n    if n == 0:\n        return\n    elif n == 1:\n        tl.store(X, 1); return\n    else:\n"
        "        for i in range(n):\n            tl.store(X, i)\n    return"
    )
    assert found.count("return") == found.count(END) == 3
    assert [found[i - 1] for i, line in enumerate(found) if line == "return"] == [END] * 3
    assert found[-1] == "return"


def test_a_helper_that_a_return_calls_has_worked_before_the_end_is_noted():
    found = lines("def k(X, n):\n    if n == 0:\n        return put(X, 1)\n    return put(X, 2)")
    assert found[2:] == [
        *("if n == 0:", "put(X, 1)", END, "return"),
        *("put(X, 2)", END, "return"),
    ]


def test_names_that_the_kernel_uses_are_left_to_it():
    found = lines("def k(fdlib_spans, n):\n    fdlib_note_end_ = n\n    tl.store(fdlib_spans, n)")
    assert found == [
        "def k(fdlib_spans__, fdlib_spans, n):", "fdlib_note_start__(fdlib_spans__)",
        "fdlib_note_end_ = n", "tl.store(fdlib_spans, n)", "fdlib_note_end__(fdlib_spans__)",
    ]  # fmt: skip


def test_the_pointer_stands_in_front_of_defaults_and_of_positional_only_parameters():
    assert lines("def k(X, n=3, *, BLOCK: tl.constexpr=64):\n    pass")[0] == (
        "def k(fdlib_spans, X, n=3, *, BLOCK: tl.constexpr=64):"
    )
    assert lines("def k(X, /, n):\n    pass")[0] == "def k(fdlib_spans, X, /, n):"


def test_comments_and_odd_layout_do_not_matter():
    source = "def k(\n    X,  # a pointer: (\n    n,\n):  # fmt: skip\n    # begins\n    tl.store(\n        X, n)\n"
    ast.parse(instrumented_source(source))
    assert lines(source)[1:] == [START, "tl.store(X, n)", END]


@pytest.fixture(scope="module")
def compiled():
    """Each kernel and its copy, compiled for GPUs that are not here: a minute at first, then Triton's cache has it."""
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "0",
        "PYTHONPATH": str(ROOT),
        "CUDA_VISIBLE_DEVICES": "",
    }
    done = subprocess.run(
        [sys.executable, str(CHILD), *map(str, CAPABILITIES)],
        env=environment, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


KERNELS = (
    *("_flash_attention_kernel", "_split_kernel", "_split_kernel", "_combine_kernel"),
    *("flash_attention_kernel", "split_kernel", "combine_kernel"),
    *("cell_kernel", "cell_kernel", "enclosed_kernel", "wrapped_kernel"),
    *("returning_kernel", "another_name"),
)


@pytest.mark.xdist_group("compiles")
def test_copies_compile_and_take_what_the_kernel_takes(compiled):
    assert [row["kernel"] for row in compiled] == [*KERNELS] * len(CAPABILITIES)
    for row in compiled:
        plain, copy = row["plain"], row["copy"]
        assert copy["shared_bytes"] == plain["shared_bytes"], row
        assert (copy["tf32"], copy["tensor_cores"]) == (plain["tf32"], plain["tensor_cores"]), row
        if plain["registers"] is not None:
            assert copy["registers"] <= plain["registers"] + 16, row
            assert copy["local_bytes"] <= plain["local_bytes"] + 16, row


@pytest.mark.xdist_group("compiles")
def test_the_timer_is_read_before_all_and_after_the_kernels_own_stores(compiled):
    """In machine code: neither compiler has moved the readings."""
    orders = [row["order"] for row in compiled if row["order"] is not None]
    if not orders:
        pytest.skip("this Triton brings no cuobjdump")
    for order in orders:
        assert order[:3] == ["GLOBALTIMER", "STG", "STG"]
        assert order[-3:] == ["BAR", "GLOBALTIMER", "STG"]


@pytest.mark.xdist_group("compiles")
def test_grids_are_resolved_as_triton_does(compiled):
    grids = {
        tuple(row["grid"]) for row in compiled if row["kernel"] in ("cell_kernel", "wrapped_kernel")
    }
    assert grids == {(4, 1, 1), (3, 1, 1), (1, 4, 1)}
    assert all(
        row["programs"] == row["grid"][0] * row["grid"][1] * row["grid"][2] for row in compiled
    )


def test_a_grid_may_have_one_to_three_axes():
    kernel = type("Kernel", (), {"params": ()})
    assert _grid_of(kernel, (7,), (), {}) == (7, 1, 1)
    assert _grid_of(kernel, [7, 2], (), {}) == (7, 2, 1)
    assert _grid_of(kernel, lambda given: (7, 2, 3), (), {}) == (7, 2, 3)


def test_bytes_are_given_per_launch():
    assert list(_per_launch(None, 2)) == [None, None]
    assert list(_per_launch(5, 1)) == [5]
    assert list(_per_launch([5, 6], 2)) == [5, 6]
    with pytest.raises(ValueError, match="bytes_moved: got 1 of them, takes 2"):
        _per_launch(5, 2)


def test_the_hook_is_removed_after_an_exception():
    run, during = JITFunction.run, []

    def half_way():
        with instrumenting():
            during.append(JITFunction.run)
            raise KeyError("half-way")

    with pytest.raises(KeyError, match="half-way"):
        half_way()
    assert JITFunction.run is run
    assert during != [run]


def test_a_warm_up_is_left_alone():
    seen = []
    run = JITFunction.run
    JITFunction.run = lambda kernel, *args, **kw: seen.append((args, kw))
    try:
        with instrumenting() as recorder:
            JITFunction.run(None, 1, grid=(1,), warmup=True, n=2)
    finally:
        JITFunction.run = run
    assert seen == [((1,), {"grid": (1,), "warmup": True, "n": 2})]
    assert recorder.launches == []


@needs_no_gpu
def test_without_a_gpu_it_names_what_works_here():
    with pytest.raises(RuntimeError, match="timeline needs a GPU.* use fdlib.simulate"):
        fdlib.timeline(lambda: None)
    assert not _ONE_TIMELINE.locked()


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"fn": 3}, TypeError, "fn: got int, takes a function that launches kernels"),
        ({"repeat": 0}, ValueError, "repeat: got 0, takes an int of 1 or more"),
        ({"repeat": True}, ValueError, "repeat: got True"),
        ({"cold_l2": 1}, TypeError, "cold_l2: got 1, takes True or False"),
        ({"bytes_moved": -1}, ValueError, "bytes_moved: got -1, takes bytes"),
        ({"bytes_moved": [1, 2.5]}, ValueError, r"bytes_moved: got \[1, 2.5\], takes bytes"),
    ],
)
def test_arguments_are_named(given, error, text):
    fn = given.pop("fn", print)
    with pytest.raises(error, match=text):
        fdlib.timeline(fn, **given)


def test_a_kernel_without_a_grid_is_refused():
    from fdlib.attention.combine import _combine_kernel

    with pytest.raises(
        TypeError,
        match=r"got the kernel _combine_kernel without a grid, takes _combine_kernel\[grid\]",
    ):
        fdlib.timeline(_combine_kernel)
