"""Checks of exercise 02: one block, a maximum that grows, hidden rows, the end, then all of it."""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.checks import Check, CheckContext
from fdlib.course.checks.inputs import (
    LSE_AXES,
    OUT_AXES,
    call,
    describe,
    oracle,
    random_qkv,
    unchanged,
)
from fdlib.course.grading.compare import expect_close

if TYPE_CHECKING:
    import torch

__all__ = ["CHECKS"]

_ROW_AXES = ("batch", "head", "row")
_STATE = ("m", "l", "acc")
_LEAD, _ROWS, _KEYS, _DIM = (2, 3), 5, 7, 4  # all different: an exchanged axis shows


def _block(generator: torch.Generator, level: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores (2, 3, 5, 7) around `level`, all of one sign if it is not 0, and v (2, 3, 7, 4)."""
    import torch

    scores = 2 * torch.randn(*_LEAD, _ROWS, _KEYS, generator=generator)
    if level:
        scores = math.copysign(1, level) * scores.abs() + level
    return scores, torch.randn(*_LEAD, _KEYS, _DIM, generator=generator)


def _state_of(scores: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """(m, l, acc) of all these keys at once, in float64: no block, no correction."""
    import torch

    scores, v = scores.double(), v.double()
    m = scores.amax(dim=-1)
    seen = m > -math.inf
    weights = torch.exp(scores - torch.where(seen, m, 0.0)[..., None])
    return m, weights.sum(dim=-1), (weights[..., None] * v[..., None, :, :]).sum(dim=-2)


def _expect_state(
    module: ModuleType,
    case: str,
    before: tuple[torch.Tensor, ...],
    block: tuple[torch.Tensor, torch.Tensor],
    want: tuple[torch.Tensor, ...],
) -> tuple[torch.Tensor, ...]:
    """Fold `block` into `before` and compare with `want`; returns the learner's new state."""
    scores, v = block
    with unchanged(case, v=v):
        state = [x.float() for x in before]
        got = call(module, "update", *state, scores.clone(), v, returns=_STATE)
    for name, actual, expected in zip(_STATE, got, want, strict=True):
        axes = (*_ROW_AXES, "dim")[: expected.ndim]
        expect_close(actual, expected.float(), what=name, case=case, axes=axes)
    return got


def _empty() -> tuple[torch.Tensor, ...]:
    import torch

    rows = (*_LEAD, _ROWS)
    return torch.full(rows, -math.inf), torch.zeros(rows), torch.zeros(*rows, _DIM)


def _first_block(module: ModuleType, context: CheckContext) -> None:
    generator = context.generator()
    for level, text in ((0.0, ""), (200.0, ", scores above 200"), (-200.0, ", scores below -200")):
        block = _block(generator, level)
        case = f"the first block, M {_ROWS}, N {_KEYS}, D {_DIM}{text}"
        _expect_state(module, case, _empty(), block, _state_of(*block))


def _correction(module: ModuleType, context: CheckContext) -> None:
    import torch

    generator = context.generator()
    old, new = _block(generator), _block(generator)
    both = torch.cat([old[0], new[0]], dim=-1), torch.cat([old[1], new[1]], dim=-2)
    for rise, text in ((9.0, "grows in every row"), (-9.0, "stays"), (0.5, "grows in some rows")):
        scores = new[0] + rise
        want = _state_of(torch.cat([old[0], scores], dim=-1), both[1])
        case = f"a second block after which the maximum {text}"
        _expect_state(module, case, _state_of(*old), (scores, new[1]), want)


def _hidden_rows(module: ModuleType, context: CheckContext) -> None:
    import torch

    generator = context.generator()
    first, second = _block(generator, -200.0), _block(generator, -200.0)
    first[0][:, :, 1] = -math.inf  # row 1 sees nothing yet, row 3 nothing new, row 4 nothing at all
    second[0][:, 0, 3] = -math.inf
    first[0][1, :, 4], second[0][1, :, 4] = -math.inf, -math.inf
    first[0][:, :, 0, 2:], second[0][:, :, 2, :3] = -math.inf, -math.inf
    case = "a first block in which some rows see no key"
    state = _expect_state(module, case, _empty(), first, _state_of(*first))
    both = torch.cat([first[0], second[0]], dim=-1), torch.cat([first[1], second[1]], dim=-2)
    case = "a second block; some rows saw no key before it, some see none in it"
    _expect_state(module, case, state, second, _state_of(*both))


def _finish(module: ModuleType, context: CheckContext) -> None:
    import torch

    for level in (0.0, 200.0, -200.0):
        scores, v = _block(context.generator(), level)
        scores[1, 0, 2:4] = -math.inf
        m, l, acc = _state_of(scores, v)  # noqa: E741
        case = f"a state with l from {float(l.min()):.2g} to {float(l.max()):.2g}"
        out, lse = call(module, "finish", m.float(), l.float(), acc.float())
        want_lse = torch.logsumexp(scores.double(), dim=-1)
        want = torch.softmax(scores.double(), dim=-1).nan_to_num(0.0) @ v.double()
        expect_close(lse, want_lse.float(), what="lse", case=case, axes=_ROW_AXES)
        expect_close(out, want.float(), what="out", case=case, axes=(*_ROW_AXES, "dim"))


def _whole(module: ModuleType, context: CheckContext) -> None:
    generator = context.generator()
    for len_kv, block_n, level in (
        *((1, 8, 0), (7, 8, 0), (8, 8, 0), (9, 8, 0), (37, 1, 0), (37, 8, 0), (37, 64, 0)),
        *((37, 8, 200), (37, 8, -200), (0, 8, 0)),
    ):
        sizes: dict[str, Any] = {"batch": 2, "len_q": 3, "len_kv": len_kv, "heads_q": 5}
        double = len_kv == 9  # the state keeps the dtype of q
        q, k, v = random_qkv(
            generator, **sizes, level=level, dtype="float64" if double else "float32"
        )
        case = describe(q, k, "float64" if double else "", f"blocks of {block_n}")
        with unchanged(case, q=q, k=k, v=v):
            out, lse = call(module, "attention", q, k, v, block_n)
        want_out, want_lse = oracle(q, k, v)
        tol = 2e-4 if level else 1e-6 if double else None  # the oracle's lse is float32
        want_lse = want_lse.to(q.dtype)
        expect_close(lse, want_lse, what="lse", case=case, axes=LSE_AXES, atol=tol, rtol=tol)
        tol = None if double else tol
        expect_close(out, want_out, what="out", case=case, axes=OUT_AXES, atol=tol, rtol=tol)


CHECKS = (
    Check(
        "first-block",
        "m, l and acc are right after the first block.",
        2,
        _first_block,
        read="By hand, on four numbers",
    ),
    Check(
        "correction",
        "The old sums are corrected when a later block raises the maximum.",
        3,
        _correction,
        read="The correction factor",
    ),
    Check(
        "hidden-rows",
        "A row without keys keeps m = -inf, l = 0 and acc = 0, never NaN.",
        2,
        _hidden_rows,
        read="Rows that see no key",
    ),
    Check(
        "finish",
        "finish gives the output and the LSE, and 0 and -inf for an empty row.",
        2,
        _finish,
        read="LSE: all that must be remembered",
        region="the output and the LSE",
    ),
    Check(
        "whole",
        "Attention in blocks equals attention over all keys at once.",
        1,
        _whole,
        read="The correction factor",
    ),
)
