"""The explorers of timelines and splits, and the traffic of kernels: their sentences, sources and ends."""

from __future__ import annotations

import pytest

pytest.importorskip("ipywidgets")
from fdlib.shapes import AttentionShape
from fdlib.xray.figures import decode_step as steps
from fdlib.xray.figures.decode_step import decode_step
from fdlib.xray.simulate import simulate_flash_attention
from fdlib.xray.widgets import hbm_traffic, sm_timeline_explorer, time_against_splits


@pytest.fixture(scope="module")
def explorer():
    return sm_timeline_explorer()


def test_the_numbers_are_those_of_the_timelines(explorer):
    explorer.move(splits=16, keys=16_384, heads="8/1", batch=1, gpu="H200")
    step = decode_step(AttentionShape(heads_q=8, heads_kv=1, len_kv=16_384), "H200", 16)
    assert "Flash-Decoding, 16 splits (your choice)" in explorer.sentence
    for line in (step.attention, step.decode):
        assert f"{line.makespan_ns / 1e3:,.1f} us" in explorer.sentence
        assert f"utilisation {line.utilisation:.1%}" in explorer.sentence
    assert f"{step.speedup:.1f} times as fast" in explorer.sentence


def test_the_rule_chooses(explorer):
    explorer.move(splits=0, keys=131_072, heads="8/1", batch=1, gpu="H200")
    assert "128 splits (the rule's choice)" in explorer.sentence


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"keys": 0, "splits": 0}, "There are no keys"),
        ({"keys": 0, "splits": 512}, "the combine reads what they wrote in"),
        ({"same_axis": True}, "'own' gives each its own"),
        ({"keys": 8, "splits": 512}, "511 of the 512 splits get no key"),
        ({"heads": "1/1", "keys": 8, "splits": 1}, "1 split (your choice)"),
        ({"gpu": "T4"}, "modelled for T4"),
        ({"batch": 64, "heads": "32/32", "keys": 524_288, "splits": 512}, "1,050,624 programs"),
    ],
)
def test_the_ends_are_told_in_a_sentence(explorer, values, words):
    start = {"splits": 0, "keys": 131_072, "heads": "8/1", "batch": 1, "gpu": "H200"}
    explorer.move(**(start | values))
    assert "cannot be drawn" not in explorer.sentence
    assert words in explorer.sentence


def test_a_measured_time_against_a_modelled_one_is_said(explorer, monkeypatch):
    from dataclasses import replace

    def recorded(call, shape, num_splits=0, gpu="H200"):
        if call == "flash_attention":
            return replace(simulate_flash_attention(shape, gpu), source="measured")
        return None

    decode_step.cache_clear()
    monkeypatch.setattr(steps, "recorded_timeline", recorded)
    explorer.move(splits=64, keys=32_768, heads="8/1", batch=1, gpu="H200")
    decode_step.cache_clear()
    assert "FlashAttention: measured on H200" in explorer.sentence
    assert "a measured time against a modelled one" in explorer.sentence


def test_time_against_splits_says_what_was_measured():
    panel = time_against_splits()
    assert "measured at 128" in panel.sentence
    panel.move(gpu="T4")
    assert "nothing was measured here" in panel.sentence
    panel.move(keys=0)
    assert "There are no keys to split" in panel.sentence
    panel.move(keys=8, batch=64, heads="32/32")
    assert "with 1 split already" in panel.sentence


def test_traffic_of_kernels_that_are_given():
    pytest.importorskip("triton")
    import fdlib

    panel = hbm_traffic({"tiled": fdlib.flash_attention}, heads=1, head_dim=16)
    large = panel.sentence
    panel.move(tokens=32)
    assert "tiled: " in panel.sentence
    assert panel.sentence != large
