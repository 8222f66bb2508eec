"""Programs on SMs as a fluid: each draws bytes at its own rate, an SM has a limit, and so has the memory behind all.

A program's own rate is what its loop can do. Bytes in flight over latency (Little's law) would allow it several times
that; they decide how softly the memory saturates, see `Limits.taken`.

Between two events (a program begins to draw, a program ends) all rates are constant, so time jumps from event to event.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Limits", "place_and_run"]

# Events closer together than this share of the whole, or of a program's own time, are handled at once, each at its own
# time. It bounds the cost of many programs; the brute-force reference of the tests has no such window.
WINDOW, OF_PROGRAM = 1 / 1024, 1 / 8
GOLDEN = (5**0.5 - 1) / 2  # its multiples, modulo 1, fill 0 to 1 evenly and in no order


@dataclass(frozen=True)
class Limits:
    """What bounds the programs of one launch: bytes per ns (10^9 bytes a second), and ns.

    A program draws `program_gbs` when nothing else is limiting, an SM at most `sm_gbs`. All together draw what
    the memory gives: see `taken`. Drawing begins `fixed_ns` after the program does: longer by the
    part `crowding` for each other program that its SM can hold, and for one a little sooner and for
    another later, over a range of the part `spread`. What the memory gives goes to SMs by the bytes
    that they have on their way, and for the part `evenness` to each the same. `ports` says which
    port to the memory each SM has; a port keeps `port_programs` programs' bytes on their way, and
    what is beyond waits outside.
    """

    num_sms: int
    programs_per_sm: int
    program_gbs: float
    sm_gbs: float
    in_flight_gbs: float  # of a program: its bytes in flight over the latency of an empty memory
    memory_gbs: float
    softness: float
    fixed_ns: float
    spread: float = 0.0
    crowding: float = 0.0
    evenness: float = 0.0
    ports: np.ndarray | None = None  # int64 (num_sms,)
    port_programs: float = float("inf")

    def per_sm(self, programs: np.ndarray) -> np.ndarray:
        """Bytes per ns that SMs with so many drawing programs take when the memory gives all they ask for."""
        return np.minimum(programs * self.program_gbs, self.sm_gbs)

    def waits_ns(self, program: np.ndarray, others: np.ndarray) -> np.ndarray:
        """From the start of each program until it draws, with so many ``others`` on its SM."""
        place = program * GOLDEN % 1 - 0.5
        return self.fixed_ns * (1 + self.spread * place) * (1 + self.crowding * others)

    def shares(self, busy: np.ndarray) -> np.ndarray:
        """Per SM, given its drawing programs: by what one of them gets of a memory for which all wait."""
        share = np.maximum(busy, 1.0) ** -self.evenness
        if self.ports is None:
            return share
        of_port = np.bincount(self.ports, weights=busy)
        return share * np.minimum(1, self.port_programs / np.maximum(of_port, 1))[self.ports]

    def taken(self, wanted: float, asking: float) -> float:
        """Bytes per ns of all SMs together, of ``wanted``.

        ``asking`` is what the bytes in flight would bring at the latency of an empty memory: here
        Little's law has its effect. As it nears `memory_gbs` requests queue, latency grows, and the
        memory gives ever less of it; a larger `softness` makes a sharper knee.
        """
        share = asking / self.memory_gbs
        return min(wanted, asking * (1 + share**self.softness) ** (-1 / self.softness))


def place_and_run(
    program_bytes: np.ndarray, limits: Limits, start_ns: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """SM, start and end (ns, float64) of each program, in order of the linear id.

    The first programs go to one SM each, then round again until all slots are taken; each of the others takes the
    slot that frees up next. Recorded timelines of an H200 show both.
    """
    count = len(program_bytes)
    slots = min(count, limits.num_sms * limits.programs_per_sm)
    slot_sm = np.arange(slots) % limits.num_sms
    others = np.bincount(slot_sm)[slot_sm] - 1
    sm, start, end = np.empty(count, np.int64), np.empty(count), np.empty(count)
    program = np.arange(slots)  # which program is in each slot
    sm[:slots], start[:slots] = slot_sm, start_ns
    left = program_bytes[:slots].astype(np.float64)  # bytes that it has still to draw
    since = start_ns + limits.waits_ns(program, others)  # until when it has drawn
    now, window = start_ns, _window_ns(program_bytes, limits)
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
        left[new] = program_bytes[ids]
        since[new] = event[new] + limits.waits_ns(ids, others[new])
        since[freed[len(new) :]] = np.inf
        asked += len(new)
        running -= len(freed) - len(new)
    return sm, start, end


def _rates(limits: Limits, slot_sm: np.ndarray, drawing: np.ndarray) -> np.ndarray:
    """Bytes per ns of the program in each slot; what it says of one that does not draw means nothing."""
    busy = np.bincount(slot_sm[drawing], minlength=limits.num_sms)
    most = limits.per_sm(busy)
    wanted = float(most.sum())
    if not wanted:
        return np.ones(len(slot_sm))
    asking = float(np.minimum(busy * limits.in_flight_gbs, limits.sm_gbs).sum())
    each = np.where(busy > 0, most / np.maximum(busy, 1), limits.program_gbs)
    shares = limits.shares(busy)
    level = _level(each, shares, busy, limits.taken(wanted, asking))
    return np.minimum(each, level * shares)[slot_sm]


def _level(each: np.ndarray, shares: np.ndarray, busy: np.ndarray, total: float) -> float:
    """What a whole share is when all programs together get ``total``, and none more than ``each``.

    All wait for the same memory, and get of it by the bytes that they have on their way.
    """
    order = np.argsort(each / shares, kind="stable")
    held = np.cumsum((each * busy)[order])  # of those that their SM or their loop holds back
    waiting = (shares * busy)[order]
    behind = waiting.sum() - np.cumsum(waiting)
    enough = (held + behind * (each / shares)[order]) >= total
    if not enough.any():
        return float("inf")
    at = int(enough.argmax())
    before, after = float(held[at - 1]) if at else 0.0, float(behind[at] + waiting[at])
    return (total - before) / after if after else float("inf")


def _window_ns(program_bytes: np.ndarray, limits: Limits) -> float:
    """How far apart events have to be, to be handled one after the other."""
    total, slots = float(program_bytes.sum()), limits.num_sms * limits.programs_per_sm
    all_sms = min(
        limits.num_sms * float(limits.per_sm(np.array(limits.programs_per_sm))), limits.memory_gbs
    )
    alone = min(limits.program_gbs, limits.sm_gbs)
    longest = float(program_bytes.max()) / alone
    whole = max(total / all_sms, limits.fixed_ns * len(program_bytes) / slots, longest)
    one = limits.fixed_ns + total / len(program_bytes) / alone
    return max(WINDOW * whole, OF_PROGRAM * min(one, whole))
