"""The floor under every time: a kernel that only reads, at the launch settings at which it is fastest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import torch

from fdlib.record.kernels import read_kernel
from fdlib.record.timing import median_us

__all__ = ["ReadSetting", "fastest_read", "read_once"]

_REPLAYS = 3  # of each setting


class ReadSetting(NamedTuple):
    """One way to launch the kernel that reads: programs, elements of a load, warps, pipeline stages."""

    programs: int
    block: int
    warps: int
    stages: int = 3


def read_once(x: torch.Tensor, out: torch.Tensor, setting: ReadSetting) -> None:
    """Read ``x`` once; each program leaves its sum in ``out`` (float32, one number a program)."""
    programs, block, warps, stages = setting
    blocks = x.numel() // block
    read_kernel[(programs,)](x, out, blocks, BLOCK=block, num_warps=warps, num_stages=stages)


def fastest_read(
    buffers: Sequence[torch.Tensor], settings: Iterable[ReadSetting]
) -> tuple[ReadSetting, float]:
    """The fastest of ``settings``, and the microseconds in which it reads one of ``buffers``, which are alike."""
    settings = tuple(settings)
    out = torch.empty(max(each.programs for each in settings), device=buffers[0].device)
    times = {}
    for setting in settings:
        calls = [partial(read_once, x, out, setting) for x in buffers]
        times[setting] = median_us(calls, _REPLAYS)
    best = min(times, key=times.__getitem__)
    return best, times[best]
