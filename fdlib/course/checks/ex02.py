"""Checks of exercise 02: one block, a maximum that grows, hidden rows, the end, then all of it."""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.checks.inputs import (
    LSE_AXES,
    OUT_AXES,
    call,
    describe,
    oracle,
    random_qkv,
    unchanged,
)
from fdlib.course.expect.check import Check, CheckContext
from fdlib.course.expect.compare import expect_close

if TYPE_CHECKING:
    import torch

__all__ = ["CHECKS"]

_AXES = ("outermost", "outer", "batch", "head", "row")
_STATE = ("m", "l", "acc")
_LEAD, _ROWS, _KEYS, _DIM = (2, 3), 5, 7, 4  # all different: an exchanged axis shows
_OTHER_LEADS = ((), (3,), (2, 1, 3), (2, 3, 1, 2))
# What a learner may take for minus infinity lies between these: -1000, -1e4, -1e9.
_FAR = (-2e4, -3e9)


def _row_axes(rows: torch.Tensor) -> tuple[str, ...]:
    return _AXES[-rows.ndim :]


def _block(
    generator: torch.Generator, level: float = 0.0, lead: tuple[int, ...] = _LEAD
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores (*lead, 5, 7) around `level`, all of one sign if it is not 0, and v (*lead, 7, 4)."""
    import torch

    scores = 2 * torch.randn(*lead, _ROWS, _KEYS, generator=generator)
    if level:
        scores = math.copysign(1, level) * scores.abs() + level
    return scores, torch.randn(*lead, _KEYS, _DIM, generator=generator)


def _far_block(generator: torch.Generator, level: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores `level`, 2 * level, ... in any order, and minus that in every other row: one key has all the weight."""
    scores, v = _block(generator)
    scores = level * (1 + scores.argsort(dim=-1)).float()
    scores[..., 1::2, :].neg_()
    return scores, v


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
    dtype = scores.dtype
    with unchanged(case, v=v):
        state = [x.to(dtype) for x in before]
        got = call(module, "update", *state, scores.clone(), v, returns=_STATE)
    for name, actual, expected in zip(_STATE, got, want, strict=True):
        axes = (*_row_axes(want[0]), "dim")[: expected.ndim]
        expect_close(actual, expected.to(dtype), what=name, case=case, axes=axes)
    return got


def _empty(lead: tuple[int, ...] = _LEAD) -> tuple[torch.Tensor, ...]:
    import torch

    rows = (*lead, _ROWS)
    return torch.full(rows, -math.inf), torch.zeros(rows), torch.zeros(*rows, _DIM)


def _first_block(module: ModuleType, context: CheckContext) -> None:
    generator = context.generator()
    for level, text in ((0.0, ""), (200.0, ", scores above 200"), (-200.0, ", scores below -200")):
        block = _block(generator, level)
        case = f"the first block, M {_ROWS}, N {_KEYS}, D {_DIM}{text}"
        _expect_state(module, case, _empty(), block, _state_of(*block))
    for level in _FAR:
        block = _far_block(generator, level)
        case = (
            f"the first block, scores from {level:g} on and, in every other row, from {-level:g} on"
        )
        _expect_state(module, case, _empty(), block, _state_of(*block))
    for lead in _OTHER_LEADS:
        block = _block(generator, lead=lead)
        case = f"the first block, scores of shape {(*lead, _ROWS, _KEYS)}"
        _expect_state(module, case, _empty(lead), block, _state_of(*block))
    scores, v = (x.bfloat16() for x in _block(generator))
    case = "the first block, everything in bfloat16"
    _expect_state(module, case, _empty(), (scores, v), _state_of(scores, v))


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
    for lead in _OTHER_LEADS:
        old, new = _block(generator, lead=lead), _block(generator, 5.0, lead)
        want = _state_of(torch.cat([old[0], new[0]], dim=-1), torch.cat([old[1], new[1]], dim=-2))
        case = f"a second block, scores of shape {(*lead, _ROWS, _KEYS)}"
        _expect_state(module, case, _state_of(*old), new, want)


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

    generator = context.generator()
    for level in (0.0, 200.0, -200.0):
        scores, v = _block(generator, level)
        scores[1, 0, 2:4] = -math.inf
        _expect_finish(module, scores, v)
    for level in _FAR:
        _expect_finish(module, *_far_block(generator, level))
    for lead in _OTHER_LEADS:
        _expect_finish(module, *_block(generator, lead=lead))
    _expect_finish(module, *(x.double() for x in _block(generator)))
    _expect_finish(module, *(x.bfloat16() for x in _block(generator)))


def _expect_finish(module: ModuleType, scores: torch.Tensor, v: torch.Tensor) -> None:
    import torch

    dtype = scores.dtype
    m, l, acc = (x.to(dtype) for x in _state_of(scores, v))  # noqa: E741
    case = f"a state with m from {float(m.min()):.3g} to {float(m.max()):.3g}, m of shape {tuple(m.shape)}, {dtype}"
    out, lse = call(module, "finish", m, l, acc)
    seen = l > 0
    divisor = torch.where(seen, l, 1.0).double()
    want_lse = torch.where(seen, m.double() + divisor.log(), -math.inf)
    want_out = acc.double() / divisor[..., None]
    axes = _row_axes(m)
    expect_close(lse, want_lse.to(dtype), what="lse", case=case, axes=axes)
    expect_close(out, want_out.to(dtype), what="out", case=case, axes=(*axes, "dim"))


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
