"""The model, held to the H200: times, split counts, utilisation, and where programs go."""

from __future__ import annotations

import statistics
from dataclasses import asdict, replace

import numpy as np
import pytest
from recorded_points import calls_measured_again, fitted_calls, loss, lost_by_choice

from fdlib.plan import plan_splits
from fdlib.shapes import AttentionShape
from fdlib.xray.recordings import recorded_timeline
from fdlib.xray.residuals import (
    KINDS,
    by_kind,
    recorded_calls,
    residual,
    residual_points,
    residual_table,
)
from fdlib.xray.simulate import simulate, simulate_flash_attention
from fdlib.xray.simulation.model import FITTED, LIGHT_SMS

KEYS = 100_000


@pytest.fixture(scope="module")
def points():
    return residual_points(1)


def timeline_of(call):
    name = "flash_decode" if call.num_splits else "flash_attention"
    return recorded_timeline(name, call.shape, call.num_splits)


def with_timelines(least, most):
    """Recorded timelines of split kernels with so many programs."""
    found = [each for each in recorded_calls() if each.utilisation and each.num_splits]
    found = [each for each in found if least <= each.works[0].programs <= most]
    assert len(found) >= 10
    return [timeline_of(each) for each in found]


# --- the whole recording ---


# Just above what the model reaches: the median and the worst error of the time, the worst of the utilisation.
REACHED = {
    "FlashAttention": (0.015, 0.145, 0.025),
    "at most one program an SM": (0.03, 0.14, 0.05),
    "two or three an SM": (0.03, 0.115, 0.06),
    "more, 3 key blocks each and up": (0.03, 0.105, 0.095),
    "more, 1 or 2 key blocks each": (0.04, 0.165, 0.085),
}


@pytest.mark.parametrize("kind", KINDS)
def test_simulated_times_and_utilisation_are_near_the_recorded_ones(points, kind):
    median, worst, worst_utilisation = REACHED[kind]
    several = by_kind(points)[kind]
    errors = [abs(each.error) for each in several]
    assert len(errors) >= 100
    assert statistics.median(errors) <= median
    assert max(errors) <= worst
    off = [abs(each.utilisation_error) for each in several if each.utilisation_error is not None]
    assert len(off) >= 30
    assert max(off) <= worst_utilisation


def test_the_models_best_split_count_is_near_the_recorded_best(points):
    lost = lost_by_choice(points)
    assert len(lost) >= 60
    assert sum(each <= 0.05 for each in lost.values()) >= 0.9 * len(lost)


def test_simulated_utilisation_is_within_five_points_almost_always(points):
    off = [abs(each.utilisation_error) for each in points if each.utilisation_error is not None]
    assert len(off) >= 600
    assert statistics.median(off) <= 0.005
    assert sum(each > 0.05 for each in off) <= 24


def test_what_was_measured_again_is_among_the_recorded_calls():
    known = {(each.shape, each.num_splits) for each in recorded_calls()}
    again = calls_measured_again()
    assert again
    assert all((each.shape, each.num_splits) in known for each in again)


def test_what_was_measured_again_on_another_day_is_near_too():
    errors = [abs(residual(each).error) for each in calls_measured_again()]
    assert len(errors) >= 60
    assert statistics.median(errors) <= 0.03
    assert max(errors) <= 0.27


# Not launch_ns, which hardly matters.
@pytest.mark.parametrize("name", [name for name in asdict(FITTED) if name != "launch_ns"])
def test_the_numbers_are_those_of_the_fit(name):
    calls = fitted_calls(9)
    assert len(calls) >= 100
    least = loss(calls)
    for factor in (0.7, 1.4):
        moved = replace(FITTED, **{name: getattr(FITTED, name) * factor})
        assert loss(calls, moved) > least


# --- 8 or 16 heads at batch 1 ---


@pytest.mark.parametrize(("heads", "idle"), [(8, 0.93), (16, 0.87)])
def test_flash_attention_leaves_most_sms_idle_recorded_and_modelled(heads, idle):
    shape = AttentionShape(heads_q=heads, heads_kv=heads // 8, len_kv=KEYS)
    for line in (
        recorded_timeline("flash_attention", shape),
        simulate_flash_attention(shape, "H200"),
    ):
        assert line.busy_sms == heads
        assert 1 - line.busy_sms / line.num_sms > idle
        assert 1 - line.utilisation > idle


@pytest.mark.parametrize(("heads", "over_time"), [(8, 0.5), (16, 0.7)])
def test_after_splitting_95_percent_of_the_sms_are_busy_recorded_and_modelled(heads, over_time):
    """Over time less: while the combine runs, the SMs have nothing to do but for a few."""
    shape = AttentionShape(heads_q=heads, heads_kv=heads // 8, len_kv=KEYS)
    modelled = simulate(plan_splits(shape, "H200"), "H200")
    for line in (recorded_timeline("flash_decode", shape), modelled):
        split = replace(line, launches=line.launches[:1])
        assert split.busy_sms / line.num_sms >= 0.95
        assert split.utilisation >= 0.9
        assert over_time <= line.utilisation < split.utilisation


# --- what the model takes for granted ---


def test_the_first_programs_go_to_an_sm_each():
    for line in with_timelines(2, 132):
        assert len(np.unique(line.launches[0].sm)) == line.launches[0].programs


def test_the_next_go_round_again_until_three_sit_on_each():
    for line in with_timelines(133, 264):
        assert set(np.bincount(line.launches[0].sm, minlength=132)) <= {1, 2}
    for line in with_timelines(512, 2400):
        (first,) = np.unique(np.bincount(line.launches[0].sm[:396]))
        assert first == 3


def test_with_three_on_each_some_sms_get_a_third_more():
    light = np.isin(np.arange(132), LIGHT_SMS)
    ratios = []
    for line in with_timelines(512, 2400):
        spans = line.launches[0]
        took = (spans.end_ns - spans.start_ns)[:396]
        on_light = light[spans.sm[:396]]
        if took.min() > 20_000:  # long enough for the memory to limit
            ratios.append(np.median(took[~on_light]) / np.median(took[on_light]))
    assert len(ratios) > 10
    assert 1.25 <= statistics.median(ratios) <= 1.4


# --- the points ---


def test_points_are_a_call_each_and_the_table_counts_them():
    some = residual_points(200)
    assert some
    assert [each.measured_us for each in some] == [each.time_us for each in recorded_calls()[::200]]
    assert residual_table(some).splitlines()[-1].split()[:2] == ["all", str(len(some))]


def test_a_choice_that_is_not_the_best_costs_what_was_measured(points):
    three = [each for each in points if each.num_splits][:3]
    assert {each.shape for each in three} == {three[0].shape}
    liked = [replace(each, modelled_us=float(i)) for i, each in enumerate(three)]
    expected = three[0].measured_us / min(each.measured_us for each in three) - 1
    assert lost_by_choice(liked) == {three[0].shape: pytest.approx(expected)}
