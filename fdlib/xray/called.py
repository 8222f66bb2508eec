"""What `trace` and `timeline` take: a function that launches Triton kernels."""

from __future__ import annotations

from typing import Any

__all__ = ["check_function", "name_of"]


def check_function(fn: Any) -> None:
    """Raise `TypeError` for a kernel without a grid, and for what cannot be called."""
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    if isinstance(fn, (InterpretedFunction, JITFunction)):
        raise TypeError(
            f"fn: got the kernel {name_of(fn)} without a grid, "
            f"takes {name_of(fn)}[grid] or a function that launches it"
        )
    if not callable(fn):
        raise TypeError(f"fn: got {type(fn).__name__}, takes a function that launches kernels")


def name_of(fn: Any) -> str:
    """The name of a function, of the kernel's function, or of what a functools.partial calls."""
    inner = getattr(fn, "fn", getattr(fn, "func", fn))
    return getattr(inner, "__name__", None) or type(fn).__name__
