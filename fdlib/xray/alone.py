"""One at a time: a trace, or a timeline, in this process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["alone"]


@contextlib.contextmanager
def alone(lock: threading.Lock, busy: Exception) -> Iterator[None]:
    """Hold ``lock`` inside the block; raises ``busy`` at once where somebody else holds it."""
    if not lock.acquire(blocking=False):
        raise busy
    try:
        yield
    finally:
        lock.release()
