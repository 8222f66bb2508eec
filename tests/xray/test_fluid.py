"""Held to a reference that takes small steps of time and one program after the other."""

from __future__ import annotations

import numpy as np
import pytest

from fdlib.xray.simulation import fluid
from fdlib.xray.simulation.fluid import Limits, place_and_run

PLENTY = 1e12


def limits(**changes):
    base = {"num_sms": 4, "programs_per_sm": 2, "program_gbs": 40.0, "sm_gbs": 60.0}
    base |= {"in_flight_gbs": 90.0, "memory_gbs": 150.0, "softness": 4.0, "fixed_ns": 1000.0}
    return Limits(**base | changes)


PORTS = np.array([0, 0, 0, 1])


def of_waiting(limit, programs):
    """By what a program of each SM gets of what all wait for."""
    of_port = [sum(n for sm, n in programs.items() if PORTS[sm] == port) for port in (0, 1)]
    found = {}
    for sm, n in programs.items():
        fits = 1.0 if limit.ports is None else limit.port_programs / of_port[PORTS[sm]]
        found[sm] = n**-limit.evenness * min(1.0, fits)
    return found


def shares(limit, programs):
    """Bytes per ns of each program, given how many draw on each SM: by its part, but for what an SM holds back."""
    part = of_waiting(limit, programs)
    wanted = {sm: min(n * limit.program_gbs, limit.sm_gbs) for sm, n in programs.items()}
    asking = sum(min(n * limit.in_flight_gbs, limit.sm_gbs) for n in programs.values())
    total = limit.taken(sum(wanted.values()), asking)
    left = sum(part[sm] * n for sm, n in programs.items())
    found = {}
    for sm in sorted(programs, key=lambda sm: wanted[sm] / programs[sm] / part[sm]):
        found[sm] = min(wanted[sm] / programs[sm], part[sm] * total / left)
        total, left = total - found[sm] * programs[sm], left - part[sm] * programs[sm]
    return found


def reference(program_bytes, limit, step_ns=2.0):
    count = len(program_bytes)
    waiting, left = list(range(count)), [float(each) for each in program_bytes]
    slots = {(row, sm): None for row in range(limit.programs_per_sm) for sm in range(limit.num_sms)}
    sm_of, start, end, now = {}, {}, {}, 0.0

    def wait_ns(program, sm):
        rows = range(limit.programs_per_sm)
        others = sum(row * limit.num_sms + sm < count for row in rows) - 1
        place = program * (5**0.5 - 1) / 2 % 1 - 0.5
        return limit.fixed_ns * (1 + limit.spread * place) * (1 + limit.crowding * others)

    while len(end) < len(left):
        for slot in slots:
            if slots[slot] is None and waiting:
                slots[slot] = waiting.pop(0)
                sm_of[slots[slot]], start[slots[slot]] = slot[1], now
        drawing = {
            slot: program
            for slot, program in slots.items()
            if program is not None and now >= start[program] + wait_ns(program, slot[1])
        }
        crowd: dict[int, int] = {}
        for _, sm in drawing:
            crowd[sm] = crowd.get(sm, 0) + 1
        rate = shares(limit, crowd)
        now += step_ns
        for slot, program in drawing.items():
            left[program] -= rate[slot[1]] * step_ns
            if left[program] <= 0:
                end[program], slots[slot] = now, None
    order = range(len(left))
    return tuple(np.array([values[i] for i in order]) for values in (sm_of, start, end))


RNG = np.random.default_rng(3)
RAGGED = (1000 + 13_001 * RNG.permutation(60)).tolist()
CASES = {
    "one program": ([200_000], {}),
    "fewer programs than SMs": ([200_000] * 3, {}),
    "one SM too few": ([200_000] * 5, {"programs_per_sm": 1}),
    "equal, several waves": ([200_000] * 30, {}),
    "equal, memory has plenty": ([100_000] * 13, {"memory_gbs": PLENTY}),
    "one of them long": ([1_000_000] + [50_000] * 20, {}),
    "ragged": (RAGGED[:30], {}),
    "ragged, a sharp knee": (RAGGED[20:50], {"softness": 20.0}),
    "ragged, three an SM": (RAGGED[:24], {"programs_per_sm": 3}),
    "equal, not all wait as long": ([200_000] * 13, {"spread": 0.5, "crowding": 0.2}),
    "one SM too few, SMs share": ([200_000] * 7, {"evenness": 0.5}),
    "ragged, SMs share ports": (RAGGED[:24], {"ports": PORTS, "port_programs": 2.5}),
    "ragged, all of it": (
        RAGGED[:24],
        {"ports": PORTS, "port_programs": 2.5, "evenness": 0.1, "spread": 0.2, "crowding": 0.2},
    ),
}


@pytest.mark.parametrize(("program_bytes", "changes"), CASES.values(), ids=CASES)
def test_equals_the_reference(program_bytes, changes, monkeypatch):
    monkeypatch.setattr(fluid, "OF_PROGRAM", 1 / 512)
    limit = limits(**changes)
    got = place_and_run(np.array(program_bytes), limit)
    expected = reference(program_bytes, limit)
    np.testing.assert_array_equal(got[0], expected[0])
    tolerance = 0.002 * expected[2].max()
    np.testing.assert_allclose(got[1], expected[1], atol=tolerance)
    np.testing.assert_allclose(got[2], expected[2], atol=tolerance)


@pytest.mark.parametrize(("program_bytes", "changes"), CASES.values(), ids=CASES)
def test_events_handled_together_move_the_end_by_little(program_bytes, changes, monkeypatch):
    limit = limits(**changes)
    quick = place_and_run(np.array(program_bytes), limit)[2].max()
    monkeypatch.setattr(fluid, "OF_PROGRAM", 1 / 512)
    assert quick == pytest.approx(place_and_run(np.array(program_bytes), limit)[2].max(), rel=0.05)


def test_one_program_takes_its_fixed_time_and_its_bytes_over_its_rate():
    _, start, end = place_and_run(np.array([40_000]), limits(memory_gbs=PLENTY), start_ns=50.0)
    assert (start[0], end[0]) == (50.0, pytest.approx(50 + 1000 + 40_000 / 40))


def test_no_bytes_take_the_fixed_time():
    _, start, end = place_and_run(np.zeros(20), limits())
    np.testing.assert_allclose(end - start, 1000)


def test_first_come_one_sm_each_then_round_again():
    sm, start, _ = place_and_run(np.full(7, 1000), limits())
    assert sm.tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert start.tolist() == [0] * 7


@pytest.mark.parametrize("programs_per_sm", [1, 2, 12])
def test_no_sm_holds_more_than_fit(programs_per_sm):
    ragged = RNG.integers(1000, 400_000, 300)
    sm, start, end = place_and_run(ragged, limits(programs_per_sm=programs_per_sm))
    for each in range(4):
        mine = sm == each
        running = [
            ((start[mine] <= t) & (t < end[mine] - 1e-6)).sum() for t in start[mine].tolist()
        ]
        assert max(running) <= programs_per_sm


@pytest.mark.parametrize("count", [1, 8, 500, 20_000])
def test_never_faster_than_memory_and_sms_allow(count):
    ragged = RNG.integers(1000, 400_000, count)
    limit = limits()
    _, _, end = place_and_run(ragged, limit)
    most = min(limit.memory_gbs, limit.num_sms * limit.sm_gbs)
    assert ragged.sum() / end.max() <= most
    alone = limit.fixed_ns + ragged / min(limit.program_gbs, limit.memory_gbs)
    _, start, end = place_and_run(ragged, limit)
    assert (end - start >= alone * (1 - 1e-9)).all()


def test_more_bytes_are_never_faster():
    times = [place_and_run(np.full(100, n), limits())[2].max() for n in range(0, 200_000, 9973)]
    assert times == sorted(times)


def test_133_programs_on_132_sms_take_about_twice_as_long_as_132():
    limit = limits(num_sms=132, programs_per_sm=1, memory_gbs=PLENTY)
    full, one_more = (place_and_run(np.full(n, 400_000), limit)[2].max() for n in (132, 133))
    assert one_more / full == pytest.approx(2)


def test_taken_has_a_knee():
    limit = limits(softness=4.0)
    assert limit.taken(10, 10) == pytest.approx(10, rel=1e-3)  # nothing queues
    assert limit.taken(150, 150) == pytest.approx(150 * 2**-0.25)
    assert 149 < limit.taken(2000, 2000) < 150  # never above what the memory gives
    assert limit.taken(20, 150) == 20  # bytes on their way, but the loop does not want more
