"""Checks of exercise 06 that are about merging two parts, in torch."""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.checks.inputs import call, oracle, random_qkv, unchanged
from fdlib.course.expect.check import CheckContext
from fdlib.course.expect.compare import Mismatch, expect_close

if TYPE_CHECKING:
    import torch

__all__ = ["Parts", "merge", "merge_extremes"]

Parts = tuple["torch.Tensor", "torch.Tensor"]  # out and lse
_AXES: dict[int, tuple[str, ...]] = {  # of out, by how many axes lse has
    1: ("row", "dim"),
    2: ("head", "batch", "dim"),
    3: ("head", "batch", "query", "dim"),
    4: ("layer", "head", "batch", "query", "dim"),
}


def _expect_merge(
    module: ModuleType, case: str, a: Parts, b: Parts, want: Parts, tol: float | None = None
) -> None:
    (out_a, lse_a), (out_b, lse_b) = a, b
    with unchanged(case, out_a=out_a, lse_a=lse_a, out_b=out_b, lse_b=lse_b):
        out, lse = call(module, "merge", out_a, lse_a, out_b, lse_b)
    axes = _AXES[lse_a.ndim]
    expect_close(lse, want[1], what="lse", case=case, axes=axes[:-1], atol=tol, rtol=tol)
    expect_close(out, want[0], what="out", case=case, axes=axes, atol=tol, rtol=tol)


def _merge_inputs(
    context: CheckContext, len_kv: int, level: float, head_dim: int = 16
) -> tuple[Parts, Parts, Parts]:
    """Two parts and their whole, as (H, B, D) and (H, B): the parts hold 16 and len_kv - 16 keys."""
    sizes: dict[str, Any] = {"batch": 2, "len_q": 1, "heads_q": 5, "level": level}
    sizes["head_dim"] = head_dim
    q, k, v = random_qkv(context.generator(), len_kv=len_kv, **sizes)
    pieces = [(0, 16), (16, len_kv), (0, len_kv)]
    parts = [oracle(q, k[:, start:end], v[:, start:end]) for start, end in pieces]
    a, b, whole = ((out[:, 0].transpose(0, 1), lse[:, :, 0].T) for out, lse in parts)
    return a, b, whole


def merge(module: ModuleType, context: CheckContext) -> None:
    """Two parts of unequal size, in both orders, and with one to four axes before D."""
    for len_kv in (17, 90):
        a, b, whole = _merge_inputs(context, len_kv, 0.0)
        case = f"H 5, B 2, D 16, parts of 16 and {len_kv - 16} keys"
        _expect_merge(module, case, a, b, whole)
        _expect_merge(module, case + ", the larger part first", b, a, whole)
    for leading in ((5, 2, 1), (10,), (1, 5, 1, 2)):
        _expect_merge_of(module, leading, *_merge_inputs(context, 40, 0.0, head_dim=64))


def _expect_merge_of(
    module: ModuleType, leading: tuple[int, ...], a: Parts, b: Parts, whole: Parts
) -> None:
    """The same parts with other axes before D; what the learner's code raises then is explained."""
    a, b, whole = (
        (out.reshape(*leading, out.shape[-1]), lse.reshape(leading)) for out, lse in (a, b, whole)
    )
    case = f"out {tuple(a[0].shape)}, lse {leading}"
    try:
        _expect_merge(module, case, a, b, whole)
    except (IndexError, RuntimeError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise Mismatch(
            f"merge raises {type(error).__name__} for {case}: {first}\n"
            "The two parts may have any number of axes before the last one."
        ) from error


def merge_extremes(module: ModuleType, context: CheckContext) -> None:
    """LSEs far from 0 and far apart, and parts without keys."""
    import torch

    for level in (200.0, -200.0):
        a, b, whole = _merge_inputs(context, 50, level)
        _expect_merge(module, f"LSEs near {level:g}", a, b, whole, tol=2e-4)
        far_out, far_lse = torch.full_like(a[0], 7.0), a[1] - 300
        case = f"LSEs near {level:g} and {level - 300:g}"
        _expect_merge(module, case, a, (far_out, far_lse), a)
        nothing = torch.zeros_like(a[0]), torch.full_like(a[1], -math.inf)
        case = f"a part without keys and one with LSEs near {level:g}"
        _expect_merge(module, case, nothing, a, a)
        _expect_merge(module, case + ", exchanged", a, nothing, a)
    _expect_merge(module, "two parts without keys", nothing, nothing, nothing)
    some, other, want = (
        (torch.cat([x[0], y[0], z[0]]), torch.cat([x[1], y[1], z[1]]))
        for x, y, z in (
            (_heads(nothing, 0, 1), _heads(nothing, 1, 2), _heads(a, 2, 5)),
            (_heads(b, 0, 1), _heads(nothing, 1, 2), _heads(b, 2, 5)),
            (_heads(b, 0, 1), _heads(nothing, 1, 2), _heads(whole, 2, 5)),
        )
    )
    case = "parts of which one has no keys for head 0, and neither for head 1"
    _expect_merge(module, case, some, other, want, tol=2e-4)


def _heads(part: Parts, start: int, end: int) -> Parts:
    return part[0][start:end], part[1][start:end]
