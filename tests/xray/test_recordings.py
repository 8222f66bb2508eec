"""Recordings: what goes into the file comes out of it, and what was not recorded is None."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from fdlib.gpus import GPUS
from fdlib.plan import plan_splits
from fdlib.recorded import recorded_names
from fdlib.shapes import AttentionShape
from fdlib.xray import recordings
from fdlib.xray.figures.decode_step import decode_step
from fdlib.xray.recordings import (
    pack_timeline,
    recorded_timeline,
    recorded_times,
    unpack_timeline,
)
from fdlib.xray.schedule import LaunchSpans, Timeline

SHIPPED = "h200_timelines"
ships = pytest.mark.skipif(SHIPPED not in recorded_names(), reason="not recorded yet")
EXAMPLE = AttentionShape(heads_q=8, heads_kv=1, len_kv=100_000)


def made(programs: int, bytes_moved: int | None = 10**9) -> Timeline:
    random = np.random.default_rng(programs)
    start = random.integers(0, 10**6, programs)
    spans = (random.integers(0, 132, programs), start, start + random.integers(0, 10**6, programs))
    launch = LaunchSpans("a_kernel", (programs, 1, 1), *spans, bytes_moved)
    return Timeline(
        (launch, replace(launch, grid=(1, programs, 1))), "H200", 132, "measured", "here"
    )


@pytest.mark.parametrize(("programs", "bytes_moved"), [(1, None), (1000, 10**11), (0, 0)])
def test_what_was_packed_comes_back(programs, bytes_moved):
    line = made(programs, bytes_moved)
    packed = json.loads(json.dumps(pack_timeline(line)))
    again = unpack_timeline(packed, "H200", 132, "here")
    for own, other in zip(line.launches, again.launches, strict=True):
        assert (own.kernel, own.grid, own.bytes_moved) == (
            other.kernel,
            other.grid,
            other.bytes_moved,
        )
        for name in ("sm", "start_ns", "end_ns"):
            assert getattr(other, name).dtype == np.int64
            assert (getattr(own, name) == getattr(other, name)).all()
    assert replace(again, launches=()) == replace(line, launches=())
    assert packed["utilisation"] == round(line.utilisation, 4)


def test_a_packed_program_takes_no_more_than_twelve_bytes():
    line = made(1000)
    assert len(json.dumps(pack_timeline(line))) < 2 * 1000 * 12 + 400


def test_a_time_that_does_not_fit_is_refused():
    line = made(3)
    late = replace(line.launches[0], end_ns=line.launches[0].end_ns + 2**32)
    with pytest.raises(ValueError, match="rows: got a time beyond 2.1 seconds"):
        pack_timeline(replace(line, launches=(late,)))


@pytest.fixture
def a_record(monkeypatch):
    """In the place of what ships: FlashAttention, and three split counts, two of them with a timeline."""
    sizes = {"batch": 1, "heads_q": 8, "heads_kv": 1, "len_kv": 100_000, "head_dim": 128}
    packed = {"timeline": pack_timeline(made(131))}
    rows = [
        {"call": "flash_attention", **sizes, "num_splits": 0, "time_us": 900.0, "timeline": packed["timeline"]},
        {"call": "flash_decode", **sizes, "num_splits": 131, "time_us": 20.0, "default": True, **packed},
        {"call": "flash_decode", **sizes, "num_splits": 1, "time_us": 800.0, "default": False, **packed},
        {"call": "flash_decode", **sizes, "num_splits": 2, "time_us": 400.0, "default": False},
    ]  # fmt: skip
    record = {
        "gpu": "NVIDIA H200",
        "gpu_name": "H200",
        "num_sms": 132,
        "date": "2026-12-01",
        "rows": rows,
    }
    monkeypatch.setattr(
        recordings, "_record", lambda gpu: record if gpu == "H200" else {"rows": []}
    )
    for cached in (recordings._rows, decode_step):
        cached.cache_clear()
    yield
    for cached in (recordings._rows, decode_step):
        cached.cache_clear()


def test_a_recorded_call_is_found(a_record):
    line = recorded_timeline("flash_decode", EXAMPLE, 131)
    assert (line.source, line.gpu, line.num_sms) == ("measured", "H200", 132)
    assert line.where == "measured on NVIDIA H200, 2026-12-01"
    assert line.launches[0].programs == 131
    assert recorded_timeline("flash_attention", EXAMPLE, 5).launches[0].programs == 131
    assert recorded_timeline("flash_decode", EXAMPLE).makespan_ns == line.makespan_ns
    assert recorded_times("flash_decode", EXAMPLE) == {1: 800.0, 2: 400.0, 131: 20.0}
    assert list(recorded_times("flash_decode", EXAMPLE)) == [1, 2, 131]
    assert recorded_times("flash_attention", EXAMPLE) == {0: 900.0}
    assert recorded_timeline("flash_decode", replace(EXAMPLE, dtype="float16"), 1) is not None


def test_what_was_not_recorded_is_none(a_record):
    assert recorded_timeline("flash_decode", EXAMPLE, 2) is None
    assert recorded_timeline("flash_decode", EXAMPLE, 3) is None
    assert recorded_timeline("flash_decode", replace(EXAMPLE, len_kv=7)) is None
    assert recorded_timeline("flash_decode", EXAMPLE, 1, "A100") is None
    assert recorded_times("flash_decode", EXAMPLE, "A100") == {}


@pytest.mark.parametrize("other", [{"len_q": 4}, {"len_q": 0}, {"dtype": "float32"}])
def test_one_query_and_two_bytes_an_element_were_measured(a_record, other):
    shape = replace(EXAMPLE, **other)
    for call in recordings.CALLS:
        assert recorded_timeline(call, shape) is None
        assert recorded_times(call, shape) == {}


def test_a_gpu_is_a_name_or_a_spec(a_record):
    h200 = GPUS["H200"]
    for gpu in (h200, "NVIDIA H200", "h200"):
        assert recorded_timeline("flash_decode", EXAMPLE, gpu=gpu).gpu == "H200"
        assert len(recorded_times("flash_decode", EXAMPLE, gpu)) == 3
    assert recorded_timeline("flash_decode", EXAMPLE, gpu=GPUS["A100"]) is None
    assert recorded_times("flash_decode", EXAMPLE, replace(h200, num_sms=66)) == {}
    for read in (recorded_timeline, recorded_times):
        with pytest.raises(ValueError, match="got 'H300', takes one of T4"):
            read("flash_decode", EXAMPLE, gpu="H300")
        with pytest.raises(TypeError, match="gpu: got int, takes a GpuSpec or a name"):
            read("flash_decode", EXAMPLE, gpu=132)


def test_a_call_that_was_not_measured_is_a_model_in_the_figure(a_record):
    assert decode_step(EXAMPLE, "H200", 131).decode.source == "measured"
    assert decode_step(replace(EXAMPLE, len_q=4), "H200", 131).decode.source == "model"


def test_an_unknown_call_is_named():
    with pytest.raises(
        ValueError, match="call: got 'decode', takes one of flash_attention, flash_decode"
    ):
        recorded_timeline("decode", EXAMPLE)


@ships
def test_the_record_that_ships_is_large_enough_and_no_larger():
    record = recordings._record("H200")
    path = recordings.load_recorded.__globals__["_FOLDER"] / f"{SHIPPED}.json"
    assert path.stat().st_size <= 3_000_000
    assert record["gpu_name"] == "H200"
    assert record["complete"] is True
    assert len(record["rows"]) >= 300
    assert sum("timeline" in row for row in record["rows"]) >= 60
    assert {row["batch"] for row in record["rows"]} >= {1, 4, 64}
    assert {(row["heads_q"], row["heads_kv"]) for row in record["rows"]} >= {(8, 1), (32, 32)}
    keys, splits = ({row[name] for row in record["rows"]} for name in ("len_kv", "num_splits"))
    assert (min(keys), max(keys), max(splits)) == (1024, 524_288, 256)
    assert {each["kernel"] for each in record["kernels"]} == {
        "_flash_attention_kernel", "_split_kernel", "_combine_kernel",
    }  # fmt: skip
    assert record["timer_tick_ns"] == 32  # `timeline` says so, and what the notes cost
    assert all(abs(row["noted_us"] / row["plain_us"] - 1) < 0.06 for row in record["notes_cost"])
    assert 90 <= record["one_busy_sm"]["nvidia_smi_percent"] <= 100
    assert record["one_busy_sm"]["sm_utilisation"] < 0.01


@ships
def test_every_row_that_ships_makes_sense():
    record = recordings._record("H200")
    for row in record["rows"]:
        assert 0 < row["time_us"] < 100_000, row
        if row["call"] == "flash_decode":
            assert row["split_us"] < row["time_us"] * 1.25 + 2, row
        if "timeline" in row:
            line = unpack_timeline(row["timeline"], "H200", record["num_sms"], "")
            assert all((each.end_ns >= each.start_ns).all() for each in line.launches)
            assert all(((each.sm >= 0) & (each.sm < 132)).all() for each in line.launches)
            assert min(int(each.start_ns.min()) for each in line.launches) == 0
            assert line.launches[0].programs == int(np.prod(line.launches[0].grid))


@ships
@pytest.mark.parametrize("heads", [(8, 1), (16, 2)])
def test_few_heads_leave_the_sms_idle_and_splitting_fills_them(heads):
    shape = AttentionShape(heads_q=heads[0], heads_kv=heads[1], len_kv=100_000)
    before = recorded_timeline("flash_attention", shape)
    assert before.busy_sms == heads[0]
    assert 1 - before.busy_sms / before.num_sms >= 0.87
    after = recorded_timeline("flash_decode", shape)
    assert after.launches[0].programs == plan_splits(shape, "H200").programs
    assert after.busy_sms / after.num_sms >= 0.95
