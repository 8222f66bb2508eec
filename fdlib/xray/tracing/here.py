"""One trace in this process, whose kernels run under Triton's interpreter."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from fdlib.versions import bad_pair
from fdlib.xray.called import name_of
from fdlib.xray.tracing.data import Trace, TraceError

__all__ = ["Options", "trace_here"]

_ONE_TRACE = threading.Lock()  # the interpreter keeps the program's place in global variables

Options = tuple[float | None, int, int | None]  # l2_mb, at_once, max_events (None: no events)


def trace_here(fn: Callable[..., Any], args: Any, kw: Any, options: Options) -> Trace:
    """Trace in this process, which runs kernels under the interpreter."""
    from fdlib.xray.interpreter.interpreted import watching
    from fdlib.xray.tracing.traffic import Traffic

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
