"""What an answer gave at each comparison of a check, so that two answers can be held side by side.

`compare.py` hands every comparison to `compared`. Outside `observing` a wrong value raises at once;
inside, it is noted and the check goes on, so that one run shows all that a check sees.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fdlib.course.expect.check import CheckContext

__all__ = ["Seen", "Sight", "compared", "enough_for_the_observer", "look", "observing"]


@dataclass(frozen=True)
class Seen:
    """One comparison: what was compared, and how it came out."""

    what: str
    case: str
    axes: tuple[str, ...]  # of a tensor
    got: Any
    want: Any
    allowed: Any  # of a tensor: how far each element may be off; None of anything else
    error: AssertionError | None  # the Mismatch, if it is wrong
    wrong_form: bool = False  # a tensor of another type, shape or dtype: no values were compared


@dataclass
class Sight:
    """The comparisons of one run, in order, and the exception that ended it early."""

    seen: list[Seen] = field(default_factory=list)
    ended: BaseException | None = None
    enough: Callable[[Sight], bool] | None = None  # asked after each comparison: True stops

    @property
    def first_wrong(self) -> int | None:
        """Index of the first comparison that came out wrong."""
        return next((i for i, each in enumerate(self.seen) if each.error), None)

    @property
    def passed(self) -> bool:
        """Whether nothing came out wrong and nothing was raised."""
        return self.first_wrong is None and self.ended is None


_sight: ContextVar[Sight | None] = ContextVar("sight", default=None)


class _Enough(BaseException):
    """Nobody needs to see more of this run."""


@contextlib.contextmanager
def observing(enough: Callable[[Sight], bool] | None = None) -> Iterator[Sight]:
    """In the block, comparisons are noted and do not raise."""
    sight = Sight(enough=enough)
    token = _sight.set(sight)
    try:
        yield sight
    finally:
        _sight.reset(token)


def enough_for_the_observer() -> Callable[[Sight], bool] | None:
    """What ends the run that is observed now, for whoever looks at its checks in its place."""
    sight = _sight.get()
    return sight.enough if sight is not None and not sight.seen else None


def compared(seen: Seen) -> None:
    """Note a comparison; raise its error where nobody observes."""
    sight = _sight.get()
    if sight is not None:
        sight.seen.append(seen)
        if sight.enough is not None and sight.enough(sight):
            raise _Enough
    elif seen.error is not None:
        raise seen.error


def look(
    run: Callable[[ModuleType, CheckContext], None],
    module: ModuleType,
    context: CheckContext,
    enough: Callable[[Sight], bool] | None = None,
) -> Sight:
    """Call `Check.run` to its end, or to where `enough` is true, whatever comes out wrong."""
    with observing(enough) as sight:
        try:
            run(module, context)
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            sight.ended = error
    return sight
