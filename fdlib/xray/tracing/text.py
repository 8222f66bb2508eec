"""A trace as a table, with what its two kinds of bytes mean in words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fdlib.xray.tracing.data import ArgumentTraffic, LaunchTrace, Trace

__all__ = ["order_text", "trace_text"]

MOST_LAUNCHES = 8  # that get a table
_WIDTH = 96
_MOST_STEPS = 12  # of the order that is shown
_LONGEST_CYCLE = 8  # operations that are looked for as a repeating group
_HEADS = ("", "loaded", "stored", "updated", "repeated", "HBM read", "HBM write")

_ASKED = (
    "Asked for: every load, store and atomic update of every program, also of bytes that were there "
    "before ('repeated'). Lanes that a mask hides do not count."
)
_HBM = (
    "HBM at least: each 32-byte sector that the launch uses, read once and written once. A cache can "
    "save the repeats and nothing more: a run that begins with nothing in L2 moves this much or more."
)
_OVER_ALL = (
    " The number below is over all launches: what one has written, a later one need not read from "
    "HBM. The columns of a table are for its launch alone."
)


def trace_text(trace: Trace) -> str:
    """The whole trace, for `print`."""
    parts = []
    for number, launch in enumerate(trace.launches[:MOST_LAUNCHES], 1):
        parts.append(_launch_text(number, launch))
    if len(trace.launches) > MOST_LAUNCHES:
        parts.append(f"... and {len(trace.launches) - MOST_LAUNCHES} more launches.")
    parts.append(_explained(_ASKED, f"{_count(trace.bytes)}."))
    whole = _both(trace.hbm_read, trace.hbm_write)
    if trace.bytes:
        whole += f", {trace.hbm_bytes / trace.bytes:.0%} of what was asked for"
    parts.append(_explained(_HBM + (_OVER_ALL if len(trace.launches) > 1 else ""), whole + "."))
    if trace.l2 is not None:
        parts.append(_l2_text(trace))
    return "\n\n".join(parts)


def _explained(text: str, numbers: str) -> str:
    return "\n".join([*textwrap.wrap(text, _WIDTH), f"  {numbers}"])


def order_text(order: Sequence[tuple[str, str]]) -> str:
    """What a program did, with repeats drawn together.

    >>> order_text([("load", "Q"), *[("load", "K"), ("load", "V")] * 3, ("store", "Out")])
    'load Q, 3 x (load K, load V), store Out'
    """
    steps: list[str] = []
    at = 0
    while at < len(order) and len(steps) <= _MOST_STEPS:
        length, times = _cycle(order, at)
        words = ", ".join(f"{kind} {name}" for kind, name in order[at : at + length])
        repeated = f"({words})" if length > 1 else words
        steps.append(words if times == 1 else f"{times} x {repeated}")
        at += length * times
    if len(steps) > _MOST_STEPS:
        steps[_MOST_STEPS:] = ["..."]
    return ", ".join(steps)


def _cycle(order: Sequence[tuple[str, str]], at: int) -> tuple[int, int]:
    """(operations of the group that begins here, how often it follows): the one that covers most."""
    best = (1, 1)
    for length in range(1, _LONGEST_CYCLE + 1):
        group = order[at : at + length]
        times = 1
        while order[at + times * length : at + (times + 1) * length] == group and group:
            times += 1
        if times > 1 and length * times > best[0] * best[1]:
            best = (length, times)
    return best


def _launch_text(number: int, launch: LaunchTrace) -> str:
    rows = [_HEADS, *(_row(name, [each]) for name, each in launch.arguments.items())]
    rows.append(_row("all", list(launch.arguments.values())))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
        for row in rows
    ]
    head = f"{number}. {launch.kernel}, grid {launch.grid}: {_programs(launch)}"
    order = order_text(launch.order)
    told = textwrap.wrap(f"First program: {order}.", _WIDTH - 2) if order else []
    return "\n".join([head, *lines, *(f"  {line}" for line in told)])


def _row(name: str, traffic: Sequence[ArgumentTraffic]) -> tuple[str, ...]:
    sums = [
        sum(each.loaded_bytes for each in traffic),
        sum(each.stored_bytes for each in traffic),
        sum(each.atomic_bytes for each in traffic),
        sum(each.repeated_loaded + each.repeated_written for each in traffic),
        sum(each.hbm_read for each in traffic),
        sum(each.hbm_write for each in traffic),
    ]
    return (name, *(f"{count:,}" if count else "-" for count in sums))


def _programs(launch: LaunchTrace) -> str:
    each = launch.program_bytes
    if not launch.programs:
        return "no programs"
    if launch.programs == 1:
        return f"1 program of {_count(int(each[0]))}"
    low, high = int(each.min()), int(each.max())
    share = f"{low:,} to {_count(high)}" if low < high else _count(low)
    return f"{launch.programs:,} programs of {share}"


def _l2_text(trace: Trace) -> str:
    l2 = trace.l2
    assert l2 is not None
    turns = (
        "programs run one after another"
        if l2.at_once == 1
        else f"programs run {l2.at_once} at a time and take turns, an operation each"
    )
    text = (
        f"With an L2 of {l2.l2_mb:g} MiB, by a model: it throws out what was used longest ago, {turns}, "
        "and what was changed is written out in the end."
    )
    return _explained(text, f"{_both(l2.read_bytes, l2.write_bytes)}.")


def _both(read: int, write: int) -> str:
    return f"{read:,} read + {write:,} written = {_count(read + write)}"


def _count(count: int) -> str:
    return f"{count:,} byte" + "s" * (count != 1)
