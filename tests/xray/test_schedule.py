from __future__ import annotations

import numpy as np
import pytest

from fdlib.xray.schedule import LaunchSpans, Timeline


def spans(sm, start, end, bytes_moved=None, kernel="k"):
    arrays = (np.array(each, dtype=np.int64) for each in (sm, start, end))
    return LaunchSpans(kernel, (len(sm), 1, 1), *arrays, bytes_moved)


def line(*launches, num_sms=4):
    return Timeline(launches, "H200", num_sms, "model", "a test")


def test_programs_that_overlap_on_an_sm_count_once():
    each = line(spans([1, 0, 1, 1], [0, 0, 50, 300], [100, 40, 200, 310]))
    assert each.busy_ns == 40 + 200 + 10
    assert each.busy_sms == 2
    assert each.utilisation == pytest.approx(250 / (4 * 310))


def test_a_program_inside_another_adds_nothing():
    assert line(spans([2, 2, 2], [0, 10, 20], [100, 20, 130])).busy_ns == 130


def test_busy_time_equals_a_count_of_nanoseconds():
    rng = np.random.default_rng(0)
    sm, start = rng.integers(0, 5, 60), rng.integers(0, 200, 60)
    end = start + rng.integers(0, 30, 60)
    busy = np.zeros((5, 240), dtype=bool)
    for s, first, last in zip(sm, start, end, strict=True):
        busy[s, first:last] = True
    assert line(spans(sm, start, end), num_sms=5).busy_ns == busy.sum()


def test_launches_share_one_clock():
    each = line(spans([0], [10], [20], 300), spans([1], [25], [40], 60, kernel="combine"))
    assert (each.makespan_ns, each.busy_sms, each.busy_ns) == (30, 2, 25)
    assert each.bandwidth_gbs == pytest.approx(12)


def test_bytes_that_nobody_counted_give_no_bandwidth():
    assert line(spans([0], [0], [10], 300), spans([0], [10], [20])).bandwidth_gbs is None


@pytest.mark.parametrize("launches", [(spans([], [], [], 0),), ()], ids=["no program", "no launch"])
def test_nothing_takes_no_time(launches):
    each = line(*launches)
    assert (each.makespan_ns, each.busy_ns, each.busy_sms, each.utilisation) == (0, 0, 0, 0.0)
    assert each.bandwidth_gbs is None


def test_print_shows_a_line_for_each_launch_and_no_arrays():
    each = line(spans([0, 0], [2000, 2000], [3000, 4000], 300), spans([], [], [], 0, kernel="none"))
    assert str(each) == (
        "MODEL of H200 (a test): 2.0 us, utilisation 25.0%, 0 GB/s\n"
        "  k: grid (2, 1, 1), 2 programs on 1 of 4 SMs, 0.0 to 2.0 us\n"
        "  none: grid (0, 1, 1), 0 programs"
    )
