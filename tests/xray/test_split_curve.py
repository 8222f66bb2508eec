"""Curves of time over splits: model everywhere, measured points from the recordings, the fastest of each."""

from __future__ import annotations

import pytest

from fdlib.plan import plan_splits
from fdlib.shapes import AttentionShape
from fdlib.xray.figures import split_curve as module
from fdlib.xray.figures.decode_step import decode_step
from fdlib.xray.figures.split_curve import SPLITS, split_curve

SHAPE = AttentionShape(heads_q=8, heads_kv=1, len_kv=131_072)


def test_the_model_has_a_time_for_every_count():
    curve = split_curve(SHAPE, "T4")
    assert tuple(splits for splits, _ in curve.model) == SPLITS
    assert curve.measured == ()
    assert curve.best_measured is None
    assert curve.best_model == min(curve.model, key=lambda point: point[1])
    assert curve.rule == plan_splits(SHAPE, "T4").num_splits


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


def test_no_programs_is_a_sentence():
    empty = AttentionShape(batch=0, heads_q=8, heads_kv=1, len_kv=64)
    with pytest.raises(ValueError, match="batch 0"):
        split_curve(empty, "H200")
    with pytest.raises(ValueError, match="0 programs"):
        decode_step(empty, "H200")


def test_a_step_is_measured_where_it_was_recorded(monkeypatch):
    from fdlib.xray.figures import decode_step as steps

    seen = []

    def recorded(call, shape, num_splits=0, gpu="H200"):
        seen.append((call, num_splits, gpu))

    decode_step.cache_clear()
    monkeypatch.setattr(steps, "recorded_timeline", recorded)
    step = decode_step(SHAPE, "H200", 16)
    decode_step.cache_clear()
    assert seen == [("flash_attention", 0, "H200"), ("flash_decode", 16, "H200")]
    assert (step.attention.source, step.decode.source, step.one_source) == ("model", "model", True)
    assert step.plan.num_splits == 16
    assert step.speedup > 5


def test_splits_without_keys_are_counted():
    few = AttentionShape(heads_q=8, heads_kv=1, len_kv=8)
    assert decode_step(few, "H200", 512).empty_splits == 511


@pytest.mark.parametrize("gpu", ["H9000", ""])
def test_an_unknown_gpu_is_named(gpu):
    with pytest.raises(ValueError, match="takes one of"):
        decode_step(SHAPE, gpu)
