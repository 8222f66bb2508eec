"""The fastest plain read: which setting it takes, and what it launches. No GPU: the clock is replaced."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import torch

from fdlib.record import reads
from fdlib.record.reads import ReadSetting


def test_the_fastest_setting_is_found(monkeypatch):
    launched = []
    monkeypatch.setattr(reads, "read_once", lambda x, out, way: launched.append((x, out, way)))

    def clock(calls, replays):
        for call in calls:
            call()
        return 10.0 / launched[-1][2].programs + launched[-1][2].warps

    monkeypatch.setattr(reads, "median_us", clock)
    buffers = [torch.zeros(8), torch.ones(8)]
    ways = (ReadSetting(p, 4, w) for p in (1, 5) for w in (4, 8))
    assert reads.fastest_read(buffers, ways) == (ReadSetting(5, 4, 4, stages=3), 6.0)
    assert [x is buffers[n % 2] for n, (x, _, _) in enumerate(launched)] == [True] * 8
    assert {out.numel() for _, out, _ in launched} == {5}


def test_a_setting_is_how_the_kernel_is_launched(monkeypatch):
    launches = []

    class Kernel:
        def __getitem__(self, grid):
            return lambda *args, **settings: launches.append((grid, args, settings))

    monkeypatch.setattr(reads, "read_kernel", Kernel())
    x, out = torch.arange(64.0), torch.zeros(3)
    reads.read_once(x, out, ReadSetting(3, 16, 4, stages=2))
    ((grid, args, settings),) = launches
    assert grid == (3,) and args == (x, out, 4)
    assert settings == {"BLOCK": 16, "num_warps": 4, "num_stages": 2}
