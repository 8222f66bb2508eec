"""Checks of exercise 01, and the inputs that the checks after it use too."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.checks import Check, CheckContext
from fdlib.course.compare import Mismatch, expect_close, expect_equal

if TYPE_CHECKING:
    import torch

__all__ = ["CHECKS", "LSE_AXES", "OUT_AXES", "call", "describe", "in_nan", "oracle"]
__all__ += ["random_qkv", "unchanged"]

OUT_AXES = ("batch", "query", "head", "dim")
LSE_AXES = ("batch", "head", "query")
CACHE_AXES = ("batch", "position", "head", "dim")
# NaN lies behind the last key, head and sequence, as far as a plausible wrong index reaches.
_MORE_KEYS, _MORE_SEQUENCES = 64, 4


def call(
    module: ModuleType, name: str, *args: Any, returns: tuple[str, ...] = ("out", "lse"), **kw: Any
) -> tuple[Any, ...]:
    """What the learner's function returned; `Mismatch` if it is gone or returned too few values."""
    function = getattr(module, name, None)
    if not callable(function):
        raise Mismatch(
            f"The function {name} is not there. Give it back the name that the exercise gave it."
        )
    values = function(*args, **kw)
    if not isinstance(values, (tuple, list)) or len(values) != len(returns):
        several = isinstance(values, (tuple, list))
        got = f"{len(values)} values" if several else type(values).__name__
        raise Mismatch(f"{name} returned {got}, expected {len(returns)}: {', '.join(returns)}.")
    return tuple(values)


def describe(q: torch.Tensor, k: torch.Tensor, *more: str) -> str:
    """The test case in one line, for a message."""
    (batch, len_q, heads_q, head_dim), (_, len_kv, heads_kv, _) = q.shape, k.shape
    heads = f"H {heads_q}" if heads_q == heads_kv else f"H_q {heads_q}, H_kv {heads_kv}"
    sizes = f"B {batch}, L_q {len_q}, L_kv {len_kv}, {heads}, D {head_dim}"
    return ", ".join([sizes, *filter(None, more)])


def random_qkv(
    generator: torch.Generator,
    *,
    batch: int,
    len_q: int,
    len_kv: int,
    heads_q: int,
    heads_kv: int = 0,
    head_dim: int = 16,
    level: float = 0.0,
    dtype: str = "float32",
    packed: bool = False,
    device: str = "cpu",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k and v with every stride different and NaN behind the last key.

    Each query has one key among the last third that beats all others, so the running maximum moves
    late. `level` is added to all scores. `packed` takes k and v out of one tensor (B, L, 2, H, D).
    """
    import torch

    heads_kv = heads_kv or heads_q
    q = torch.randn(batch, len_q, heads_q, head_dim, generator=generator)
    k, v = torch.randn(2, batch, len_kv, heads_kv, head_dim, generator=generator)
    if len_kv:
        late = len_kv - 1 - torch.arange(len_q) * 5 % max(1, len_kv // 3)
        direction = q[:, :, :: heads_q // heads_kv]
        k[:, late] = 5 * direction / direction.norm(dim=-1, keepdim=True)  # scores of about 5
    if level:
        q[..., 0], k[..., 0] = 8, level * math.sqrt(head_dim) / 8
    q, k, v = (x.to(device, getattr(torch, dtype)) for x in (q, k, v))
    q = q.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3)  # stored as (H, B, L, D)
    if packed:
        both = in_nan(torch.stack([k, v], dim=2), (_MORE_SEQUENCES, _MORE_KEYS, 0, 0, 0))
        return q, both[:, :, 0], both[:, :, 1]
    k = in_nan(k, (_MORE_SEQUENCES, _MORE_KEYS, 1, 0))
    v = in_nan(v.transpose(1, 2), (_MORE_SEQUENCES, 1, _MORE_KEYS, 16))  # stored as (B, H, L, D)
    return q, k, v.transpose(1, 2)


def in_nan(x: torch.Tensor, behind: tuple[int, ...]) -> torch.Tensor:
    """A view that equals `x`, in a tensor with `behind` more elements along each axis, all NaN."""
    larger = x.new_full([n + more for n, more in zip(x.shape, behind, strict=True)], math.nan)
    view = larger[tuple(slice(n) for n in x.shape)]
    view.copy_(x)
    return view


def oracle(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Naive attention in float64 on the CPU: out in q's dtype, lse in float32."""
    from fdlib.attention.naive import naive_attention

    out, lse = naive_attention(*(x.cpu().double() for x in (q, k, v)), causal=causal)
    return out.to(q.dtype), lse.float()


@contextlib.contextmanager
def unchanged(case: str, **tensors: torch.Tensor) -> Iterator[None]:
    """Raise `Mismatch` if the block changes one of these tensors."""
    import torch

    before = {name: tensor.clone() for name, tensor in tensors.items()}
    yield
    for name, tensor in tensors.items():
        if not torch.allclose(tensor, before[name], rtol=0, atol=0, equal_nan=True):
            raise Mismatch(f"{name} was changed in place, for {case}. It has to stay as it was.")


def _expect_attention(
    module: ModuleType,
    context: CheckContext,
    *,
    causal: bool = False,
    tol: float | None = None,
    **sizes: Any,
) -> None:
    q, k, v = random_qkv(context.generator(), **sizes)
    case = describe(q, k, "causal" if causal else "")
    with unchanged(case, q=q, k=k, v=v):
        out, lse = call(module, "attention", q, k, v, causal=causal)
    want_out, want_lse = oracle(q, k, v, causal=causal)
    expect_close(lse, want_lse, what="lse", case=case, axes=LSE_AXES, atol=tol, rtol=tol)
    expect_close(out, want_out, what="out", case=case, axes=OUT_AXES, atol=tol, rtol=tol)


def _one_key(module: ModuleType, context: CheckContext) -> None:
    _expect_attention(module, context, batch=2, len_q=5, len_kv=1, heads_q=3, head_dim=20)


def _all_keys(module: ModuleType, context: CheckContext) -> None:
    _expect_attention(module, context, batch=2, len_q=5, len_kv=33, heads_q=3)
    _expect_attention(module, context, batch=3, len_q=1, len_kv=64, heads_q=2, packed=True)
    _expect_attention(module, context, batch=1, len_q=9, len_kv=4, heads_q=5, head_dim=24)


def _large_scores(module: ModuleType, context: CheckContext) -> None:
    for level in (200, -200):
        sizes: dict[str, Any] = {"batch": 2, "len_q": 3, "len_kv": 21, "heads_q": 4, "level": level}
        _expect_attention(module, context, tol=2e-4, **sizes)


def _causal(module: ModuleType, context: CheckContext) -> None:
    for len_q, len_kv in ((7, 7), (3, 17), (1, 6)):
        sizes: dict[str, Any] = {"batch": 2, "len_q": len_q, "len_kv": len_kv, "heads_q": 3}
        _expect_attention(module, context, causal=True, **sizes)
    sizes = {"batch": 1, "len_q": 5, "len_kv": 12, "heads_q": 2, "level": -200}
    _expect_attention(module, context, causal=True, tol=2e-4, **sizes)


def _decode_case(context: CheckContext, used: int) -> tuple[dict[str, torch.Tensor], str]:
    """The arguments of one decoding step; NaN stands in the caches behind the `used` positions."""
    q, k, v = random_qkv(context.generator(), batch=3, len_q=1, len_kv=used + 4, heads_q=2)
    new = {"q": q, "k_new": k[:, used : used + 1].clone(), "v_new": v[:, used : used + 1].clone()}
    k[:, used:], v[:, used:] = math.nan, math.nan
    case = describe(q, k, f"length {used} before the step, NaN in the rest of the cache")
    return {**new, "k_cache": k, "v_cache": v}, case


def _after_the_step(args: dict[str, torch.Tensor], name: str, used: int) -> torch.Tensor:
    cache = args[f"{name}_cache"].clone()
    cache[:, used] = args[f"{name}_new"][:, 0]
    return cache


def _cache_write(module: ModuleType, context: CheckContext) -> None:
    for used in (0, 9):
        args, case = _decode_case(context, used)
        want = {name: _after_the_step(args, name, used) for name in ("k", "v")}
        returns = ("out", "lse", "length")
        _, _, length = call(module, "decode_step", *args.values(), used, returns=returns)
        expect_equal(length, used + 1, what="the returned length", case=case)
        for name, cache in want.items():
            got = args[f"{name}_cache"]
            if got[:, used].isnan().all():
                raise Mismatch(
                    f"Nothing was written into {name}_cache at position {used}, for {case}. "
                    "The step has to change the tensor that it got, in place."
                )
            what = f"{name}_cache, where only position {used} must change,"
            expect_close(got, cache, what=what, case=case, axes=CACHE_AXES)


def _decode(module: ModuleType, context: CheckContext) -> None:
    for used in (0, 1, 13):
        args, case = _decode_case(context, used)
        keys, values = (_after_the_step(args, name, used)[:, : used + 1] for name in ("k", "v"))
        want_out, want_lse = oracle(args["q"], keys, values)
        with unchanged(case, q=args["q"], k_new=args["k_new"], v_new=args["v_new"]):
            returns = ("out", "lse", "length")
            out, lse, _ = call(module, "decode_step", *args.values(), used, returns=returns)
        expect_close(lse, want_lse, what="lse", case=case, axes=LSE_AXES)
        expect_close(out, want_out, what="out", case=case, axes=OUT_AXES)


CHECKS = (
    Check("one-key", "With one key, lse is the scaled score and out is its value.", 1, _one_key),
    Check("all-keys", "out and lse are right where every query sees every key.", 2, _all_keys),
    Check(
        "large-scores",
        "Scores near 200 and near -200 neither overflow nor vanish.",
        1,
        _large_scores,
    ),
    Check("causal", "With causal=True no query sees a key that comes after it.", 2, _causal),
    Check(
        "cache-write",
        "A step writes the new key and value into the caches in place.",
        2,
        _cache_write,
    ),
    Check("decode", "A step attends to every token so far, the new one included.", 2, _decode),
)
