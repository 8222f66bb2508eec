"""Run the checks of kernels with their memory watched and their programs in a shuffled order.

Triton's interpreter can be watched; on a GPU the checks run as they are.
"""

from __future__ import annotations

import random
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from fdlib.course.expect.check import Check, CheckContext
from fdlib.course.expect.compare import Mismatch, wrong_elements
from fdlib.course.expect.observe import Seen, Sight, compared, enough_for_the_observer, look
from fdlib.device import interpreting

if TYPE_CHECKING:
    from fdlib.course.expect.memory import MemoryWatch
    from fdlib.xray.interpreter.interpreted import Order

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
            _explain(check, module, context, sight, watch)
        for seen in sight.seen:
            compared(seen)
        if sight.ended is not None:
            raise sight.ended

    return replace(check, run=run)


def _look(
    check: Check,
    module: ModuleType,
    context: CheckContext,
    order: Order | None,
    *,
    fill_undefined: bool = True,
) -> tuple[Sight, MemoryWatch]:
    from fdlib.course.expect.block_questions import block_questions_refused
    from fdlib.course.expect.memory import MemoryWatch
    from fdlib.xray.interpreter.interpreted import watching

    watch = MemoryWatch()
    hooks = watching(watch, order=order, fill_undefined=fill_undefined)
    with hooks, block_questions_refused():
        return look(check.run, module, context, enough_for_the_observer()), watch


def _raise_if_caught(sight: Sight, watch: MemoryWatch) -> None:
    """Raise the fault that an `except` around the launch has kept from us."""
    from fdlib.course.expect.memory import fault_in

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


def _explain(
    check: Check, module: ModuleType, context: CheckContext, sight: Sight, watch: MemoryWatch
) -> None:
    """Add to the first error of `sight` what watching has shown, a cause first."""
    error = sight.seen[sight.first_wrong or 0].error
    assert isinstance(error, Mismatch)
    cause = _undefined(check, module, context, sight, watch)
    order = _order(check, module, context, sight, watch)
    error.args = ("\n".join(filter(None, [cause, str(error), order])),)
    if cause:
        error.explained = True
        file, stacks = getattr(module, "__file__", ""), watch.undefined.values()
        lines = [line for stack in stacks for name, line in stack if name == file]
        error.line_number = lines[0] if lines else 0


def _undefined(
    check: Check, module: ModuleType, context: CheckContext, sight: Sight, watch: MemoryWatch
) -> str:
    """What to say if the first wrong value comes out of lanes that a mask hides."""
    first = sight.first_wrong or 0
    if not watch.undefined or sight.seen[first].allowed is None:
        return ""
    order = _shuffled(context.check_seed)
    with_0 = _look(check, module, context, order, fill_undefined=False)[0].seen[first : first + 1]
    if with_0 and _same_where_wrong(sight.seen[first], with_0[0]):
        return ""
    return (
        f"A load from {' and from '.join(watch.undefined)} hides lanes with its mask and gives no `other`. "
        "On a GPU those lanes hold anything; this check puts NaN there."
    )


def _same_where_wrong(wrong: Seen, again: Seen) -> bool:
    if again.allowed is None or again.got.shape != wrong.got.shape:
        return False
    at = wrong_elements(wrong.got, wrong.want, wrong.allowed)
    got, other = wrong.got[at], again.got[at]
    return bool(((got == other) | (got.isnan() & other.isnan())).all())


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
