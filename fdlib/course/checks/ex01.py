"""Checks of exercise 01."""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.checks.inputs import (
    CACHE_AXES,
    LSE_AXES,
    OUT_AXES,
    call,
    describe,
    far_apart,
    oracle,
    random_qkv,
    unchanged,
)
from fdlib.course.expect.check import Check, CheckContext
from fdlib.course.expect.compare import Mismatch, expect_close, expect_equal

if TYPE_CHECKING:
    import torch

__all__ = ["CHECKS"]

# What a learner may take for minus infinity lies between these: -1000, -1e4, -1e9.
_FAR = (-2e4, -3e9)
# Two roundings of bfloat16, 2**-8 each: of a score near 5, and of its weight.
_BFLOAT16_TOL = 4e-2


def _expect_attention(
    module: ModuleType,
    context: CheckContext,
    *,
    causal: bool = False,
    tol: float | None = None,
    both_signs: bool = False,
    far: float = 0.0,
    **sizes: Any,
) -> None:
    import torch

    generator = context.generator()
    q, k, v = random_qkv(generator, **sizes)
    rows = "bfloat16" if q.dtype == torch.bfloat16 else ""
    if both_signs:  # one maximum for all rows would not do
        q[:, 1::2, :, 0].neg_()
        rows = "rows near 200 and rows near -200"
    if far:
        rows = far_apart(q, k, far, torch.randperm(k.shape[1], generator=generator))
    case = describe(q, k, "causal" if causal else "", rows)
    with unchanged(case, q=q, k=k, v=v):
        out, lse = call(module, "attention", q, k, v, causal=causal)
    want_out, want_lse = oracle(q, k, v, causal=causal)
    if isinstance(lse, torch.Tensor) and lse.dtype == q.dtype:
        want_lse = want_lse.to(q.dtype)  # of bfloat16 inputs; float32 is as good
    expect_close(lse, want_lse, what="lse", case=case, axes=LSE_AXES, atol=tol, rtol=tol)
    expect_close(out, want_out, what="out", case=case, axes=OUT_AXES, atol=tol, rtol=tol)


def _one_key(module: ModuleType, context: CheckContext) -> None:
    _expect_attention(module, context, batch=2, len_q=5, len_kv=1, heads_q=3, head_dim=20)


def _all_keys(module: ModuleType, context: CheckContext) -> None:
    sizes: dict[str, Any]
    _expect_attention(module, context, batch=2, len_q=5, len_kv=33, heads_q=3)
    _expect_attention(module, context, batch=3, len_q=1, len_kv=64, heads_q=2, packed=True)
    _expect_attention(module, context, batch=1, len_q=9, len_kv=4, heads_q=5, head_dim=24)
    sizes = {"batch": 2, "len_q": 4, "len_kv": 19, "heads_q": 3, "head_dim": 32}
    _expect_attention(module, context, dtype="bfloat16", tol=_BFLOAT16_TOL, **sizes)


def _large_scores(module: ModuleType, context: CheckContext) -> None:
    for level in (200, -200):
        sizes: dict[str, Any] = {"batch": 2, "len_q": 3, "len_kv": 21, "heads_q": 4, "level": level}
        _expect_attention(module, context, tol=2e-4, **sizes)
    sizes = {"batch": 2, "len_q": 4, "len_kv": 9, "heads_q": 3, "level": 200}
    _expect_attention(module, context, tol=2e-4, both_signs=True, **sizes)
    for far in _FAR:
        sizes = {"batch": 1, "len_q": 2, "len_kv": 11, "heads_q": 2, "far": far}
        _expect_attention(module, context, **sizes)


def _causal(module: ModuleType, context: CheckContext) -> None:
    for len_q, len_kv in ((7, 7), (3, 17), (1, 6)):
        sizes: dict[str, Any] = {"batch": 2, "len_q": len_q, "len_kv": len_kv, "heads_q": 3}
        _expect_attention(module, context, causal=True, **sizes)
    sizes = {"batch": 1, "len_q": 5, "len_kv": 12, "heads_q": 2, "level": -200}
    _expect_attention(module, context, causal=True, tol=2e-4, **sizes)
    for far in _FAR:
        sizes = {"batch": 1, "len_q": 8, "len_kv": 8, "heads_q": 2, "far": far}
        _expect_attention(module, context, causal=True, **sizes)


def _decode_case(
    context: CheckContext, used: int, *, spare: int = 4, **sizes: Any
) -> tuple[dict[str, torch.Tensor], str]:
    """The arguments of one decoding step; NaN stands in the caches behind the `used` positions."""
    sizes = {"batch": 3, "len_q": 1, "len_kv": used + spare, "heads_q": 2, **sizes}
    q, k, v = random_qkv(context.generator(), **sizes)
    new = {"q": q, "k_new": k[:, used : used + 1].clone(), "v_new": v[:, used : used + 1].clone()}
    k[:, used:], v[:, used:] = math.nan, math.nan
    case = describe(q, k, f"length {used} before the step, NaN in the rest of the cache")
    return {**new, "k_cache": k, "v_cache": v}, case


def _after_the_step(args: dict[str, torch.Tensor], name: str, used: int) -> torch.Tensor:
    cache = args[f"{name}_cache"].clone()
    cache[:, used] = args[f"{name}_new"][:, 0]
    return cache


def _cache_write(module: ModuleType, context: CheckContext) -> None:
    for used, spare in ((0, 4), (9, 4), (6, 1)):
        args, case = _decode_case(context, used, spare=spare, head_dim=16 + used)
        want = {name: _after_the_step(args, name, used) for name in ("k", "v")}
        returns = ("out", "lse", "length")
        _, _, length = call(module, "decode_step", *args.values(), used, returns=returns)
        expect_equal(length, used + 1, what="the returned length", case=case)
        for name, cache in want.items():
            got = args[f"{name}_cache"]
            if got[:, used:].isnan().all():  # what went elsewhere is compared below
                raise Mismatch(
                    f"Nothing was written into {name}_cache at position {used}, for {case}. "
                    "The step has to change the tensor that it got, in place."
                )
            what = f"{name}_cache, where only position {used} must change,"
            expect_close(got, cache, what=what, case=case, axes=CACHE_AXES)


def _decode(module: ModuleType, context: CheckContext) -> None:
    for used, spare, head_dim, level in (
        *((0, 4, 16, 0), (1, 4, 32, 0), (13, 4, 24, 0)),
        *((12, 1, 64, 0), (0, 1, 8, 0), (9, 3, 16, 200), (9, 3, 16, -200)),
    ):
        args, case = _decode_case(context, used, spare=spare, head_dim=head_dim, level=level)
        keys, values = (_after_the_step(args, name, used)[:, : used + 1] for name in ("k", "v"))
        want_out, want_lse = oracle(args["q"], keys, values)
        with unchanged(case, q=args["q"], k_new=args["k_new"], v_new=args["v_new"]):
            returns = ("out", "lse", "length")
            out, lse, _ = call(module, "decode_step", *args.values(), used, returns=returns)
        tol = 2e-4 if level else None
        expect_close(lse, want_lse, what="lse", case=case, axes=LSE_AXES, atol=tol, rtol=tol)
        expect_close(out, want_out, what="out", case=case, axes=OUT_AXES, atol=tol, rtol=tol)


CHECKS = (
    Check(
        "one-key",
        "With one key, lse is the scaled score and out is its value.",
        1,
        _one_key,
        read="The formula",
    ),
    Check(
        "all-keys",
        "out and lse are right where every query sees every key.",
        2,
        _all_keys,
        read="The formula",
    ),
    Check(
        "large-scores",
        "Scores near 200 and near -200 neither overflow nor vanish.",
        1,
        _large_scores,
        read="Four pieces of PyTorch",
    ),
    Check(
        "causal",
        "With causal=True no query sees a key that comes after it.",
        2,
        _causal,
        read="Many queries: the causal mask",
        region="hide the keys that come after each query",
    ),
    Check(
        "cache-write",
        "A step writes the new key and value into the caches in place.",
        2,
        _cache_write,
        read="Never compute the past twice: the KV cache",
        region="append to the cache and attend to the part in use",
    ),
    Check(
        "decode",
        "A step attends to every token so far, the new one included.",
        2,
        _decode,
        read="Never compute the past twice: the KV cache",
        region="append to the cache and attend to the part in use",
    ),
)
