"""``fdlib record``: which calls it measures, what it writes, its errors. No GPU: what measures is replaced."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

pytest.importorskip("triton")

import torch

from fdlib import cli, plan_splits
from fdlib.record import check_writable, grid, machine, record_run, run
from fdlib.record.timing import Times
from fdlib.xray.recordings import unpack_timeline
from fdlib.xray.simulate import simulate, simulate_flash_attention

needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")


def test_the_grid_covers_what_it_should():
    calls = [(shape, n) for shape in grid.SHAPES for n in [0, *grid.split_counts(shape, 132)]]
    assert len(set(calls)) == len(calls) >= 300
    assert sum(grid.with_timelines(shape, 132, n) for shape, n in calls) >= 60
    assert {shape.batch for shape in grid.SHAPES} == {1, 2, 4, 8, 16, 32, 64}
    assert {(s.heads_q, s.heads_kv) for s in grid.SHAPES} == {
        (1, 1), (8, 1), (16, 2), (32, 8), (32, 32),
    }  # fmt: skip
    assert {shape.len_kv for shape in grid.SHAPES} >= {1024, 100_000, 131_072, 524_288}
    assert max(shape.kv_bytes for shape in grid.SHAPES) < 10e9
    assert set(grid.FEW_SHAPES) <= {*grid.SHAPES}


def test_the_rules_own_split_count_is_measured():
    for shape in grid.SHAPES:
        assert plan_splits(shape, 132).num_splits in grid.split_counts(shape, 132)


class Nothing:
    """In the place of the memory that the calls read."""

    def __init__(self, *_: object, **__: object) -> None:
        self.memory = None

    def triples(self, shape):
        return [] if shape.heads_q == 16 else [shape]


class Calls:
    """In the place of the calls: what they take is a function of the split count."""

    def __init__(self, shape, triples):
        self.shape, self.triples = shape, triples

    def call(self, num_splits):
        return self.shape, num_splits

    def times(self, num_splits):
        return None if num_splits == 4 else Times(10.0 + num_splits, 9.0, 300.0)

    split_times = combine_times = times


def modelled(call, repeat, bytes_moved):
    shape, num_splits = call
    if num_splits == 0:
        line = simulate_flash_attention(shape, "H200")
    else:
        line = simulate(plan_splits(shape, "H200", num_splits), "H200")
    assert repeat == run.REPEAT
    assert len(bytes_moved) == len(line.launches)
    return replace(line, source="measured")


@pytest.fixture
def replaced(monkeypatch):
    monkeypatch.setattr(run, "Pool", Nothing)
    monkeypatch.setattr(run, "Calls", Calls)
    monkeypatch.setattr(run, "timeline", modelled)
    monkeypatch.setattr(run, "supported_dtype", lambda: "bfloat16")
    monkeypatch.setattr(run, "_measure_machine", lambda record, pool: None)
    monkeypatch.setattr(
        machine, "facts", lambda: {"gpu": "a GPU", "gpu_name": "H200", "num_sms": 132}
    )
    monkeypatch.setattr(machine, "resources", lambda *kernels: [])


def test_a_record_has_a_row_for_each_call(replaced, tmp_path, capsys):
    path = tmp_path / "out.json"
    run.measure_all(path, grid.FEW_SHAPES[:3])
    record = json.loads(path.read_text())
    assert record["complete"] is True
    assert not path.with_name("out.json.part").exists()
    rows = record["rows"]
    splits = [row["num_splits"] for row in rows if row["len_kv"] == 4096]
    wanted = grid.split_counts(grid.FEW_SHAPES[0], 132)
    assert splits == [0, *(n for n in wanted if n != 4)]  # that call takes too long
    assert not [row for row in rows if row["heads_q"] == 16]  # does not fit
    one, two = rows[1], rows[2]
    assert (one["split_us"], one["combine_us"]) == (one["time_us"], 0.0)
    assert (two["split_us"], two["combine_us"], two["spread_us"]) == (12.0, 12.0, 291.0)
    said = capsys.readouterr().out
    assert "  1 of 3  batch  1    8/1    4,096 keys" in said
    assert "left out, the memory is too small" in said
    line = unpack_timeline(rows[-1]["timeline"], "H200", 132, "")
    assert [each.kernel for each in line.launches] == ["_split_kernel", "_combine_kernel"]
    assert all(each.bytes_moved for each in line.launches)


def test_an_interrupted_record_keeps_what_it_has(replaced, tmp_path, monkeypatch):
    def stop(shape, *_):
        if shape.len_kv > 4096:
            raise KeyboardInterrupt
        return measure(shape, *_)

    measure = run._measure_shape
    monkeypatch.setattr(run, "_measure_shape", stop)
    path = tmp_path / "out.json"
    with pytest.raises(KeyboardInterrupt):
        run.measure_all(path, grid.FEW_SHAPES)
    record = json.loads(path.read_text())
    assert record["complete"] is False
    assert {row["len_kv"] for row in record["rows"]} == {4096}


def test_beyond_the_size_limit_times_go_on_without_timelines(replaced, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "MAX_BYTES", 0)
    record = run.measure_all(tmp_path / "out.json", grid.FEW_SHAPES[:2])
    assert len(record["rows"]) > 10
    assert not any("timeline" in row for row in record["rows"])


def test_the_whole_grid_stays_below_3_mb(replaced, tmp_path):
    path = tmp_path / "out.json"
    run.measure_all(path, grid.SHAPES)
    assert path.stat().st_size < 3_000_000


@needs_no_gpu
def test_without_a_gpu(tmp_path, capsys):
    with pytest.raises(RuntimeError, match="record needs a GPU"):
        record_run(tmp_path / "out.json")
    assert cli.main(["record", "--out", str(tmp_path / "out.json")]) == 1
    assert "fdlib: record needs a GPU" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_where_it_cannot_write_it_says_so_first(tmp_path):
    there = tmp_path / "there.json"
    there.write_text("{}")
    with pytest.raises(FileExistsError, match="there.json exists; take another name, or --force"):
        check_writable(there, force=False)
    check_writable(there, force=True)
    check_writable(tmp_path / "new.json", force=False)
    with pytest.raises(IsADirectoryError, match="out: got the folder"):
        check_writable(tmp_path, force=True)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        check_writable(tmp_path / "no" / "out.json", force=False)


@pytest.mark.skipif(os.name == "nt", reason="no pipes")
def test_what_is_no_regular_file_is_never_replaced(tmp_path):
    out, part = tmp_path / "out.json", tmp_path / "out.json.part"
    (tmp_path / "to_null.json").symlink_to(os.devnull)
    os.mkfifo(tmp_path / "pipe")
    for name in ("to_null.json", "pipe"):
        with pytest.raises(FileExistsError, match="no regular file; take another name"):
            check_writable(tmp_path / name, force=True)
    part.mkdir()
    with pytest.raises(FileExistsError, match="out.json.part is no regular file"):
        check_writable(out, force=False)
    part.rmdir()
    part.write_text("of a record that was interrupted")
    check_writable(out, force=False)


@needs_no_gpu
def test_a_link_stays_and_its_file_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "link.json").symlink_to(tmp_path / "file.json")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda _: "NVIDIA H200")
    monkeypatch.setattr("fdlib.device.require_triton", lambda: None)
    monkeypatch.setattr("fdlib.device.interpreting", lambda: False)
    monkeypatch.setattr(run, "measure_all", lambda path, _: run.write_record(path, {"rows": []}))
    assert record_run(tmp_path / "link.json", force=True) == tmp_path / "link.json"
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "file.json").is_file()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="cannot be written"):
        check_writable(tmp_path / "out.json", force=False)
    tmp_path.chmod(0o700)


def test_clocks_are_none_where_there_is_no_nvidia_smi(monkeypatch):
    monkeypatch.setattr(machine, "_nvidia_smi", lambda query: "")
    assert set(machine.clocks().values()) == {None}
    monkeypatch.setattr(machine, "_nvidia_smi", lambda query: "345, 3201, 1980, [N/A]")
    assert machine.clocks() == {
        "sm_mhz": 345, "mem_mhz": 3201, "max_sm_mhz": 1980, "max_mem_mhz": None,
    }  # fmt: skip
