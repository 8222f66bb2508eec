"""The shapes that ``fdlib record`` measures, and at which split counts. No torch."""

from __future__ import annotations

from fdlib.plan import plan_splits
from fdlib.shapes import AttentionShape

__all__ = ["SHAPES", "FEW_SHAPES", "MAX_TIMELINE_PROGRAMS", "split_counts", "with_timelines"]

SPLITS = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # and the count that `choose_num_splits` takes
# Batches whose timelines are kept, and the most programs of one: the file stays below 3 MB.
TIMELINE_BATCHES, MAX_TIMELINE_PROGRAMS = (1, 4), 2400

_HEADS = ((8, 1), (16, 2), (32, 8), (32, 32))
_KEYS_ONE = (1024, 4096, 16_384, 65_536, 131_072, 524_288)  # at batch 1
_KEYS_FOUR = (4096, 16_384, 65_536)  # at batch 4
_MORE = (
    # batch, heads_q, heads_kv, len_kv
    (1, 8, 1, 100_000),  # the notebooks' example
    (1, 16, 2, 100_000),
    (1, 32, 8, 8192),
    (1, 32, 8, 32_768),
    (1, 8, 1, 32_768),
    (2, 8, 1, 16_384),
    (2, 8, 1, 131_072),
    (2, 32, 8, 16_384),
    (8, 8, 1, 16_384),
    (8, 32, 8, 4096),
    (8, 32, 8, 16_384),
    (8, 32, 8, 131_072),
    (8, 32, 32, 4096),
    (16, 8, 1, 4096),
    (16, 16, 2, 16_384),
    (16, 32, 8, 16_384),
    (32, 8, 1, 65_536),
    (32, 32, 8, 4096),
    (64, 8, 1, 1024),
    (64, 8, 1, 16_384),
    (64, 32, 8, 1024),
    (64, 32, 8, 16_384),
    (64, 32, 32, 1024),
    (64, 32, 32, 4096),
)


def _shape(batch: int, heads_q: int, heads_kv: int, len_kv: int) -> AttentionShape:
    return AttentionShape(batch=batch, heads_q=heads_q, heads_kv=heads_kv, len_kv=len_kv)


SHAPES: tuple[AttentionShape, ...] = (
    *(_shape(1, *heads, keys) for heads in _HEADS for keys in _KEYS_ONE),
    *(_shape(4, *heads, keys) for heads in _HEADS for keys in _KEYS_FOUR),
    *(_shape(*each) for each in _MORE),
)
FEW_SHAPES: tuple[AttentionShape, ...] = (
    _shape(1, 8, 1, 4096),
    _shape(1, 8, 1, 100_000),
    _shape(1, 16, 2, 100_000),
    _shape(1, 32, 8, 16_384),
    _shape(4, 32, 8, 16_384),
)


def split_counts(shape: AttentionShape, num_sms: int) -> list[int]:
    """The split counts to measure: powers of two up to the number of key blocks, and the rule's own.

    >>> split_counts(_shape(1, 8, 1, 100_000), 132)
    [1, 2, 4, 8, 16, 32, 64, 128, 131, 256]
    """
    plan = plan_splits(shape, num_sms)
    blocks = -(-shape.len_kv // plan.block_n)
    return sorted({n for n in SPLITS if n <= blocks} | {plan.num_splits})


def with_timelines(shape: AttentionShape, num_sms: int, num_splits: int) -> bool:
    """Whether the timeline of this call is kept; ``num_splits`` 0 is FlashAttention."""
    rows = shape.batch * shape.heads_q
    split = plan_splits(shape, num_sms, num_splits or 1).programs
    programs = split + rows if num_splits > 1 else max(split, rows)
    return shape.batch in TIMELINE_BATCHES and programs <= MAX_TIMELINE_PROGRAMS
