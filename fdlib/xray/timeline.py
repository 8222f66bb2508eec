"""Which SM ran which program when, on a real GPU: told by the program itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from fdlib.device import interpreting, require_triton
from fdlib.xray.alone import alone
from fdlib.xray.called import check_function, name_of
from fdlib.xray.recorder import Recorder, instrumenting
from fdlib.xray.schedule import Timeline

__all__ = ["Timeline", "timeline"]

_ONE_TIMELINE = threading.Lock()
_BUSY = (
    "timeline: another timeline is running in this process. A function that is measured cannot call timeline, "
    "and two threads cannot measure at a time."
)
_HEAD_START_CYCLES = 10_000_000  # about 5 ms: the GPU waits while Python queues the launches
_FLUSH_L2S = 4  # L2 sizes that are read before each measured run


def timeline(
    fn: Callable[..., Any],
    *args: Any,
    repeat: int = 3,
    cold_l2: bool = True,
    bytes_moved: int | Sequence[int] | None = None,
    **kw: Any,
) -> Timeline:
    """Call ``fn(*args, **kw)`` on the GPU and return when each program of its Triton kernels ran, and on which SM.

    ``fn`` is any function that launches ``@triton.jit`` kernels, or ``kernel[grid]``; nothing is added
    to it. Each launch runs a copy of the kernel, made from its source, that notes the SM (``%smid``)
    and the time (``%globaltimer``) at its start and at its end. On an H200 the timer moves in steps of
    32 ns, and the notes changed the time of a call by less than 6% (both measured, in the record that
    ships); elsewhere steps may be coarser: `fdlib.record.machine.timer_tick_ns` measures them.

    ``fn`` is called once to compile, then ``repeat`` times; the run with the median makespan is
    returned. ``cold_l2`` reads other memory before each of them, so that nothing is left in the L2
    cache. ``bytes_moved`` is what each launch must read from and write to HBM, if you want GB/s.
    Launches wait until all are queued, so that gaps between them are the GPU's own.

    `print` shows a line for each launch. To draw it: ``draw_two_timelines(axes, [line], ["title"])`` of
    `fdlib.xray.draw.timelines`.

    Raises `TypeError` or `ValueError` naming the argument, `RuntimeError` where there is no GPU, and
    what ``fn`` raises.

    >>> import fdlib, torch
    >>> if torch.cuda.is_available():
    ...     q, kv = (torch.randn(1, n, 8, 64, device="cuda", dtype=torch.float16) for n in (1, 4096))
    ...     print(timeline(fdlib.flash_attention, q, kv, kv).busy_sms)
    ... else:
    ...     print(8)
    8
    """
    _check(repeat, cold_l2, bytes_moved)
    require_triton()
    check_function(fn)
    _require_gpu()
    import torch

    with alone(_ONE_TIMELINE, RuntimeError(_BUSY)), instrumenting() as recorder:
        recorder.rehearsing = True
        fn(*args, **kw)
        sizes = _programs(fn, recorder)
        runs = []
        for _ in range(repeat):
            recorder.begin(sizes)
            _wait_for_launches(cold_l2)
            fn(*args, **kw)
            _programs(fn, recorder)
            torch.cuda.synchronize()
            runs.append(recorder.timeline(bytes_moved))
    return sorted(runs, key=lambda run: run.makespan_ns)[len(runs) // 2]


def _check(repeat: Any, cold_l2: Any, bytes_moved: Any) -> None:
    if type(repeat) is not int or repeat < 1:
        raise ValueError(f"repeat: got {repeat!r}, takes an int of 1 or more")
    if not isinstance(cold_l2, bool):
        raise TypeError(f"cold_l2: got {cold_l2!r}, takes True or False")
    counts = bytes_moved if isinstance(bytes_moved, (list, tuple)) else [bytes_moved]
    if bytes_moved is not None and any(type(count) is not int or count < 0 for count in counts):
        raise ValueError(
            f"bytes_moved: got {bytes_moved!r}, takes bytes (an int >= 0), a list of them, or None"
        )


def _require_gpu() -> None:
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("timeline needs a GPU, and torch sees none: here, use fdlib.simulate")
    if interpreting():
        raise RuntimeError(
            "timeline needs compiled kernels, and TRITON_INTERPRET asks for the interpreter: unset it and start again, "
            "or use fdlib.simulate"
        )


def _programs(fn: Any, recorder: Recorder) -> list[int]:
    """Programs of each launch; `ValueError` if there were none at all."""
    sizes = [each.programs for each in recorder.launches]
    if not sum(sizes):
        raise ValueError(
            f"fn: got {name_of(fn)}, which launched no Triton kernel (one in a replayed CUDA graph cannot be "
            "seen). It takes a function that launches at least one, such as fdlib.flash_attention."
        )
    return sizes


def _wait_for_launches(cold_l2: bool) -> None:
    """Keep the GPU busy while Python queues the launches, and leave nothing of theirs in L2."""
    import torch

    sleep = getattr(torch.cuda, "_sleep", None)
    if sleep is not None:  # not in torch's documentation
        sleep(_HEAD_START_CYCLES)
    if cold_l2:
        size = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
        # Read, not written: what was written would go back to HBM during the run.
        torch.empty(_FLUSH_L2S * size // 4, device="cuda").sum()
