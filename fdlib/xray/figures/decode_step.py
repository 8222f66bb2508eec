"""One decoding step, by FlashAttention and by Flash-Decoding: measured where it was recorded, modelled elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fdlib.plan import SplitPlan, plan_splits
from fdlib.shapes import AttentionShape
from fdlib.xray.recordings import recorded_timeline
from fdlib.xray.schedule import Timeline
from fdlib.xray.simulate import simulate, simulate_flash_attention

__all__ = ["DecodeStep", "decode_step"]


@dataclass(frozen=True, eq=False)
class DecodeStep:
    """The timelines of both for one shape; `plan` is what Flash-Decoding launches."""

    plan: SplitPlan
    attention: Timeline
    decode: Timeline

    @property
    def speedup(self) -> float:
        """How many times as fast Flash-Decoding is, from its first program to its last."""
        return self.attention.makespan_ns / max(self.decode.makespan_ns, 1)

    @property
    def combine_us(self) -> float:
        """Microseconds of the combine, from its first program to its last; 0 where one split needs none."""
        spans = self.decode.launches[1:]
        return sum(int(each.end_ns.max() - each.start_ns.min()) for each in spans) / 1e3

    @property
    def one_source(self) -> bool:
        """Whether both are measured, or both modelled."""
        return self.attention.source == self.decode.source

    @property
    def empty_splits(self) -> int:
        """Splits of a head that get no key."""
        return sum(start == end for start, end in self.plan.ranges)


@lru_cache(maxsize=256)
def decode_step(shape: AttentionShape, gpu: str, num_splits: int = 0) -> DecodeStep:
    """Both timelines of ``shape`` on the GPU of that name; ``num_splits=0`` lets the rule choose.

    Raises `ValueError` for an unknown GPU, a negative ``num_splits`` and a shape without programs.

    >>> step = decode_step(AttentionShape(heads_q=8, heads_kv=1, len_kv=131_072), "T4")
    >>> step.attention.busy_sms, step.decode.busy_sms, step.attention.source
    (8, 40, 'model')
    """
    plan = plan_splits(shape, gpu, num_splits)
    attention = recorded_timeline("flash_attention", shape, gpu=gpu)
    decode = recorded_timeline("flash_decode", shape, num_splits, gpu=gpu)
    return DecodeStep(
        plan,
        attention or simulate_flash_attention(shape, gpu),
        decode or simulate(plan, gpu),
    )
