"""The bytes of the trace against those that Nsight Compute counted on an H200, launch by launch."""

from __future__ import annotations

import statistics

import pytest

from fdlib.gpus import get_gpu
from fdlib.recorded import load_recorded, recorded_names

NAME = "h200_traffic"
pytestmark = pytest.mark.skipif(NAME not in recorded_names(), reason=f"{NAME} is not recorded yet")


def rows():
    return load_recorded(NAME)["rows"]


def counted(row):
    return row["read_bytes"] + row["write_bytes"] + row["write_bytes_after"]


def traced(row):
    return row["hbm_read_bytes"] + row["hbm_write_bytes"]


def test_traced_bytes_are_those_of_the_hardware():
    apart = [abs(traced(row) / counted(row) - 1) for row in rows()]
    assert statistics.median(apart) <= 0.03
    assert max(apart) <= 0.10


def test_enough_shapes_of_each_kind_and_all_larger_than_l2():
    found = {method: [row for row in rows() if row["method"] == method] for method in METHODS}
    assert {method: len(each) >= 3 for method, each in found.items()} == dict.fromkeys(
        METHODS, True
    )
    shapes = {tuple(map(str, (row[name] for name in SHAPE))) for row in rows()}
    assert len(shapes) >= 12
    assert all(traced(row) > get_gpu("H200").l2_mb * 2**20 for row in rows())


METHODS = ("naive", "tiled", "split", "combine")
SHAPE = "method batch heads_q heads_kv len_q len_kv head_dim dtype settings".split()
