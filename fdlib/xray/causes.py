"""What an exception was raised from: Triton wraps what goes wrong in a kernel."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["causes"]


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and what it was raised from, the deepest last."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__
