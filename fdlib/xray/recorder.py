"""While a function runs, put instrumented copies in the place of its Triton kernels, and keep what they note."""

from __future__ import annotations

import contextlib
import datetime
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fdlib.gpus import get_gpu
from fdlib.xray.schedule import LaunchSpans, Timeline

__all__ = ["Recorder", "instrumenting", "short_name"]

FIELDS = 3  # int64 per program: SM id, start, end


@dataclass
class _Launch:
    kernel: str
    grid: tuple[int, int, int]
    programs: int
    spans: Any = None  # int64 (programs, FIELDS), on the GPU; None in a rehearsal


@dataclass
class Recorder:
    """Runs copies in the place of kernels, and keeps what they note."""

    capturing: bool = False  # launches may stand in a CUDA graph
    rehearsing: bool = False  # kernels run themselves; copies are only compiled
    launches: list[_Launch] = field(default_factory=list)
    _copies: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # id -> (kernel, its copy)
    _ready: list[Any] = field(default_factory=list)
    _sample: Any = None  # to compile with

    def begin(self, sizes: Sequence[int]) -> None:
        """Forget the last run; ``sizes`` are the programs of each launch to come, so that nothing waits for memory."""
        self.launches, self.rehearsing = [], False
        self._ready = [_new_spans(size) for size in sizes]

    def run(self, launch: Callable[..., Any], kernel: Any, args: Any, grid: Any, kw: Any) -> Any:
        """Launch the copy of ``kernel`` with ``launch``, Triton's own ``JITFunction.run``."""
        if self.rehearsing:
            return self._rehearse(launch, kernel, args, grid, kw)
        self._refuse(kernel, kw)
        for hook in kernel.pre_run_hooks:
            hook(*args, **kw)
        noted = self._note(kernel, _grid_of(kernel, grid, args, kw))
        noted.spans = self._spans(noted.programs)
        copy = self._copy(kernel)
        return launch(copy, noted.spans, *args, grid=noted.grid, warmup=False, **kw)

    def _rehearse(self, launch: Any, kernel: Any, args: Any, grid: Any, kw: Any) -> Any:
        """Launch the kernel, whose errors are its own, and make its copy ready."""
        done = launch(kernel, *args, grid=grid, warmup=False, **kw)
        noted = self._note(kernel, _grid_of(kernel, grid, args, kw))
        if self._sample is None:
            self._sample = _new_spans(1)
        copy = launch(self._copy(kernel), self._sample, *args, grid=noted.grid, warmup=True, **kw)
        getattr(copy, "_init_handles", lambda: None)()  # loads it: that may wait for the GPU
        return done

    def _note(self, kernel: Any, grid: tuple[int, int, int]) -> _Launch:
        self.launches.append(_Launch(kernel.__name__, grid, grid[0] * grid[1] * grid[2]))
        return self.launches[-1]

    def timeline(self, bytes_moved: int | Sequence[int] | None = None) -> Timeline:
        """What was noted since `begin`, at least one program; wait for the GPU first."""
        import torch

        devices = {each.spans.device for each in self.launches}
        if len(devices) > 1:
            raise ValueError(f"fn: launched on {len(devices)} GPUs, takes one that uses one GPU")
        properties = torch.cuda.get_device_properties(devices.pop())
        counts = _per_launch(bytes_moved, len(self.launches))
        noted = [each.spans.cpu().numpy() for each in self.launches]
        zero = min(int(each[:, 1].min()) for each in noted if len(each))
        launches = tuple(
            LaunchSpans(each.kernel, each.grid, sm.copy(), start - zero, end - zero, count)
            for each, (sm, start, end), count in zip(
                self.launches, (n.T for n in noted), counts, strict=True
            )
        )
        where = f"measured on this machine, {datetime.date.today().isoformat()}"
        return Timeline(
            launches,
            short_name(properties.name),
            properties.multi_processor_count,
            "measured",
            where,
        )

    def _refuse(self, kernel: Any, kw: Any) -> None:
        import torch

        if kw.get("num_ctas", 1) != 1:
            raise ValueError(f"fn: {kernel.__name__} has num_ctas={kw['num_ctas']}, takes 1")
        if not self.capturing and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                f"timeline: fn launches {kernel.__name__} while it captures a CUDA graph. Give timeline the function "
                "that the graph is made of."
            )

    def _copy(self, kernel: Any) -> Any:
        from fdlib.xray.instrument import instrument

        if id(kernel) not in self._copies:
            self._copies[id(kernel)] = (kernel, instrument(kernel))
        return self._copies[id(kernel)][1]

    def _spans(self, programs: int) -> Any:
        import torch

        if self.capturing:
            return torch.empty(programs, FIELDS, dtype=torch.int64, device="cuda")
        if self._ready and len(self._ready[0]) == programs:
            return self._ready.pop(0)
        return _new_spans(programs)


def short_name(device_name: str) -> str:
    """The GPU's name in `fdlib.gpus.GPUS`, or its own where it is not there.

    >>> short_name("NVIDIA H200"), short_name("Orin")
    ('H200', 'Orin')
    """
    try:
        return get_gpu(device_name).name
    except ValueError:
        return device_name


def _new_spans(programs: int) -> Any:
    import torch

    return torch.zeros(programs, FIELDS, dtype=torch.int64, device="cuda")


def _per_launch(bytes_moved: int | Sequence[int] | None, launches: int) -> Sequence[int | None]:
    if bytes_moved is None:
        return [None] * launches
    counts = [bytes_moved] if isinstance(bytes_moved, int) else bytes_moved
    if len(counts) != launches:
        raise ValueError(
            f"bytes_moved: got {len(counts)} of them, takes {launches}: one for each launch"
        )
    return counts


def _grid_of(kernel: Any, grid: Any, args: Any, kw: Any) -> tuple[int, int, int]:
    """Three ints from what Triton takes as a grid: one to three of them, or a function of the arguments."""
    if callable(grid):
        defaults = {p.name: p.default for p in kernel.params if p.has_default}
        names = [p.name for p in kernel.params]
        given = dict(zip(names, args, strict=False)) | {n: kw[n] for n in names if n in kw}
        grid = grid(defaults | given)
    x, y, z = (*(int(n) for n in grid), 1, 1)[:3]
    return x, y, z


@contextlib.contextmanager
def instrumenting(*, capturing: bool = False) -> Iterator[Recorder]:
    """In the block, launches of this thread run instrumented copies; their notes are in what it yields."""
    from triton.runtime.jit import JITFunction

    recorder, thread, launch = Recorder(capturing), threading.get_ident(), JITFunction.run

    def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kw: Any) -> Any:
        if warmup or threading.get_ident() != thread:
            return launch(kernel, *args, grid=grid, warmup=warmup, **kw)
        return recorder.run(launch, kernel, args, grid, kw)

    JITFunction.run = run
    try:
        yield recorder
    finally:
        JITFunction.run = launch
