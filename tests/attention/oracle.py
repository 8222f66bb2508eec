"""The float64 oracle, the error budget of each element, and the measure of how much of it was used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from fdlib import naive_attention

__all__ = ["Errors", "Expected", "assert_close", "measure", "oracle"]


@dataclass(frozen=True)
class Expected:
    """The oracle's float64 answer, and how far from it each element may be."""

    out: torch.Tensor
    lse: torch.Tensor
    out_size: torch.Tensor  # sum_j weight_j |v_j|
    out_budget: torch.Tensor
    lse_budget: torch.Tensor


def oracle(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    lens: Sequence[int] | None = None,
    causal: bool,
    scale: float | None = None,
) -> Expected:
    """The answer for these rounded inputs, one sequence and one key/value head at a time, keys beyond `lens` cut off.

    The budget of an output element, relative to `sum_j weight_j |v_j|` (so that cancellation does not count):
    - eps of the dtype: half for rounding the weights before the product with V, half for rounding the output;
    - float32's eps times (8 + 2 S), S a bound on the scores: a score's rounding error grows with the score, and
      `exp` turns it into a relative error; 8 for the products and sums of a few hundred terms;
    - float32's eps times sqrt(L_kv): random rounding errors in the sums over keys;
    - in float16 alone, L_kv * 2^-25 * max |v|: weights below 2^-14 of the largest are subnormal.
    The LSE never passes through the dtype: it has the float32 terms only.
    """
    (batch, len_q, heads_q, head_dim), (len_kv, heads_kv) = q.shape, k.shape[1:3]
    group, eps32 = heads_q // heads_kv, torch.finfo(torch.float32).eps
    out, out_size, out_budget = (
        torch.zeros(q.shape, dtype=torch.float64, device=q.device) for _ in "osb"
    )
    lse, lse_budget = (
        torch.zeros(batch, heads_q, len_q, dtype=torch.float64, device=q.device) for _ in "lb"
    )
    for b in range(batch):
        length = len_kv if lens is None else lens[b]
        for h in range(heads_kv):
            heads = slice(h * group, (h + 1) * group)
            q1, k1, v1 = (
                x.double()
                for x in (
                    q[b : b + 1, :, heads],
                    k[b : b + 1, :length, h, None],
                    v[b : b + 1, :length, h, None],
                )
            )
            out[b, :, heads], lse[b, heads] = (
                x[0] for x in naive_attention(q1, k1, v1, causal=causal, softmax_scale=scale)
            )
            out_size[b, :, heads] = naive_attention(
                q1, k1, v1.abs(), causal=causal, softmax_scale=scale
            )[0][0]
            factor = 1 / math.sqrt(head_dim) if scale is None else abs(scale)
            largest = (
                factor * q1.norm(dim=-1).amax() * k1.norm(dim=-1).amax()
                if length and len_q
                else 0.0
            )
            in_float32 = eps32 * (8 + 2 * largest + math.sqrt(length))
            out_budget[b, :, heads] = out_size[b, :, heads] * (
                torch.finfo(q.dtype).eps + in_float32
            )
            if q.dtype == torch.float16 and length:
                out_budget[b, :, heads] += length * 2.0**-25 * v1.abs().amax()
            lse_budget[b, heads] = in_float32 + eps32 * lse[b, heads].abs().nan_to_num(posinf=0)
    return Expected(out, lse, out_size, out_budget, lse_budget)


@dataclass(frozen=True)
class Errors:
    """Largest errors: absolute, relative to `sum_j weight_j |v_j|`, and as a share of the budget (at most 1)."""

    out_abs: float
    out_rel: float
    out_share: float
    lse_abs: float
    lse_share: float


def measure(out: torch.Tensor, lse: torch.Tensor | None, expected: Expected) -> Errors:
    """How far `out` and `lse` are from the oracle; NaN, or an empty row that is not exactly 0 and -inf, is inf."""
    error = (out.double() - expected.out).abs().nan_to_num(nan=math.inf)
    of_out = tuple(
        _largest(_ratio(error, size)) for size in (1.0, expected.out_size, expected.out_budget)
    )
    if lse is None:
        return Errors(*of_out, 0.0, 0.0)
    both_empty = (expected.lse == float("-inf")) & (lse == float("-inf"))
    error = torch.where(both_empty, 0.0, (lse.double() - expected.lse).abs()).nan_to_num(
        nan=math.inf
    )
    return Errors(*of_out, _largest(error), _largest(_ratio(error, expected.lse_budget)))


def _ratio(error: torch.Tensor, size: torch.Tensor | float) -> torch.Tensor:
    # No error is none, also where nothing is allowed.
    return torch.where(error == 0, 0.0, error / size)


def _largest(x: torch.Tensor) -> float:
    return x.max().item() if x.numel() else 0.0


def assert_close(
    out: torch.Tensor, lse: torch.Tensor | None, expected: Expected, what: object = ""
) -> None:
    """Raise unless shapes fit and every element is within its budget; say where the worst one is."""
    assert out.shape == expected.out.shape, f"{what}: out has shape {tuple(out.shape)}"
    if lse is not None:
        assert lse.dtype == torch.float32 and lse.shape == expected.lse.shape, (
            f"{what}: lse {lse.dtype} {lse.shape}"
        )
    errors = measure(out, lse, expected)
    if errors.out_share > 1:
        share = ((out.double() - expected.out).abs() / expected.out_budget).nan_to_num(nan=math.inf)
        at = tuple(i.item() for i in torch.unravel_index(share.argmax(), share.shape))
        raise AssertionError(f"{what}: out{at} is {out[at]}, takes {expected.out[at]}; {errors}")
    assert errors.lse_share <= 1, f"{what}: {errors}"
