"""Programs on SMs as a fluid: each draws bytes at its own rate, an SM has a limit, and so has the memory behind all.

Between two events (a program begins to draw, a program ends) all rates are constant, so time jumps from event to event.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Limits", "place_and_run"]

# Events closer together than this share of the whole are handled at once, each at its own time. It bounds the cost of
# many programs; the brute-force reference of the tests has no such window.
WINDOW = 1 / 4096


@dataclass(frozen=True)
class Limits:
    """What bounds the programs of one launch: bytes per ns (10^9 bytes a second), and ns.

    A program draws `program_gbs` when nothing else is limiting, an SM at most `sm_gbs`. All together draw what
    the memory gives: see `taken`. Drawing begins `fixed_ns` after the program does.
    """

    num_sms: int
    programs_per_sm: int
    program_gbs: float
    sm_gbs: float
    asking_gbs: float  # what a program would draw if only its bytes in flight limited it
    memory_gbs: float
    softness: float
    fixed_ns: float

    def per_sm(self, programs: np.ndarray) -> np.ndarray:
        """Bytes per ns that SMs with so many drawing programs take when the memory gives all they ask for."""
        return np.minimum(programs * self.program_gbs, self.sm_gbs)

    def taken(self, wanted: float, asking: float) -> float:
        """Bytes per ns of all SMs together, of ``wanted``.

        ``asking`` is what the bytes in flight would bring at the latency of an empty memory. As it
        nears `memory_gbs` requests queue, latency grows, and the memory gives ever less of it; a
        larger `softness` makes a sharper knee.
        """
        share = asking / self.memory_gbs
        return min(wanted, asking * (1 + share**self.softness) ** (-1 / self.softness))


def place_and_run(
    program_bytes: np.ndarray, limits: Limits, start_ns: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """SM, start and end (ns, float64) of each program, in order of the linear id.

    The first programs go to one SM each, then round again until all slots are taken; each of the others takes the
    slot that frees up next, as the hardware does it.
    """
    count = len(program_bytes)
    slots = min(count, limits.num_sms * limits.programs_per_sm)
    slot_sm = np.arange(slots) % limits.num_sms
    sm, start, end = np.empty(count, np.int64), np.empty(count), np.empty(count)
    program = np.arange(slots)  # which program is in each slot
    sm[:slots], start[:slots] = slot_sm, start_ns
    left = program_bytes[:slots].astype(np.float64)  # bytes that it has still to draw
    since = np.full(slots, start_ns + limits.fixed_ns)  # until when it has drawn
    now, window = start_ns, WINDOW * _at_least_ns(program_bytes, limits)
    asked, running = slots, slots
    while running:
        drawing = since <= now
        rate = _rates(limits, slot_sm, drawing)
        event = np.where(drawing, since + left / rate, since)
        now = max(now, float(event.min()) + window)
        over = drawing & (event <= now)
        drew = drawing & ~over
        left[drew] -= rate[drew] * (now - since[drew])
        since[drew] = now
        freed = np.flatnonzero(over)
        freed = freed[np.argsort(event[freed], kind="stable")]
        end[program[freed]] = event[freed]
        new = freed[: count - asked]
        ids = np.arange(asked, asked + len(new))
        program[new], sm[ids], start[ids] = ids, slot_sm[new], event[new]
        left[new], since[new] = program_bytes[ids], event[new] + limits.fixed_ns
        since[freed[len(new) :]] = np.inf
        asked += len(new)
        running -= len(freed) - len(new)
    return sm, start, end


def _rates(limits: Limits, slot_sm: np.ndarray, drawing: np.ndarray) -> np.ndarray:
    """Bytes per ns of the program in each slot; what it says of one that does not draw means nothing."""
    busy = np.bincount(slot_sm[drawing], minlength=limits.num_sms)
    sms = np.bincount(busy, minlength=limits.programs_per_sm + 1)  # SMs with 0, 1, 2, ... programs
    crowd = np.arange(len(sms))
    most = limits.per_sm(crowd)
    wanted = float(sms @ most)
    if not wanted:
        return np.ones(len(slot_sm))
    asking = float(sms @ np.minimum(crowd * limits.asking_gbs, limits.sm_gbs))
    each = most / np.maximum(crowd, 1)  # falls with the crowd
    each[0] = each[1]
    level = _level(each, crowd * sms, limits.taken(wanted, asking))
    return np.minimum(each, level)[busy][slot_sm]


def _level(each: np.ndarray, programs: np.ndarray, total: float) -> float:
    """What a program gets that its SM does not hold back, when all together get ``total``: equal shares.

    All wait for the same memory, with as many bytes on their way.
    """
    waiting = int(programs.sum())
    for most, count in zip(each[:0:-1].tolist(), programs[:0:-1].tolist(), strict=True):
        if most * waiting >= total:
            return total / waiting
        total -= most * count
        waiting -= count
    return float("inf")


def _at_least_ns(program_bytes: np.ndarray, limits: Limits) -> float:
    """No schedule is shorter than this."""
    total, slots = float(program_bytes.sum()), limits.num_sms * limits.programs_per_sm
    all_sms = min(
        limits.num_sms * float(limits.per_sm(np.array(limits.programs_per_sm))), limits.memory_gbs
    )
    longest = float(program_bytes.max()) / min(limits.program_gbs, limits.sm_gbs)
    return max(total / all_sms, limits.fixed_ns * len(program_bytes) / slots, longest)
