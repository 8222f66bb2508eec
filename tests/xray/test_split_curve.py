"""Curves of time over splits: model everywhere, measured points from the recordings, the fastest of each."""

from __future__ import annotations

import pytest

from fdlib.plan import plan_splits
from fdlib.shapes import AttentionShape
from fdlib.xray.figures import split_curve as module
from fdlib.xray.figures.split_curve import SPLITS, split_curve

SHAPE = AttentionShape(heads_q=8, heads_kv=1, len_kv=131_072)


def test_the_model_has_a_time_for_every_count():
    curve = split_curve(SHAPE, "T4")
    counts = [splits for splits, _ in curve.model]
    assert set(SPLITS) | {40, 41, 80, 81, 120, 121, 160, 161} == set(
        counts
    )  # 40 SMs: the waves' ends
    assert counts == sorted(counts)
    assert curve.measured == ()
    assert curve.best_measured is None
    assert curve.best_model == min(curve.model, key=lambda point: point[1])
    assert curve.rule == plan_splits(SHAPE, "T4").num_splits
    times = dict(curve.model)
    assert curve.best_model[0] == 40
    assert times[41] > 1.3 * times[40]  # powers of two alone would draw no jump


def test_measured_points_come_from_the_recording(monkeypatch):
    split_curve.cache_clear()
    monkeypatch.setattr(module, "recorded_times", lambda *_: {1: 9.0, 4: 3.0, 8: 4.0})
    curve = split_curve(SHAPE, "H200")
    split_curve.cache_clear()
    assert curve.measured == ((1, 9.0), (4, 3.0), (8, 4.0))
    assert curve.best_measured == (4, 3.0)


@pytest.mark.parametrize("sizes", [{"batch": 3}, {"len_kv": 100}, {"head_dim": 64}])
def test_what_was_not_measured_is_not_drawn_as_measured(sizes):
    shape = AttentionShape(**({"heads_q": 8, "heads_kv": 1, "len_kv": 131_072} | sizes))
    assert split_curve(shape, "H200").measured == ()


def test_more_programs_than_a_slider_can_wait_for_are_not_modelled():
    many = AttentionShape(batch=64, heads_q=32, heads_kv=32, len_kv=4096)
    assert [splits for splits, _ in split_curve(many, "T4").model] == [1, 2, 4]


def test_waves_follow_the_programs_of_a_split():
    curve = split_curve(AttentionShape(batch=4, heads_q=8, heads_kv=1, len_kv=4096), "H200")
    assert curve.programs == 4
    assert [(start, end) for start, end, _ in curve.waves][:2] == [(0, 33), (33, 66)]
    assert curve.splits_that_fill == 33


def test_no_programs_is_a_sentence():
    empty = AttentionShape(batch=0, heads_q=8, heads_kv=1, len_kv=64)
    with pytest.raises(ValueError, match="batch 0"):
        split_curve(empty, "H200")
