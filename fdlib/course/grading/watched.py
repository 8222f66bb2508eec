"""Run the checks of kernels with their memory watched and their programs in a shuffled order.

Triton's interpreter can be watched; on a GPU the checks run as they are.
"""

from __future__ import annotations

import random
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from fdlib.course.checks import Check, CheckContext
from fdlib.course.grading.observe import Seen, Sight, compared, enough_for_the_observer, look
from fdlib.device import interpreting

if TYPE_CHECKING:
    from fdlib.course.grading.memory import MemoryWatch
    from fdlib.xray.interpreted import Order

__all__ = ["watched"]


def watched(*checks: Check) -> tuple[Check, ...]:
    """The same checks; they fail with a `MemoryFault` if a kernel misuses memory."""
    return tuple(map(_watched, checks))


def _watched(check: Check) -> Check:
    def run(module: ModuleType, context: CheckContext) -> None:
        if not interpreting():
            check.run(module, context)
            return
        sight, watch = _look(check, module, context, _shuffled(context.check_seed))
        _raise_if_caught(sight, watch)
        if sight.first_wrong is not None:
            wrong = sight.seen[sight.first_wrong]
            error = wrong.error
            more = [_undefined(wrong, watch), _order(check, module, context, sight, watch)]
            assert error is not None
            error.args = ("\n".join(filter(None, [str(error), *more])),)
        for seen in sight.seen:
            compared(seen)
        if sight.ended is not None:
            raise sight.ended

    return replace(check, run=run)


def _look(
    check: Check, module: ModuleType, context: CheckContext, order: Order | None
) -> tuple[Sight, MemoryWatch]:
    from fdlib.course.grading.memory import MemoryWatch
    from fdlib.xray.interpreted import watching

    watch = MemoryWatch()
    with watching(watch, order=order, fill_undefined=True):
        return look(check.run, module, context, enough_for_the_observer()), watch


def _raise_if_caught(sight: Sight, watch: MemoryWatch) -> None:
    """Raise the fault that an `except` around the launch has kept from us."""
    from fdlib.course.grading.memory import fault_in

    if watch.fault is not None and fault_in(sight.ended) is None:
        raise watch.fault


def _shuffled(seed: int) -> Order:
    def order(programs: int) -> list[int]:
        numbers = list(range(programs))
        random.Random(seed).shuffle(numbers)
        return numbers

    return order


def _reversed(programs: int) -> range:
    return range(programs)[::-1]


def _undefined(wrong: Seen, watch: MemoryWatch) -> str:
    if wrong.allowed is None or not watch.undefined:
        return ""
    if not (wrong.got.isnan() & wrong.want.isfinite()).any():
        return ""
    return (
        f"A load from {' and from '.join(watch.undefined)} hides lanes with its mask and gives no `other`. "
        "On a GPU those lanes hold anything; this check puts NaN there."
    )


def _order(
    check: Check, module: ModuleType, context: CheckContext, sight: Sight, watch: MemoryWatch
) -> str:
    """What to say if the first wrong value comes out otherwise when programs run in another order."""
    first = sight.first_wrong
    if first is None or not watch.atomics:  # no program can have heard of another
        return ""
    for order in (None, _reversed):
        again = _look(check, module, context, order)[0].seen[first : first + 1]
        if [str(seen.error) for seen in again] != [str(sight.seen[first].error)]:
            right = bool(again) and again[0].error is None
            return (
                "The result depends on the order in which the programs run: in another order it is "
                f"{'right' if right else 'a different one'}. A GPU promises no order."
            )
    return ""
