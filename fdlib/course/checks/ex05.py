"""Checks of exercise 05: each split against naive attention over the keys that it owns."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.checks.guards import Work, at_work, expect_written, unwritten_memory
from fdlib.course.checks.inputs import call, describe, nan_behind, oracle, random_qkv, unchanged
from fdlib.course.expect.check import Check, CheckContext, Compilation
from fdlib.course.expect.compare import Mismatch, expect_close
from fdlib.course.expect.watched import watched
from fdlib.device import kernel_device
from fdlib.plan import split_ranges

if TYPE_CHECKING:
    import torch

__all__ = ["CHECKS", "COMPILES"]

_OUT_AXES = ("split", "batch", "query", "head", "dim")
_LSE_AXES = ("split", "batch", "head", "query")


def _inputs(context: CheckContext, **sizes: Any) -> tuple[torch.Tensor, ...]:
    return random_qkv(context.generator(), len_q=1, device=kernel_device(), **sizes)


def _run(
    module: ModuleType, qkv: tuple[torch.Tensor, ...], num_splits: int, block_n: int
) -> tuple[str, Any, Any, Work]:
    """The case in words, what the learner's split_kv returned for it, and what the kernel did."""
    q, k, v = qkv
    dtype = str(q.dtype).removeprefix("torch.")
    splits = f"{num_splits} splits" if num_splits > 1 else "1 split"
    case = describe(q, k, dtype, splits, f"blocks of {block_n}")
    with (
        unchanged(case, q=q, k=k, v=v),
        unwritten_memory(case),
        at_work(module, "split_kernel") as work,
    ):
        returns = ("out_partial", "lse_partial")
        out, lse = call(module, "split_kv", q, k, v, num_splits, block_n, returns=returns)
    if not work.launches:
        raise Mismatch(
            f"split_kv never launched split_kernel, for {case}. The kernel has to compute the parts."
        )
    return case, out, lse, work


def _expect_splits(
    module: ModuleType,
    context: CheckContext,
    num_splits: int,
    *,
    block_n: int = 16,
    tol: float | None = None,
    **sizes: Any,
) -> None:
    import torch

    q, k, v = _inputs(context, **sizes)
    case, out, lse, work = _run(module, (q, k, v), num_splits, block_n)
    behind = nan_behind(k, block_n)
    ranges = split_ranges(k.shape[1], num_splits, block_n)
    parts = [oracle(q.float(), k[:, start:end], v[:, start:end]) for start, end in ranges]
    want_out, want_lse = (torch.stack(x).cpu() for x in zip(*parts, strict=True))
    _expect_both_written(out, lse, case, ranges)
    _expect_form(out, want_out, lse, want_lse, case)
    for split, (start, end) in enumerate(ranges):
        owned = f"which owns keys {start} to {end - 1}" if start < end else "which owns no keys"
        where = f"split {split} of {num_splits}, {owned}, for {case}" if num_splits > 1 else case
        for name, got, want, axes in (
            ("lse_partial", lse, want_lse, _LSE_AXES),
            ("out_partial", out, want_out, _OUT_AXES),
        ):
            expect_close(
                got[split],
                want[split],
                what=name,
                case=where,
                axes=axes[1:],
                atol=tol,
                rtol=tol,
                if_nan=behind,
            )
    work.expect_of(case, out_partial=out, lse_partial=lse)


def _expect_both_written(out: Any, lse: Any, case: str, ranges: list[tuple[int, int]]) -> None:
    """`Mismatch` if memory is left as it was; the splits that have keys are looked at first."""
    empty = [split for split, (start, end) in enumerate(ranges) if start == end]
    owning = [split for split in range(len(ranges)) if split not in empty]
    for splits, note in ((owning, ""), (empty, "; of these splits, none owns a key")):
        for name, got, axes in (
            ("out_partial", out, _OUT_AXES),
            ("lse_partial", lse, _LSE_AXES),
        ):
            if splits and len(got) == len(ranges):
                of = f" of split {', '.join(map(str, splits))}" if empty else ""
                expect_written(got[splits], what=f"{name}{of}", case=case + note, axes=axes)


def _expect_form(
    out: Any, want_out: torch.Tensor, lse: Any, want_lse: torch.Tensor, case: str
) -> None:
    """Shape and dtype of both, before they are compared split by split."""
    inf = float("inf")
    for name, got, want, axes in (
        ("out_partial", out, want_out, _OUT_AXES),
        ("lse_partial", lse, want_lse, _LSE_AXES),
    ):
        if getattr(got, "shape", None) != want.shape or got.dtype != want.dtype:
            expect_close(got, want, what=name, case=case, axes=axes, atol=inf)


def _grid(module: ModuleType, context: CheckContext) -> None:
    q, k, v = _inputs(context, batch=2, len_kv=48, heads_q=4, heads_kv=2)
    case, out, lse, _ = _run(module, (q, k, v), 3, 16)
    expect_written(out, what="out_partial", case=case, axes=_OUT_AXES)
    expect_written(lse, what="lse_partial", case=case, axes=_LSE_AXES)


def _one_split(module: ModuleType, context: CheckContext) -> None:
    for len_kv, head_dim in ((16, 16), (1, 16), (47, 16), (20, 32)):
        sizes: dict[str, Any] = {"len_kv": len_kv, "heads_q": 3, "head_dim": head_dim}
        _expect_splits(module, context, 1, batch=2, **sizes)


def _several_splits(module: ModuleType, context: CheckContext) -> None:
    for num_splits, len_kv in ((3, 48), (2, 17), (4, 79)):
        _expect_splits(module, context, num_splits, batch=1, len_kv=len_kv, heads_q=2)
    sizes: dict[str, Any] = {"batch": 2, "len_kv": 159, "heads_q": 1, "head_dim": 64}
    _expect_splits(module, context, 2, block_n=32, packed=True, **sizes)


def _groups(module: ModuleType, context: CheckContext) -> None:
    for num_splits, heads_q, heads_kv in ((1, 6, 3), (2, 6, 2), (1, 3, 1)):
        sizes: dict[str, Any] = {"len_kv": 19, "heads_q": heads_q, "heads_kv": heads_kv}
        _expect_splits(module, context, num_splits, batch=2 // num_splits, **sizes)


def _empty_splits(module: ModuleType, context: CheckContext) -> None:
    for num_splits, len_kv in ((5, 20), (4, 47), (2, 1), (2, 0)):
        sizes: dict[str, Any] = {"batch": 1, "heads_q": 2, "heads_kv": 1}
        _expect_splits(module, context, num_splits, len_kv=len_kv, **sizes)


def _large_scores(module: ModuleType, context: CheckContext) -> None:
    for level in (200, -200):
        sizes: dict[str, Any] = {"batch": 2, "len_kv": 55, "heads_q": 1, "level": level}
        _expect_splits(module, context, 2, tol=2e-4, **sizes)
    sizes = {"batch": 1, "len_kv": 40, "heads_q": 2, "level": 100, "falling": True}
    _expect_splits(module, context, 1, tol=2e-4, **sizes)


def _float16(module: ModuleType, context: CheckContext) -> None:
    for dtype, len_kv, head_dim in (("float16", 100, 16), ("bfloat16", 70, 128)):
        sizes: dict[str, Any] = {"len_kv": len_kv, "head_dim": head_dim, "dtype": dtype}
        _expect_splits(module, context, 2, block_n=32, batch=2, heads_q=2, heads_kv=1, **sizes)


CHECKS = watched(
    Check(
        "grid",
        "Every split, sequence and head has a program that writes its part.",
        1,
        _grid,
        read="The grid gets a third axis",
        region="the grid",
    ),
    Check(
        "one-split",
        "One split is attention over all keys, full blocks or not.",
        1,
        _one_split,
        read="The Triton that exercise 05 needs",
    ),
    Check(
        "several-splits",
        "Each split covers the keys that it owns, and no others.",
        2,
        _several_splits,
        read="Odd lengths and empty splits",
        region="the range of keys of this split",
    ),
    Check(
        "groups",
        "Query heads of a group read their own key/value head.",
        2,
        _groups,
        read="What changes in the kernel",
        region="the base of the keys and of the values",
    ),
    Check(
        "empty-splits",
        "A split without keys gives 0 and -inf.",
        1,
        _empty_splits,
        read="Odd lengths and empty splits",
    ),
    Check(
        "large-scores",
        "Scores near 200 and near -200 neither overflow nor vanish.",
        1,
        _large_scores,
        read="The Triton that exercise 05 needs",
        region="the scores and the online softmax update",
    ),
    Check(
        "float16",
        "With float16 and bfloat16 inputs the parts are computed and stored in float32.",
        1,
        _float16,
        read="Why a partial output is divided by its own sum",
    ),
)


def _launch(module: ModuleType, dtype: str, head_dim: int, len_kv: int, num_splits: int) -> None:
    import torch

    batch, heads_q, heads_kv = (1, 1, 1) if num_splits == 1 else (2, 8, 2)
    q = torch.empty(batch, 1, heads_q, head_dim, dtype=getattr(torch, dtype))
    k = torch.empty(batch, len_kv, heads_kv, head_dim, dtype=q.dtype)
    returns = ("out_partial", "lse_partial")
    call(module, "split_kv", q, k, k.clone(), num_splits, 32, returns=returns)


# Triton compiles an argument of 1 as the number 1, which is no tensor in the kernel.
COMPILES = (
    Compilation(
        "float16, D 128, blocks of 32", lambda module: _launch(module, "float16", 128, 1000, 8)
    ),
    Compilation(
        "float32, D 64, blocks of 32; 1 split, 1 head, 1 key",
        lambda module: _launch(module, "float32", 64, 1, 1),
    ),
)
