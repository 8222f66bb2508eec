"""Checks of exercise 03."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.checks.guards import expect_written, unwritten_memory
from fdlib.course.checks.inputs import (
    LSE_AXES,
    OUT_AXES,
    call,
    describe,
    far_apart,
    nan_behind,
    oracle,
    random_qkv,
    unchanged,
)
from fdlib.course.expect.check import Check, CheckContext, Compilation
from fdlib.course.expect.compare import expect_close
from fdlib.course.expect.watched import watched
from fdlib.device import interpreting, kernel_device

if TYPE_CHECKING:
    import torch

    # Changes q, k and v in place, has an order of the keys to do it by, and returns words for the case.
    Change = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], str]

__all__ = ["CHECKS", "COMPILES"]

# What a learner may take for minus infinity lies between these: -1000, -1e4, -1e9.
_FAR = (-2e4, -3e9)
# exp(x / 4) is 0.5105, nearly in the middle of two float16 numbers, and is rounded up.
_ROUNDED_UP = -2.689453125


def _expect_attention(
    module: ModuleType,
    context: CheckContext,
    *,
    causal: bool = False,
    blocks: tuple[int, int] = (32, 32),
    tol: float | None = None,
    change: Change | None = None,
    **sizes: Any,
) -> None:
    import torch

    generator = context.generator()
    q, k, v = random_qkv(generator, device=kernel_device(), **sizes)
    changed = change(q, k, v, torch.randperm(k.shape[1], generator=generator)) if change else ""
    dtype = str(q.dtype).removeprefix("torch.")
    behind = nan_behind(k, blocks[1])
    shown_blocks = "blocks of {} by {}".format(*blocks)
    case = describe(q, k, dtype, "causal" if causal else "", changed, shown_blocks)
    with unchanged(case, q=q, k=k, v=v), unwritten_memory(case):
        block_m, block_n = blocks
        out, lse = call(
            module, "flash_attention", q, k, v, causal=causal, block_m=block_m, block_n=block_n
        )
    for name, got, axes in (("out", out, OUT_AXES), ("lse", lse, LSE_AXES)):
        expect_written(got, what=name, case=case, axes=axes)
    want_out, want_lse = oracle(q, k, v, causal=causal)
    for name, got, want, axes in (
        ("lse", lse, want_lse, LSE_AXES),
        ("out", out, want_out, OUT_AXES),
    ):
        expect_close(got, want, what=name, case=case, axes=axes, atol=tol, rtol=tol, if_nan=behind)


def _far(level: float) -> Change:
    return lambda q, k, v, order: far_apart(q, k, level, order.to(k.device))


def _large_sums(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, order: torch.Tensor) -> str:
    """Equal weights, v in the thousands: out is their mean, acc their sum."""
    q.zero_()
    v.abs_().mul_(4000)
    return ""


def _equal_weights(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, order: torch.Tensor) -> str:
    """One key has the score 0, all others have one weight, which float16 rounds up. For D 16."""
    q.zero_()
    q[..., 0] = 1
    k.zero_()
    k[:, 1:, :, 0] = _ROUNDED_UP
    return "all keys but one with the same score"


def _one_block(module: ModuleType, context: CheckContext) -> None:
    # As many queries as keys would hide a reduction over the wrong axis.
    sizes: dict[str, Any] = {"batch": 2, "len_q": 16, "len_kv": 32, "heads_q": 3}
    _expect_attention(module, context, blocks=(16, 32), **sizes)
    _expect_attention(module, context, blocks=(16, 32), packed=True, **sizes)


def _tail(module: ModuleType, context: CheckContext) -> None:
    for len_q, len_kv in ((1, 1), (5, 15), (17, 7)):
        sizes: dict[str, Any] = {"batch": 2, "len_q": len_q, "len_kv": len_kv, "heads_q": 2}
        _expect_attention(module, context, blocks=(16, 16), **sizes)


def _many_blocks(module: ModuleType, context: CheckContext) -> None:
    for len_q, len_kv in ((35, 64), (16, 17), (9, 53)):
        sizes: dict[str, Any] = {"batch": 2, "len_q": len_q, "len_kv": len_kv, "heads_q": 2}
        _expect_attention(module, context, blocks=(16, 16), **sizes)
    sizes = {"batch": 1, "len_q": 20, "len_kv": 70, "heads_q": 2, "head_dim": 64}
    _expect_attention(module, context, blocks=(16, 32), **sizes)


def _large_scores(module: ModuleType, context: CheckContext) -> None:
    # Full blocks first: rows or keys past the end have a score of 0, which is a maximum near -200.
    for level, len_q, len_kv in ((200, 5, 45), (-200, 16, 48), (-200, 5, 48), (-200, 5, 45)):
        sizes: dict[str, Any] = {"batch": 2, "len_q": len_q, "len_kv": len_kv, "heads_q": 2}
        _expect_attention(module, context, blocks=(16, 16), tol=2e-4, level=level, **sizes)
    sizes = {"batch": 1, "len_q": 5, "len_kv": 40, "heads_q": 2, "level": 100, "falling": True}
    _expect_attention(module, context, blocks=(16, 16), tol=2e-4, **sizes)
    for far in _FAR:
        sizes = {"batch": 1, "len_q": 5, "len_kv": 20, "heads_q": 2, "change": _far(far)}
        _expect_attention(module, context, blocks=(16, 16), **sizes)


def _causal(module: ModuleType, context: CheckContext) -> None:
    for len_q, len_kv in ((40, 40), (19, 50), (1, 33)):
        sizes: dict[str, Any] = {"batch": 1, "len_q": len_q, "len_kv": len_kv, "heads_q": 3}
        _expect_attention(module, context, causal=True, blocks=(16, 16), **sizes)
    sizes = {"batch": 2, "len_q": 7, "len_kv": 20, "heads_q": 2, "level": -200}
    _expect_attention(module, context, causal=True, blocks=(16, 16), tol=2e-4, **sizes)
    for len_q, len_kv, blocks in ((40, 52, (32, 16)), (37, 45, (16, 32)), (33, 33, (16, 64))):
        sizes = {"batch": 1, "len_q": len_q, "len_kv": len_kv, "heads_q": 2}
        _expect_attention(module, context, causal=True, blocks=blocks, **sizes)
    for far in _FAR:
        sizes = {"batch": 1, "len_q": 18, "len_kv": 18, "heads_q": 2, "change": _far(far)}
        _expect_attention(module, context, causal=True, blocks=(16, 16), **sizes)


def _empty_rows(module: ModuleType, context: CheckContext) -> None:
    for len_q, len_kv, causal in ((41, 23, True), (3, 0, False)):
        sizes: dict[str, Any] = {"batch": 2, "len_q": len_q, "len_kv": len_kv, "heads_q": 2}
        _expect_attention(module, context, causal=causal, blocks=(16, 16), **sizes)


def _float16(module: ModuleType, context: CheckContext) -> None:
    sizes: dict[str, Any] = {"batch": 2, "len_q": 6, "len_kv": 90, "heads_q": 3, "dtype": "float16"}
    _expect_attention(module, context, causal=True, **sizes)
    # Scores near 60, rounded to float16, are off by up to 1/64.
    _expect_attention(module, context, causal=True, level=60, **sizes)
    # acc passes 65504, the largest float16; out does not.
    _expect_attention(module, context, change=_large_sums, **sizes)
    # A weight that is rounded before it is summed moves the LSE by 4.6e-4.
    _expect_attention(module, context, change=_equal_weights, **sizes)
    if not interpreting():  # the interpreter computes with bfloat16's bits as if they were integers
        _expect_attention(module, context, causal=True, **{**sizes, "dtype": "bfloat16"})


CHECKS = watched(
    Check(
        "one-block",
        "One full block of keys: scores, weights, output and LSE.",
        2,
        _one_block,
        read="I see this error",
    ),
    Check(
        "tail",
        "A last block that is not full: nothing past the last key counts.",
        1,
        _tail,
        read="Pointers, `tl.arange`, masks",
    ),
    Check(
        "many-blocks",
        "Several blocks of keys, the largest score in a late one.",
        2,
        _many_blocks,
        read="Tiling: the loop of notebook 02, with tiles",
        region="the online softmax update",
    ),
    Check(
        "large-scores",
        "Scores near 200 and near -200 neither overflow nor vanish.",
        1,
        _large_scores,
        read="02: Why a maximum is needed: overflow",
    ),
    Check(
        "causal",
        "With causal=True no query sees a key that comes after it.",
        1,
        _causal,
        read="01: Many queries: the causal mask",
        region="the scores of this block, with the hidden ones at -inf",
    ),
    Check(
        "empty-rows",
        "A query that sees no key gives 0 and -inf.",
        1,
        _empty_rows,
        read="02: Rows that see no key",
    ),
    Check(
        "float16",
        "With float16 inputs the running state stays float32.",
        1,
        _float16,
        read="Reductions, `exp`, `log`, casts",
        region="the online softmax update",
    ),
)


def _launch(module: ModuleType, dtype: str, causal: bool) -> None:
    import torch

    q = torch.empty(2, 100, 4, 64, dtype=getattr(torch, dtype))
    call(module, "flash_attention", q, q.clone(), q.clone(), causal=causal)


COMPILES = (
    Compilation("float16, D 64, causal", lambda module: _launch(module, "float16", True)),
    Compilation("float32, D 64", lambda module: _launch(module, "float32", False), ieee=True),
)
