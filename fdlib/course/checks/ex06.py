"""Checks of exercise 06: merging two parts, combining any number, and Flash-Decoding complete."""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.checks.ex06_merge import Parts, merge, merge_extremes
from fdlib.course.checks.guards import Work, at_work, expect_written, unwritten_memory
from fdlib.course.checks.inputs import (
    LSE_AXES,
    OUT_AXES,
    call,
    describe,
    in_nan,
    oracle,
    random_qkv,
    unchanged,
)
from fdlib.course.expect.check import Check, CheckContext, Compilation
from fdlib.course.expect.compare import Mismatch, expect_close
from fdlib.course.expect.watched import watched
from fdlib.device import kernel_device
from fdlib.plan import split_ranges

if TYPE_CHECKING:
    import torch

__all__ = ["CHECKS", "COMPILES"]


def _parts(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, num_splits: int, *, block_n: int = 16
) -> Parts:
    """Naive attention over each split's own keys: (S, B, 1, H, D) and (S, B, H, 1), float32."""
    import torch

    ranges = split_ranges(k.shape[1], num_splits, block_n)
    parts = [oracle(q.float(), k[:, start:end], v[:, start:end]) for start, end in ranges]
    out, lse = (torch.stack(x).to(kernel_device()) for x in zip(*parts, strict=True))
    return out, lse


def _expect_combined(
    module: ModuleType, parts: Parts, want: Parts, case: str, tol: float | None = None
) -> None:
    """Combine parts that lie in larger tensors full of NaN, so that one split too many shows."""
    out_partial, lse_partial = in_nan(parts[0], (9, 1, 0, 2, 8)), in_nan(parts[1], (9, 2, 1, 3))
    with (
        unchanged(case, out_partial=out_partial, lse_partial=lse_partial),
        unwritten_memory(case),
        at_work(module, "combine_kernel") as work,
    ):
        out, lse = call(module, "combine", out_partial, lse_partial)
    expect_written(lse, what="lse", case=case, axes=LSE_AXES)
    expect_written(out, what="out", case=case, axes=OUT_AXES)
    expect_close(lse, want[1], what="lse", case=case, axes=LSE_AXES, atol=tol, rtol=tol)
    expect_close(out, want[0], what="out", case=case, axes=OUT_AXES, atol=tol, rtol=tol)
    _expect_combining(work, len(out_partial), case, out, lse)


def _expect_combining(work: Work, num_splits: int, case: str, out: Any, lse: Any) -> None:
    """`Mismatch` unless the learner's kernel was given all parts and wrote what came back."""
    if not work.launches:
        raise Mismatch(
            f"combine_kernel was never launched, for {case}. Merge the parts with your kernel: combine launches it."
        )
    if work.parts < num_splits:
        raise Mismatch(
            f"combine_kernel was given {work.parts} of the {num_splits} parts, for {case}. Have as many parts made as "
            "num_splits says, and let the kernel merge all of them."
        )
    work.expect_of(case, lse=lse, out=out)


def _combine(module: ModuleType, context: CheckContext) -> None:
    generator = context.generator()
    for num_splits, heads, dim in ((4, 3, 16), (1, 2, 16), (3, 5, 128), (6, 2, 32), (9, 3, 16)):
        sizes: dict[str, Any] = {"batch": 2, "len_q": 1, "len_kv": 163, "heads_q": heads}
        q, k, v = random_qkv(generator, head_dim=dim, **sizes)
        case = f"{num_splits} splits of unequal size, B 2, H {heads}, D {dim}"
        _expect_combined(module, _parts(q, k, v, num_splits), oracle(q, k, v), case)


def _combine_extremes(module: ModuleType, context: CheckContext) -> None:
    import torch

    generator = context.generator()
    for level in (200.0, -200.0):
        sizes: dict[str, Any] = {"batch": 2, "len_q": 1, "len_kv": 80, "heads_q": 3, "level": level}
        q, k, v = random_qkv(generator, **sizes)
        case = f"5 splits, LSEs near {level:g}"
        _expect_combined(module, _parts(q, k, v, 5), oracle(q, k, v), case, tol=2e-4)
    out, lse = _parts(q, k, v, 5)
    lse[1:] += 400
    want_out, want_lse = oracle(q, k[:, 16:], v[:, 16:])
    case = "5 splits, LSEs near -200 in the first and near 200 in the others"
    _expect_combined(module, (out, lse), (want_out, want_lse + 400), case, tol=2e-4)
    q, k, v = random_qkv(generator, batch=2, len_q=1, len_kv=35, heads_q=3)
    case = "7 splits of which 4 have no keys"
    _expect_combined(module, _parts(q, k, v, 7), oracle(q, k, v), case)
    out, lse = _parts(q, k, v, 5)
    want = oracle(q, k, v)
    out[:, 1, :, 2], lse[:, 1, 2] = 0.0, -math.inf
    want[0][1, :, 2], want[1][1, 2] = 0.0, -math.inf
    case = "5 splits, none of which has keys for batch 1, head 2"
    _expect_combined(module, (out, lse), want, case)
    nothing = torch.zeros_like(out[:3]), torch.full_like(lse[:3], -math.inf)
    want = torch.zeros_like(want[0]), torch.full_like(want[1], -math.inf)
    _expect_combined(module, nothing, want, "3 splits, all without keys")


def _flash_decode(module: ModuleType, context: CheckContext) -> None:
    generator = context.generator()
    for dtype, len_kv, num_splits, head_dim in (
        ("float32", 300, 3, 16),
        ("float16", 70, 5, 64),
        ("bfloat16", 90, 2, 128),
        ("float32", 1, 2, 16),
    ):
        sizes: dict[str, Any] = {"batch": 2, "len_q": 1, "heads_q": 6, "heads_kv": 2}
        sizes |= {"dtype": dtype, "len_kv": len_kv, "head_dim": head_dim}
        q, k, v = random_qkv(generator, device=kernel_device(), **sizes)
        case = describe(q, k, dtype, f"{num_splits} splits")
        with (
            unchanged(case, q=q, k=k, v=v),
            unwritten_memory(case),
            at_work(module, "combine_kernel") as work,
        ):
            out, lse = call(module, "flash_decode", q, k, v, num_splits)
        want_out, want_lse = oracle(q, k, v)
        expect_close(lse, want_lse, what="lse", case=case, axes=LSE_AXES)
        expect_close(out, want_out, what="out", case=case, axes=OUT_AXES)
        _expect_combining(work, num_splits, case, out, lse)


def _own_split_kv(module: ModuleType, context: CheckContext) -> None:
    sizes: dict[str, Any] = {"batch": 3, "len_q": 1, "len_kv": 90, "heads_q": 4, "dtype": "float16"}
    q, k, v = random_qkv(context.generator(), device=kernel_device(), **sizes)
    counts = []

    def split_kv(q: Any, k: Any, v: Any, num_splits: Any) -> Parts:
        counts.append(num_splits)
        return _parts(q, k, v, num_splits)

    case = describe(q, k, "float16", "5 splits, split_kv passed in")
    with unwritten_memory(case), at_work(module, "combine_kernel") as work:
        out, lse = call(module, "flash_decode", q, k, v, 5, split_kv=split_kv)
    if counts != [5]:
        got = f"was called once each with num_splits {counts}" if counts else "was never called"
        raise Mismatch(
            f"The split_kv given to flash_decode {got}, for {case}; "
            "expected one call, split_kv(q, k, v, 5)."
        )
    want_out, want_lse = oracle(q, k, v)
    expect_close(lse, want_lse, what="lse", case=case, axes=LSE_AXES)
    # A right answer is off by one unit in the last place. Parts that are rounded before they are
    # combined are off by more where they nearly cancel.
    expect_close(out, want_out, what="out", case=case, axes=OUT_AXES, rtol=6e-4, atol=1e-5)
    _expect_combining(work, 5, case, out, lse)


CHECKS = watched(
    Check(
        "merge",
        "Two parts merge into attention over the keys of both.",
        2,
        merge,
        read="The derivation, step by step",
        region="the merge of two parts",
    ),
    Check(
        "merge-extremes",
        "Merging survives large LSEs and parts without keys.",
        2,
        merge_extremes,
        read="What can go wrong",
        region="the merge of two parts",
    ),
    Check(
        "combine",
        "The kernel combines any number of parts.",
        2,
        _combine,
        read="The Triton that exercise 06 needs",
    ),
    Check(
        "combine-extremes",
        "The kernel survives large LSEs and parts without keys.",
        1,
        _combine_extremes,
        read="The Triton that exercise 06 needs",
    ),
    Check(
        "flash-decode",
        "Splitting and combining equals attention over all keys.",
        1,
        _flash_decode,
        read="The complete Flash-Decoding",
        region="split, then combine",
    ),
    Check(
        "own-split-kv",
        "flash_decode works with another split_kv, and rounds to float16 only at the end.",
        1,
        _own_split_kv,
        read="The complete Flash-Decoding",
        region="split, then combine",
    ),
)


def _launch(module: ModuleType, dtype: str, num_splits: int) -> None:
    import torch

    batch, heads = (1, 1) if num_splits == 1 else (2, 8)
    parts = (
        torch.empty(num_splits, batch, 1, heads, 128),
        torch.empty(num_splits, batch, heads, 1),
    )
    call(module, "combine", *parts, getattr(torch, dtype))


# Triton compiles an argument of 1 as the number 1, which is no tensor in the kernel.
COMPILES = (
    Compilation("8 splits, D 128, float16 out", lambda module: _launch(module, "float16", 8)),
    Compilation(
        "1 split, 1 head, D 128, float32 out", lambda module: _launch(module, "float32", 1)
    ),
)
