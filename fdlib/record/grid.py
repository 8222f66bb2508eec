"""The shapes that ``fdlib record`` measures, and at which split counts. No torch."""

from __future__ import annotations

from fdlib.plan import plan_splits
from fdlib.shapes import AttentionShape

__all__ = [
    "FEW_SHAPES",
    "MAX_TIMELINE_PROGRAMS",
    "SHAPES",
    "SPLITS",
    "split_counts",
    "with_timelines",
]

SPLITS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)  # and what `choose_num_splits` takes
# Batches whose timelines are kept, and the most programs of one: the file stays below 3 MB.
TIMELINE_BATCHES, MAX_TIMELINE_PROGRAMS = (1, 4), 2400
MOST_KV_BYTES = 9 * 10**9  # of one shape; two of them are in memory at a time

_HEADS = ((8, 1), (16, 2), (32, 8), (32, 32))
_KEYS = tuple(2**power for power in range(10, 20))  # at batch 1
_BATCHES, _KEYS_MANY = (2, 4, 8, 16, 32, 64), (1024, 4096, 16_384, 65_536)
_MORE = (
    # batch, heads_q, heads_kv, len_kv
    (1, 8, 1, 100_000),  # the notebooks' example
    (1, 16, 2, 100_000),
    (1, 1, 1, 16_384),
    (1, 1, 1, 131_072),
    (2, 8, 1, 131_072),
    (8, 32, 8, 131_072),
)


def _shape(batch: int, heads_q: int, heads_kv: int, len_kv: int) -> AttentionShape:
    return AttentionShape(batch=batch, heads_q=heads_q, heads_kv=heads_kv, len_kv=len_kv)


_ALL = (
    *(_shape(1, *heads, keys) for heads in _HEADS for keys in _KEYS),
    *(_shape(*each) for each in _MORE),
    *(_shape(n, *heads, keys) for n in _BATCHES for heads in _HEADS for keys in _KEYS_MANY),
)
SHAPES: tuple[AttentionShape, ...] = tuple(s for s in _ALL if s.kv_bytes <= MOST_KV_BYTES)
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
    [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 131, 192, 256]
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
