"""The calls that are measured at one shape: FlashAttention, Flash-Decoding, and its two kernels alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from fdlib.attention.combine import launch_combine
from fdlib.attention.flash_attention import flash_attention
from fdlib.attention.flash_decoding import flash_decode, split_kv_attention
from fdlib.record.timing import Times, replay_times
from fdlib.shapes import AttentionShape

__all__ = ["COLD_L2S", "MAX_SETS", "REPLAYS", "Calls", "Pool", "supported_dtype"]

MAX_CALL_US = 40_000  # slower ones would take the record's time, and teach nothing new
COLD_L2S = 8  # buffers rotate through as many sizes of the L2 cache, if that takes no more than
MAX_SETS = 512  # sets of them
REPLAYS = 7  # of a graph; their median counts
_COMBINES = 32

Triple = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def supported_dtype() -> str:
    """bfloat16, or float16 on a GPU that lacks it."""
    return "bfloat16" if torch.cuda.get_device_capability() >= (8, 0) else "float16"


class Pool:
    """Random numbers in one piece of memory; the keys and values of every shape are views of it."""

    def __init__(self, dtype: str, most_bytes: int) -> None:
        free, _ = torch.cuda.mem_get_info()
        element_bytes = 2
        elements = min(int(free * 0.7), most_bytes) // element_bytes
        self.memory = torch.empty(elements, dtype=getattr(torch, dtype), device="cuda").normal_()
        self.l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size

    def triples(self, shape: AttentionShape) -> list[Triple]:
        """(q, k, v) that together pass the L2 many times; none where one does not fit."""
        torch.cuda.empty_cache()  # what the graphs of the last shape held
        sizes = (shape.batch, shape.len_kv, shape.heads_kv, shape.head_dim)
        kv_elements = shape.kv_bytes // shape.element_bytes
        sets = max(2, min(MAX_SETS, -(-COLD_L2S * self.l2_bytes // shape.kv_bytes)))
        sets = min(sets, len(self.memory) // kv_elements)
        found = []
        for i in range(sets):
            kv = self.memory[i * kv_elements : (i + 1) * kv_elements].view(2, *sizes)
            q = torch.randn(
                shape.batch, 1, shape.heads_q, shape.head_dim, dtype=kv.dtype, device="cuda"
            )
            found.append((q, kv[0], kv[1]))
        return found


@dataclass(frozen=True)
class Calls:
    """One shape's calls; ``few`` replays the graphs less often."""

    shape: AttentionShape
    triples: list[Triple]
    replays: int = REPLAYS

    def call(self, num_splits: int) -> Callable[[], Any]:
        """One call to take a timeline of; ``num_splits`` 0 is FlashAttention."""
        return self._calls(num_splits)[0]

    def times(self, num_splits: int) -> Times | None:
        """FlashAttention's (0) or Flash-Decoding's; None where it takes too long."""
        return replay_times(self._calls(num_splits), self.replays, MAX_CALL_US)

    def split_times(self, num_splits: int) -> Times | None:
        """The split kernel's alone, writing partial outputs."""
        calls = [partial(split_kv_attention, *each, num_splits) for each in self.triples]
        return replay_times(calls, self.replays)

    def combine_times(self, num_splits: int) -> Times | None:
        """The combine's alone; it finds the partial outputs in L2, as after the split kernel."""
        q = self.triples[0][0]
        batch, _, heads_q, _ = q.shape
        partial_out = torch.randn(num_splits, *q.shape, dtype=torch.float32, device="cuda")
        partial_lse = torch.randn(num_splits, batch, heads_q, 1, device="cuda")
        lse = torch.empty(batch, heads_q, 1, dtype=torch.float32, device="cuda")
        call = partial(launch_combine, partial_out, partial_lse, torch.empty_like(q), lse)
        return replay_times([call] * _COMBINES, self.replays)

    def _calls(self, num_splits: int) -> list[Callable[[], Any]]:
        if num_splits == 0:
            return [partial(flash_attention, *each) for each in self.triples]
        return [partial(flash_decode, *each, num_splits=num_splits) for each in self.triples]
