"""What a GPU would do with a plan or a trace: a model of which SM runs which program when.

Programs go to SMs as slots free up. The time of a step of its loop limits a program; an SM has a limit, and so has the
memory behind all of them. Bytes in flight over latency (Little's law) shape how the memory saturates. K and V come from
HBM: the L2 cache is cold. The combine finds partial results in L2, but for those that K and V have since pushed
out. The numbers, where they come from and what they miss are in `fdlib.xray.simulation.model`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fdlib.gpus import GpuSpec, get_gpu
from fdlib.plan import COMBINE_BLOCK, SplitPlan, cdiv, plan_splits
from fdlib.shapes import AttentionShape
from fdlib.xray.schedule import LaunchSpans, Timeline
from fdlib.xray.simulation.fluid import place_and_run
from fdlib.xray.simulation.model import (
    FITTED,
    Parameters,
    launch_limits,
    parameters_for,
    where_from,
)
from fdlib.xray.simulation.work import Work, flash_attention_work, plan_works, trace_works
from fdlib.xray.tracing.data import Trace

__all__ = [
    "best_num_splits",
    "call_us",
    "simulate",
    "simulate_flash_attention",
    "simulate_works",
    "split_times_us",
]


AS_FDLIBS = (
    "kernels that are not fdlib's have the registers and shared memory of its attention kernel"
)


def simulate(trace_or_plan: SplitPlan | Trace, gpu: GpuSpec | str) -> Timeline:
    """The modelled timeline of a `SplitPlan` (split kernel and combine) or of a `Trace` on ``gpu``.

    ``gpu`` is a `GpuSpec` or a name such as ``"H200"``. The timeline begins with the first program.
    A trace does not say what a program takes of an SM: a kernel of yours is given what fdlib's
    attention kernel takes, and the timeline's `where` says so.
    Raises `TypeError` for anything else, `ValueError` for an unknown GPU, a launch without programs
    and a program that fits on no SM.

    `print` shows a line for each launch. To draw it: ``draw_two_timelines(axes, [line], ["title"])`` of
    `fdlib.xray.draw.timelines`.

    >>> from fdlib import AttentionShape, plan_splits
    >>> shape = AttentionShape(heads_q=8, heads_kv=1, len_kv=131_072)
    >>> line = simulate(plan_splits(shape, "H200"), "H200")
    >>> line.source, [each.kernel for each in line.launches], line.busy_sms
    ('model', ['_split_kernel', '_combine_kernel'], 128)
    """
    if isinstance(trace_or_plan, SplitPlan):
        return simulate_works(plan_works(trace_or_plan), gpu, name="plan")
    if not isinstance(trace_or_plan, Trace) or not trace_or_plan.launches:
        got = type(trace_or_plan).__name__
        raise TypeError(f"trace_or_plan: got {got}, takes a SplitPlan, or a Trace with a launch")
    line = simulate_works(trace_works(trace_or_plan), gpu, name="trace")
    return replace(line, where=f"{line.where}; {AS_FDLIBS}")


def simulate_flash_attention(shape: AttentionShape, gpu: GpuSpec | str) -> Timeline:
    """The modelled timeline of `fdlib.flash_attention` at ``shape``: what Flash-Decoding is compared with.

    With one query it has a program for each head and sequence, however many keys there are:

    >>> line = simulate_flash_attention(AttentionShape(heads_q=8, heads_kv=1, len_kv=16_384), "H200")
    >>> line.busy_sms, round(1 - line.utilisation, 2)
    (8, 0.94)
    """
    return simulate_works((flash_attention_work(shape),), gpu, name="shape")


def simulate_works(
    works: Sequence[Work],
    gpu: GpuSpec | str,
    numbers: Parameters | None = None,
    *,
    name: str = "works",
) -> Timeline:
    """The modelled timeline of launches that follow one another, each when the one before has ended.

    ``numbers`` are those of `fdlib.xray.simulation.model` unless you try others.
    """
    spec = get_gpu(gpu) if isinstance(gpu, str) else gpu
    if not isinstance(spec, GpuSpec):
        raise TypeError(f"gpu: got {type(gpu).__name__}, takes a GpuSpec or a name")
    numbers = numbers or parameters_for(spec)
    launches: list[LaunchSpans] = []
    begin_ns, end_ns = 0.0, np.zeros(0)
    for work in works:
        if not work.programs:
            raise ValueError(
                f"{name}: got a launch of {work.kernel} with 0 programs, takes at least one program"
            )
        lost = _lost_steps(work, spec, launches, end_ns)
        limits = launch_limits(work, spec, numbers, float(lost.mean()))
        longer = numbers.longer(lost)
        steps_bytes = work.program_steps * work.step_bytes  # masked lanes take their time too
        sm, start_ns, end_ns = place_and_run(steps_bytes * longer, limits, begin_ns)
        launches.append(_launch_spans(work, sm, start_ns, end_ns))
        begin_ns = float(end_ns.max()) + numbers.gap_ns
    return Timeline(tuple(launches), spec.name, spec.num_sms, "model", where_from(spec))


def _lost_steps(
    work: Work, gpu: GpuSpec, before: Sequence[LaunchSpans], end_ns: np.ndarray
) -> np.ndarray:
    """Per program: the part of its steps that find a row of theirs no longer in L2.

    The launch before wrote the rows, a program each at its end, and what has been read since takes their place.
    """
    l2_bytes = gpu.l2_mb * 2**20
    if not work.left_bytes or not before:
        return np.full(work.programs, float(work.left_bytes > l2_bytes))
    streamed = max(before[-1].bytes_moved or 0, 1)
    end, begin = float(end_ns.max()), float(before[-1].start_ns.min())
    late = end_ns >= end - (end - begin) * l2_bytes / streamed
    parts = late.reshape(-1, work.left_parts)
    steps = np.arange(0, work.left_parts, COMBINE_BLOCK)
    lost = ~np.logical_and.reduceat(parts, steps, axis=1)
    rows = np.arange(work.programs) * len(lost) // work.programs  # near each other, as the heads
    return lost.mean(1)[rows]


def _launch_spans(work: Work, sm: np.ndarray, start: np.ndarray, end: np.ndarray) -> LaunchSpans:
    start_ns, end_ns = (np.rint(each).astype(np.int64) for each in (start, end))
    return LaunchSpans(work.kernel, work.grid, sm, start_ns, end_ns, work.hbm_bytes)


def call_us(timeline: Timeline) -> float:
    """Microseconds of the call behind a simulated timeline: its programs, and the cost of the launch before them.

    That is what the recorded times hold. The launch costs what it does in a CUDA graph's replay on
    the GPU that the model was fitted on.

    >>> line = simulate(plan_splits(AttentionShape(heads_q=8, heads_kv=1, len_kv=0), "H200"), "H200")
    >>> call_us(line) > line.makespan_ns / 1e3
    True
    """
    return (timeline.makespan_ns + FITTED.launch_ns) / 1e3


def split_times_us(
    shape: AttentionShape, gpu: GpuSpec | str, splits: Sequence[int]
) -> dict[int, float]:
    """Modelled microseconds of a call of `fdlib.flash_decode` for each split count, one line of a picture."""
    spec = get_gpu(gpu) if isinstance(gpu, str) else gpu
    return {n: call_us(simulate(plan_splits(shape, spec, n), spec)) for n in splits}


def best_num_splits(
    shape: AttentionShape, gpu: GpuSpec | str, splits: Sequence[int] | None = None
) -> int:
    """The split count with the least modelled time, of ``splits`` or of all that give each SM two programs at most.

    Of counts as fast as each other, the smallest. Raises `ValueError` if ``splits`` has none.

    >>> best_num_splits(AttentionShape(heads_q=32, heads_kv=8, len_kv=16_384), "H200", [1, 4, 16, 64])
    16
    """
    if splits is None:
        one = plan_splits(shape, gpu, 1)
        most = min(2 * one.num_sms // max(one.programs, 1), cdiv(shape.len_kv, one.block_n))
        splits = range(1, max(most, 1) + 1)
    times = split_times_us(shape, gpu, splits)
    if not times:
        raise ValueError("splits: got no count, takes one or more, or None")
    return min(times, key=lambda n: (times[n], n))
