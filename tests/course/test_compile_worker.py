"""The process that compiles: a copy per GPU, and what it says of what a GPU would refuse."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from fdlib.course.grading import compile_worker
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
    assert compile_worker._warning(T4, 64 * 1024, 8) == ""
    refused = compile_worker._warning(T4, 80 * 1024, 0)
    assert "would refuse the launch: a program needs 80 KiB" in refused
    assert "it has 64 KiB" in refused
    assert compile_worker._warning(A100, 80 * 1024, 0) == ""
    slow = compile_worker._warning(T4, 0, 3800)
    assert "3,800 bytes a thread" in slow
    assert "(spills)" in slow
