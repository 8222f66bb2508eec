"""Softmax in one pass over the keys of one query, key by key or in blocks: each state, for the pictures.

The states come from the ``fold`` that is given, a learner's or the library's. Torch tensors go in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["SoftmaxStep", "SoftmaxWalk", "scores_of", "walk_keys"]

Fold = Callable[..., tuple[Any, Any, Any]]  # (m, l, acc, scores, v) -> (m, l, acc)


class SoftmaxStep(NamedTuple):
    """One block of keys ``start`` to ``end - 1``: the state after it, and what became of the state before."""

    start: int
    end: int
    m: float  # the running maximum after the block
    alpha: float  # the correction factor on what was summed before
    l_kept: float  # the old sum, corrected
    l_added: float  # what the block adds


@dataclass(frozen=True)
class SoftmaxWalk:
    """One query's way over its keys: a score for each key, a step and an ``acc`` of D numbers after each."""

    words: tuple[str, ...]
    scores: tuple[float, ...]
    steps: tuple[SoftmaxStep, ...]
    accs: tuple[tuple[float, ...], ...]

    def weights_after(self, count: int) -> list[float]:
        """The weights of the first ``count`` keys if those were all: exp(score - m) / l."""
        if not count:
            return []
        step = self.steps[count - 1]
        total = step.l_kept + step.l_added
        return [math.exp(score - step.m) / total for score in self.scores[:count]]


def scores_of(passage: Any, head: int, query: int) -> Any:
    """Scores ``(query + 1,)`` of the keys that the query at that position sees, for a `Passage` and a head's index."""
    keys = passage.k[0, : query + 1, passage.heads[head].kv_index]
    return keys @ passage.q[0, query, head] * passage.softmax_scale


def walk_keys(passage: Any, fold: Fold, *, head: int, query: int) -> SoftmaxWalk:
    """``fold`` run over the keys one at a time, from the state before the first: m = -inf, l = 0, acc = 0."""
    import torch

    values = passage.v[0, : query + 1, passage.heads[head].kv_index]
    scores = scores_of(passage, head, query)
    m, l, acc = torch.tensor([-math.inf]), torch.zeros(1), torch.zeros(1, values.shape[1])  # noqa: E741
    steps, accs = [], []
    for key in range(len(scores)):
        m_new, l_new, acc = fold(m, l, acc, scores[None, key : key + 1], values[key : key + 1])
        alpha = math.exp(m.item() - m_new.item())
        kept = l.item() * alpha
        steps.append(SoftmaxStep(key, key + 1, m_new.item(), alpha, kept, l_new.item() - kept))
        accs.append(tuple(acc.flatten().tolist()))
        m, l = m_new, l_new  # noqa: E741
    words: Sequence[str] = passage.tokens[: query + 1]
    return SoftmaxWalk(tuple(words), tuple(scores.tolist()), tuple(steps), tuple(accs))
