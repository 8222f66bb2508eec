"""What each split of the keys weighs in the softmax of one query: ``exp(lse_i - lse)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fdlib.plan import split_ranges
from fdlib.xray.figures.softmax_steps import scores_of

__all__ = ["SplitShare", "by_share", "split_shares"]

_BLOCK_N = 16  # keys of a block; splits begin at blocks


@dataclass(frozen=True)
class SplitShare:
    """One split: its keys ``start`` to ``end - 1``, its LSE (natural log), its share, the key that weighs most."""

    start: int
    end: int
    lse: float
    share: float
    top: int | None  # None in a split without keys


def split_shares(passage: Any, *, head: int, query: int, num_splits: int) -> list[SplitShare]:
    """The splits of the keys that the query at that position of a `Passage` sees, as `fdlib.plan` cuts them.

    Source: Dao et al. 2023, "Flash-Decoding for long-context inference",
    https://pytorch.org/blog/flash-decoding/.
    """
    scores = scores_of(passage, head, query).double()
    lse = scores.logsumexp(0)
    found = []
    for start, end in split_ranges(len(scores), num_splits, _BLOCK_N):
        part = scores[start:end]
        part_lse = part.logsumexp(0)  # -inf without keys
        top = start + part.argmax().item() if end > start else None
        found.append(SplitShare(start, end, part_lse.item(), (part_lse - lse).exp().item(), top))
    return found


def by_share(splits: Sequence[SplitShare]) -> list[int]:
    """The numbers of the splits, the one that weighs most first."""
    return sorted(range(len(splits)), key=lambda number: -splits[number].share)
