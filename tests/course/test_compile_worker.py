"""The process that compiles: a copy per GPU, and what it says of what a GPU would refuse."""

from __future__ import annotations

import errno
import importlib.util
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fdlib.course.expect.check import Compilation
from fdlib.course.expect.compare import Mismatch
from fdlib.course.grading import compile_worker
from fdlib.course.grading.compile_warnings import resource_warning, warnings_of
from fdlib.course.grading.events import Results, read_events
from fdlib.gpus import GPUS, GpuSpec

T4, A100 = GPUS["T4"], GPUS["A100"]


def told(path: Path) -> list[tuple[str, str]]:
    events = read_events(path.read_text(), "w")
    return sorted((event["event"], event["gpu"]) for event in events)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="copies of the process are forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_compiler_that_crashes_for_one_gpu_leaves_the_others(tmp_path: Path) -> None:
    def work(gpu: GpuSpec, results: Results) -> None:
        if gpu is T4:
            os.kill(os.getpid(), signal.SIGKILL)
        results.add("end", gpu=gpu.name)

    path = tmp_path / "results"
    compile_worker._for_each([T4, A100], Results(str(path), "w"), work)
    assert told(path) == [("crashed", "T4"), ("end", "A100")]


def test_without_fork_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork", raising=False)
    path = tmp_path / "results"
    results = Results(str(path), "w")
    compile_worker._for_each([T4, A100], results, lambda gpu, to: to.add("end", gpu=gpu.name))
    assert told(path) == [("end", "A100"), ("end", "T4")]


def test_what_a_gpu_would_refuse_or_run_slowly() -> None:
    assert resource_warning(T4, 64 * 1024, 8) == ""
    refused = resource_warning(T4, 80 * 1024, 0)
    assert "would refuse the launch: a program needs 80 KiB" in refused
    assert "it has 64 KiB" in refused
    assert resource_warning(A100, 80 * 1024, 0) == ""
    slow = resource_warning(T4, 0, 3800)
    assert "3,800 bytes a thread" in slow
    assert "(spills)" in slow


def launch(name: str, error: BaseException | None = None) -> SimpleNamespace:
    return SimpleNamespace(name=name, error=error)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """(kernel, error) of each row about these launches, and what the launcher raised."""

    def row(gpu: GpuSpec, launch: Any, *_: Any) -> dict[str, Any]:
        return {"kernel": launch.name, "error": str(launch.error or "")}

    def rows(*launches: Any, raised: BaseException | None = None) -> list[tuple[str, str]]:
        request = {"path": "/h/ex91.py", "source": ""}
        compilation = Compilation("D 64", lambda module: None)
        found = compile_worker._rows(T4, launches, raised, compilation, request, "")
        return [(row["kernel"], row["error"]) for row in found]

    monkeypatch.setattr(compile_worker, "_row", row)
    return rows


def test_every_launch_that_does_not_compile_is_told(rows: Any) -> None:
    assert rows(launch("k"), launch("k")) == [("k", "")]
    wrong, other = ValueError("with CAUSAL it does not"), ValueError("another")
    assert rows(launch("k"), launch("k", wrong), raised=wrong) == [("k", ""), ("k", str(wrong))]
    caught = rows(launch("k", wrong), launch("k", wrong), launch("k", other), launch("k"))
    assert caught == [("k", str(wrong)), ("k", str(other)), ("k", "")]


def test_what_ends_the_launcher_between_two_kernels_is_told(rows: Any) -> None:
    raised = IndexError("the second one is never launched")
    assert rows(launch("first"), raised=raised) == [("first", ""), ("", f"IndexError: {raised}")]
    assert rows(raised=raised) == [("", f"IndexError: {raised}")]
    assert rows() == [("", "It launched no kernel.")]
    assert rows(raised=Mismatch("out has the wrong shape.")) == [("", "out has the wrong shape.")]
    wrong, wrapped = ValueError("it does not compile"), RuntimeError("no good")
    wrapped.__cause__ = wrong
    assert rows(launch("k", wrong), raised=wrapped) == [("k", str(wrong))]


@pytest.mark.parametrize(
    ("error", "so"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (PermissionError(errno.EACCES, "Permission denied"), True),
        (FileNotFoundError(errno.ENOENT, "No such file", "/usr/bin/ptxas"), True),
        (RuntimeError("Cannot find ptxas"), True),
        (FileNotFoundError(errno.ENOENT, "No such file", "/tmp/what-the-learner-removed"), False),
        (RuntimeError("PTXAS error: out of registers"), False),
    ],
)
def test_which_errors_are_the_machines(error: BaseException, so: bool) -> None:
    assert compile_worker._is_this_machine(error) is so


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="kernels need triton")
def test_memory_that_nobody_gives_fails_at_the_line_that_asks_for_it() -> None:
    from triton.runtime import _allocation

    source = "@triton.jit\ndef kernel(X):\n    d = tl.make_tensor_descriptor(X)\n"
    takes = SimpleNamespace(shared_bytes=0, local_bytes=0, tf32=False)
    about: dict[str, Any] = {"ieee": False, "path": Path("ex05.py"), "source": source}

    def row(scratch_bytes: int) -> dict[str, Any]:
        kernel = SimpleNamespace(metadata=SimpleNamespace(global_scratch_size=scratch_bytes))
        return warnings_of(A100, kernel, takes, **about)

    assert row(0) == {"warning": ""}
    assert row(128)["fails"]
    assert "needs 128 bytes of global memory" in row(128)["warning"]
    assert row(128)["location"] == "ex05.py:3: d = tl.make_tensor_descriptor(X)"
    token = _allocation._allocator.set(lambda size, alignment, stream: None)
    try:
        assert row(128) == {"warning": ""}
    finally:
        _allocation._allocator.reset(token)
