"""Trace a function that launches Triton kernels: what each program asks for, and what must reach HBM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fdlib.device import interpreting, require_triton
from fdlib.xray.called import check_function
from fdlib.xray.tracing.data import Trace
from fdlib.xray.tracing.here import trace_here

__all__ = ["Trace", "trace"]

_MOST_L2_MB = 10**9


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
    A parameter of a kernel called ``fn``, ``l2_mb``, ``at_once``, ``events`` or ``max_events`` cannot
    be passed by keyword: launch that kernel in a lambda.
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
    from fdlib.xray.tracing.child import trace_in_child

    return trace_in_child(fn, args, kw, options)


def _check_sizes(l2_mb: Any, at_once: Any, events: Any, max_events: Any) -> None:
    number = isinstance(l2_mb, (int, float)) and not isinstance(l2_mb, bool)
    if l2_mb is not None and not (number and 0 < l2_mb <= _MOST_L2_MB):
        raise ValueError(
            f"l2_mb: got {l2_mb!r}, takes a number of MiB above 0 and at most {_MOST_L2_MB:,}, or None"
        )
    if not isinstance(events, bool):
        raise TypeError(f"events: got {events!r}, takes True or False")
    for name, value in (("at_once", at_once), ("max_events", max_events)):
        if type(value) is not int or value < 1:
            raise ValueError(f"{name}: got {value!r}, takes an int of 1 or more")
    if at_once > 1 and l2_mb is None:
        raise ValueError(
            f"at_once: got {at_once} without l2_mb, takes 1; it is for the L2 estimate"
        )
