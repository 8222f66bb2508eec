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

    @property
    def l(self) -> float:  # noqa: E743
        """The sum after the block."""
        return self.l_kept + self.l_added


@dataclass(frozen=True)
class SoftmaxWalk:
    """One query's way over its keys: a score for each key; for each block a step, and ``acc`` (D numbers) after it."""

    words: tuple[str, ...]
    scores: tuple[float, ...]
    steps: tuple[SoftmaxStep, ...]
    accs: tuple[tuple[float, ...], ...]

    def weights_after(self, count: int) -> list[float]:
        """The weights of the keys in the first ``count`` steps if those were all: exp(score - m) / l."""
        if not count:
            return []
        step = self.steps[count - 1]
        return [math.exp(score - step.m) / step.l for score in self.scores[: step.end]]


def scores_of(passage: Any, head: int, query: int) -> Any:
    """Scores ``(query + 1,)`` of the keys that the query at that position sees, for a `Passage` and a head's index."""
    keys = passage.k[0, : query + 1, passage.heads[head].kv_index]
    return keys @ passage.q[0, query, head] * passage.softmax_scale


def walk_keys(passage: Any, fold: Fold, *, head: int, query: int, block_n: int = 1) -> SoftmaxWalk:
    """``fold`` run over the keys, ``block_n`` at a time, from the state before the first: m = -inf, l = 0, acc = 0.

    Raises `ValueError` for a ``block_n`` below 1 and a ``fold`` whose m or l cannot be: scores here are finite.
    """
    import torch

    if block_n < 1:
        raise ValueError(f"block_n: got {block_n}, takes 1 or more")

    values = passage.v[0, : query + 1, passage.heads[head].kv_index]
    scores = scores_of(passage, head, query)
    m, l, acc = torch.tensor([-math.inf]), torch.zeros(1), torch.zeros(1, values.shape[1])  # noqa: E741
    steps, accs = [], []
    for start in range(0, len(scores), block_n):
        end = min(start + block_n, len(scores))
        m_new, l_new, acc = fold(m, l, acc, scores[None, start:end], values[start:end])
        _check_state(start, m.item(), m_new.item(), l_new.item())
        alpha = math.exp(m.item() - m_new.item())
        kept = l.item() * alpha
        steps.append(SoftmaxStep(start, end, m_new.item(), alpha, kept, l_new.item() - kept))
        accs.append(tuple(acc.flatten().tolist()))
        m, l = m_new, l_new  # noqa: E741
    words: Sequence[str] = passage.tokens[: query + 1]
    return SoftmaxWalk(tuple(words), tuple(scores.tolist()), tuple(steps), tuple(accs))


def _check_state(key: int, m_before: float, m: float, total: float) -> None:
    """Say at which key a ``fold`` goes wrong, where the numbers after it could not be drawn."""
    if not math.isfinite(m):
        raise ValueError(f"fold: got m = {m} at key {key}, takes a finite m once a key was read")
    if m < m_before:
        raise ValueError(
            f"fold: got m = {m:.2f} after {m_before:.2f} at key {key}, takes an m that never falls"
        )
    if not math.isfinite(total) or total <= 0:
        raise ValueError(
            f"fold: got l = {total} at key {key}, takes a finite l above 0 once a key was read"
        )
