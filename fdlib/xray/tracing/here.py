"""One trace in this process, whose kernels run under Triton's interpreter."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from fdlib.versions import bad_pair
from fdlib.xray.alone import alone
from fdlib.xray.called import name_of
from fdlib.xray.causes import causes
from fdlib.xray.tracing.data import Trace, TraceError

__all__ = ["Options", "trace_here"]

_ONE_TRACE = threading.Lock()  # the interpreter keeps the program's place in global variables
_BUSY = (
    "trace: another trace is running in this process. A function that is traced cannot call "
    "trace, and two threads cannot trace at a time."
)

Options = tuple[float | None, int, int | None]  # l2_mb, at_once, max_events (None: no events)


def trace_here(fn: Callable[..., Any], args: Any, kw: Any, options: Options) -> Trace:
    """Trace in this process, which runs kernels under the interpreter."""
    from fdlib.xray.interpreter.interpreted import watching
    from fdlib.xray.tracing.traffic import Traffic

    traffic = Traffic(*options)
    with (
        alone(_ONE_TRACE, TraceError(_BUSY)),
        _refusals(),
        _own_errors(),
        watching(traffic),
    ):
        fn(*args, **kw)
    found = traffic.trace()
    if not found.launches:
        raise ValueError(
            f"fn: got {name_of(fn)}, which launched no Triton kernel. "
            "It takes a function that launches at least one, such as fdlib.flash_attention."
        )
    return found


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    def refuse(kernel: Any, *args: Any, **kw: Any) -> None:
        raise TraceError(
            f"trace: {name_of(kernel)} was decorated with @triton.jit while kernels were compiled, and "
            "this process has changed to the interpreter since. Restart the kernel (the notebook's) "
            "and `import fdlib` before triton."
        )

    def refuse_to_measure(tuner: Any, *args: Any, **kw: Any) -> None:
        raise TraceError(
            f"trace: {tuner.base_fn.__name__} has several configurations (@triton.autotune). They are measured "
            "on a GPU, so which one would run is not known here. Trace the kernel with one configuration: "
            f"{tuner.base_fn.__name__}.fn[grid], with that configuration's values as arguments."
        )

    with (
        mock.patch.object(JITFunction, "run", refuse),
        mock.patch.object(Autotuner, "_bench", refuse_to_measure),
    ):
        yield


@contextlib.contextmanager
def _own_errors() -> Iterator[None]:
    """Triton wraps what is raised in a kernel: unwrap our own; name a pair of versions that fails."""
    import numpy

    try:
        yield
    except Exception as error:
        own = next((each for each in causes(error) if isinstance(each, TraceError)), None)
        if own is not None:
            raise own from None
        pair = bad_pair(sys.modules["triton"].__version__, numpy.__version__, interpreting=True)
        if pair and type(error).__module__.startswith("triton."):  # raised by a kernel
            raise TraceError(f"trace: {pair[0]} Repair: {pair[1]}") from error
        raise
