"""Time GPU work by replaying a CUDA graph of it: no Python between the launches."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

__all__ = ["Times", "median_us", "replay_times"]


@dataclass(frozen=True)
class Times:
    """Microseconds of one call: the median, the least and the most of several replays."""

    median_us: float
    least_us: float
    most_us: float


def replay_times(
    calls: Sequence[Callable[[], object]], replays: int = 7, limit_us: float = float("inf")
) -> Times | None:
    """Times of one call; each of ``calls`` does the same work on other buffers.

    None where a call alone takes more than ``limit_us``.
    """
    if _warm_up(calls) > limit_us:
        return None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = [call() for call in calls]
    graph.replay()
    torch.cuda.synchronize()
    times = sorted(_elapsed_us(graph.replay) / len(calls) for _ in range(replays))
    del kept
    return Times(statistics.median(times), times[0], times[-1])


def median_us(calls: Sequence[Callable[[], object]], replays: int = 7) -> float:
    """Microseconds of one call, however long it takes; ``calls`` as `replay_times` takes them."""
    times = replay_times(calls, replays)
    assert times  # no limit, no None
    return times.median_us


def _warm_up(calls: Sequence[Callable[[], object]]) -> float:
    """Compile, and return the microseconds of one call."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        calls[0]()
        took_us = _elapsed_us(calls[-1])
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    return took_us


def _elapsed_us(call: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e3
