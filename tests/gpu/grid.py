"""The fixed grid of cases that the kernels are held to on a GPU, and how one of them is run."""

from __future__ import annotations

import random
from dataclasses import replace

from attention.cases import DEVICE, LAYOUTS, Case, build
from attention.oracle import Errors, measure, oracle

from fdlib import flash_attention, flash_decode
from fdlib.attention.combine import combine_splits
from fdlib.attention.flash_decoding import split_kv_attention

__all__ = ["DTYPES", "GRID", "few", "run"]

DTYPES = ("float16", "bfloat16", "float32")
LENGTHS = (0, 1, 63, 64, 65, 1000, 4097, 32_768)
HEAD_DIMS = (16, 33, 64, 80, 96, 100, 128, 256)
HEADS = ((1, 1), (3, 3), (6, 2), (8, 1), (12, 2), (32, 8), (64, 1))
QUERIES = (
    (1, 1000),
    (63, 63),
    (64, 65),
    (65, 65),
    (128, 1000),
    (300, 100),
    (1000, 1000),
    (17, 4097),
    (5, 0),
)
RAGGED = (0, 65, 1000, 1)


def _decode(dtype: str) -> list[Case]:
    base = Case(batch=2, heads_q=8, heads_kv=2, len_kv=1000, head_dim=128, dtype=dtype)
    long = replace(base, batch=1, len_kv=131_072, heads_q=8)
    ragged = replace(base, batch=4, lens=RAGGED)
    return [
        *(replace(base, len_kv=n, num_splits=s) for n in LENGTHS for s in (0, 1, 5)),
        *(replace(long, num_splits=s) for s in (0, 7)),
        *(
            replace(base, head_dim=d, num_splits=3, lens=(1000, 129), len_q=q)
            for d in HEAD_DIMS
            for q in (1, 2)
        ),
        *(replace(base, heads_q=q, heads_kv=kv, num_splits=s) for q, kv in HEADS for s in (1, 4)),
        *(replace(ragged, layout=layout, num_splits=6) for layout in LAYOUTS),
        *(
            replace(ragged, len_q=q, causal=c, num_splits=s)
            for q in (1, 3, 9)
            for c in (True, False)
            for s in (0, 33)
        ),
        *(replace(base, len_q=q, len_kv=70, num_splits=2) for q in (17, 64, 100)),
    ]


def _attention(dtype: str) -> list[Case]:
    base = Case(batch=2, heads_q=4, heads_kv=2, head_dim=64, len_kv=1000, dtype=dtype)
    return [
        *(replace(base, len_q=q, len_kv=n, causal=c) for q, n in QUERIES for c in (True, False)),
        *(replace(base, head_dim=d, len_q=100, len_kv=130) for d in HEAD_DIMS),
        *(replace(base, len_q=70, len_kv=200, layout=layout) for layout in LAYOUTS),
        replace(base, batch=1, heads_q=2, heads_kv=1, len_q=4097, len_kv=4097),
    ]


def _split_combine(dtype: str) -> list[Case]:
    base = Case(batch=4, heads_q=8, heads_kv=2, len_kv=1000, head_dim=128, dtype=dtype, lens=RAGGED)
    return [
        *(replace(base, num_splits=s) for s in (1, 2, 16, 17, 100)),
        replace(base, len_q=5, num_splits=3),
    ]


GRID: list[tuple[str, Case]] = [
    (stage, case)
    for dtype in DTYPES
    for stage, cases in (
        ("decode", _decode),
        ("attention", _attention),
        ("split+combine", _split_combine),
    )
    for case in cases(dtype)
]


def few(count: int) -> list[tuple[str, Case]]:
    """`count` cases drawn from the grid, none longer than 4097 keys: for a slow tool."""
    short = [entry for entry in GRID if entry[1].len_kv <= 4097]
    return random.Random(0).sample(short, min(count, len(short)))


def run(stage: str, case: Case, device: str = DEVICE) -> Errors:
    """Run one case and measure it against the float64 oracle, computed on the same device."""
    inputs = build(case, device)
    q, k, v = inputs.q, inputs.k, inputs.v
    common = {"causal": case.causal, "cache_seqlens": inputs.cache_seqlens}
    if stage == "attention":
        out, lse = flash_attention(q, k, v, causal=case.causal)
    elif stage == "decode":
        out, lse = flash_decode(q, k, v, **common, num_splits=case.num_splits, return_lse=True)
    else:
        out, lse = combine_splits(
            *split_kv_attention(q, k, v, case.num_splits, **common), dtype=q.dtype
        )
    assert out.dtype == q.dtype
    return measure(out, lse, oracle(q, k, v, lens=case.lens, causal=case.causal))
