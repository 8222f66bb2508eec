"""Trace a function that launches Triton kernels: what each program asks for, and what must reach HBM."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from fdlib.device import interpreting, require_triton
from fdlib.versions import bad_pair
from fdlib.xray.called import check_function, name_of
from fdlib.xray.trace_data import Trace, TraceError

__all__ = ["Options", "Trace", "trace", "trace_here"]

_ONE_TRACE = threading.Lock()  # the interpreter keeps the program's place in global variables

Options = tuple[float | None, int, int | None]  # l2_mb, at_once, max_events (None: no events)


def trace(
    fn: Callable[..., Any],
    *args: Any,
    l2_mb: float | None = None,
    at_once: int = 1,
    events: bool = False,
    max_events: int = 100_000,
    **kw: Any,
) -> Trace:
    """Call ``fn(*args, **kw)`` and return what the Triton kernels that it launches load, store and update.

    ``fn`` is any function that launches kernels, or ``kernel[grid]``; nothing is added to the
    kernels. `Trace` holds bytes per launch, program and tensor argument; `print` it for a table.
    Two numbers differ: what the programs ask for, and what must reach HBM at least (each 32-byte
    sector once). ``l2_mb`` adds an estimate for an LRU cache of that many MiB, with ``at_once``
    programs taking turns. ``events=True`` keeps every access in order, at most ``max_events``.

    Kernels run under Triton's interpreter. Where this process compiles them for a GPU, the call runs
    in a child process on CPU copies of the tensors: nothing that ``fn`` changes is seen here then.
    fdlib's own functions compute bfloat16 in float32 there, and that is what is counted: trace
    float16, which is as wide.
    Raises `TypeError` or `ValueError` naming the argument, `TraceError` for what stops a trace, and
    what ``fn`` raises.

    >>> import fdlib, torch
    >>> q, kv = torch.randn(1, 1, 4, 16), torch.randn(1, 128, 2, 16)
    >>> launch, = fdlib.trace(fdlib.flash_attention, q, kv, kv).launches
    >>> launch.arguments["K"].loaded_bytes, launch.arguments["K"].unique_loaded
    (32768, 16384)
    """
    _check_sizes(l2_mb, at_once, events, max_events)
    require_triton()
    check_function(fn)
    options = (l2_mb, at_once, max_events if events else None)
    if interpreting():
        return trace_here(fn, args, kw, options)
    from fdlib.xray.trace_child import trace_in_child

    return trace_in_child(fn, args, kw, options)


def trace_here(fn: Callable[..., Any], args: Any, kw: Any, options: Options) -> Trace:
    """Trace in this process, which runs kernels under the interpreter."""
    from fdlib.xray.interpreted import watching
    from fdlib.xray.trace_traffic import Traffic

    traffic = Traffic(*options)
    with _alone(), _no_compiled_kernel(), _own_errors(), watching(traffic):
        fn(*args, **kw)
    found = traffic.trace()
    if not found.launches:
        raise ValueError(
            f"fn: got {name_of(fn)}, which launched no Triton kernel. "
            "It takes a function that launches at least one, such as fdlib.flash_attention."
        )
    return found


def _check_sizes(l2_mb: Any, at_once: Any, events: Any, max_events: Any) -> None:
    number = isinstance(l2_mb, (int, float)) and not isinstance(l2_mb, bool)
    if l2_mb is not None and not (number and 0 < l2_mb < float("inf")):
        raise ValueError(f"l2_mb: got {l2_mb!r}, takes a number of MiB above 0, or None")
    if not isinstance(events, bool):
        raise TypeError(f"events: got {events!r}, takes True or False")
    for name, value in (("at_once", at_once), ("max_events", max_events)):
        if type(value) is not int or value < 1:
            raise ValueError(f"{name}: got {value!r}, takes an int of 1 or more")
    if at_once > 1 and l2_mb is None:
        raise ValueError(
            f"at_once: got {at_once} without l2_mb, takes 1; it is for the L2 estimate"
        )


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    if not _ONE_TRACE.acquire(blocking=False):
        raise TraceError(
            "trace: another trace is running in this process. A function that is traced cannot call "
            "trace, and two threads cannot trace at a time."
        )
    try:
        yield
    finally:
        _ONE_TRACE.release()


@contextlib.contextmanager
def _no_compiled_kernel() -> Iterator[None]:
    from triton.runtime.jit import JITFunction

    def refuse(kernel: Any, *args: Any, **kw: Any) -> None:
        raise TraceError(
            f"trace: {name_of(kernel)} was decorated with @triton.jit while kernels were compiled, and "
            "this process has changed to the interpreter since. Restart the kernel (the notebook's) "
            "and `import fdlib` before triton."
        )

    with mock.patch.object(JITFunction, "run", refuse):
        yield


@contextlib.contextmanager
def _own_errors() -> Iterator[None]:
    """Triton wraps what is raised in a kernel: unwrap our own; name a pair of versions that fails."""
    import numpy

    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, TraceError):
                raise cause from None
            cause = cause.__cause__
        pair = bad_pair(sys.modules["triton"].__version__, numpy.__version__, interpreting=True)
        if pair and type(error).__module__.startswith("triton."):  # raised by a kernel
            raise TraceError(f"trace: {pair[0]} Repair: {pair[1]}") from error
        raise
