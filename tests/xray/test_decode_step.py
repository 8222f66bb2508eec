"""Both timelines of one decoding step: measured where recorded, modelled elsewhere."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")

from fdlib.shapes import AttentionShape
from fdlib.xray.figures import decode_step as steps
from fdlib.xray.figures.decode_step import decode_step

EXAMPLE = AttentionShape(heads_q=8, heads_kv=1, len_kv=131_072)


def test_measured_where_it_was_recorded():
    step = decode_step(EXAMPLE, "H200")
    assert (step.attention.source, step.decode.source) == ("measured", "measured")
    assert step.one_source
    assert (step.attention.busy_sms, step.decode.busy_sms) == (8, 128)
    assert step.speedup == step.attention.makespan_ns / step.decode.makespan_ns > 10


def test_modelled_on_another_gpu():
    step = decode_step(EXAMPLE, "T4")
    assert (step.attention.source, step.decode.source) == ("model", "model")
    assert (step.plan.num_sms, step.attention.gpu) == (40, "T4")


def test_a_split_count_that_was_not_recorded_is_modelled_beside_a_measured_one():
    step = decode_step(EXAMPLE, "H200", 5)
    assert (step.attention.source, step.decode.source) == ("measured", "model")
    assert not step.one_source
    assert step.plan.num_splits == 5
    assert step.decode.launches[0].programs == step.plan.programs


def test_what_is_asked_of_the_recording(monkeypatch):
    seen = []

    def recorded(call, shape, num_splits=0, gpu="H200"):
        seen.append((call, num_splits, gpu))

    decode_step.cache_clear()
    monkeypatch.setattr(steps, "recorded_timeline", recorded)
    step = decode_step(EXAMPLE, "H200", 16)
    decode_step.cache_clear()
    assert seen == [("flash_attention", 0, "H200"), ("flash_decode", 16, "H200")]
    assert (step.attention.source, step.decode.source, step.one_source) == ("model", "model", True)
    assert step.plan.num_splits == 16
    assert step.speedup > 5


def test_splits_without_keys_are_counted():
    few = AttentionShape(heads_q=8, heads_kv=1, len_kv=8)
    assert decode_step(few, "H200", 512).empty_splits == 511
    assert decode_step(EXAMPLE, "H200", 8).empty_splits == 0


@pytest.mark.parametrize("gpu", ["H9000", ""])
def test_an_unknown_gpu_is_named(gpu):
    with pytest.raises(ValueError, match="takes one of"):
        decode_step(EXAMPLE, gpu)


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="num_splits"):
        decode_step(EXAMPLE, "H200", -1)
    with pytest.raises(ValueError, match="0 programs"):
        decode_step(AttentionShape(batch=0, heads_q=8, heads_kv=1, len_kv=64), "H200")
