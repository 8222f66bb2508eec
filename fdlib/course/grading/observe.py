"""What an answer gave at each comparison of a check, so that two answers can be held side by side.

`compare.py` hands every comparison to `compared`. Outside `observing` a wrong value raises at once;
inside, it is noted and the check goes on, so that one run shows all that a check sees.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fdlib.course.checks import Check, CheckContext

__all__ = ["Seen", "Sight", "compared", "look", "observing"]


@dataclass(frozen=True)
class Seen:
    """One comparison: what was compared, and how it came out."""

    what: str
    case: str
    axes: tuple[str, ...]  # of a tensor
    got: Any
    want: Any
    allowed: Any  # of a tensor: how far each element may be off; None if the form is wrong
    error: AssertionError | None  # the Mismatch, if it is wrong


@dataclass
class Sight:
    """The comparisons of one run, in order, and the exception that ended it early."""

    seen: list[Seen] = field(default_factory=list)
    ended: BaseException | None = None

    @property
    def first_wrong(self) -> int | None:
        """Index of the first comparison that came out wrong."""
        return next((i for i, each in enumerate(self.seen) if each.error), None)


_sight: ContextVar[Sight | None] = ContextVar("sight", default=None)


@contextlib.contextmanager
def observing() -> Iterator[Sight]:
    """In the block, comparisons are noted and do not raise."""
    sight = Sight()
    token = _sight.set(sight)
    try:
        yield sight
    finally:
        _sight.reset(token)


def compared(seen: Seen) -> None:
    """Note a comparison; raise its error where nobody observes."""
    sight = _sight.get()
    if sight is not None:
        sight.seen.append(seen)
    elif seen.error is not None:
        raise seen.error


def look(check: Check, module: ModuleType, context: CheckContext) -> Sight:
    """Run a check on a module to its end, whatever comes out wrong."""
    with observing() as sight:
        try:
            check.run(module, context)
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            sight.ended = error
    return sight
