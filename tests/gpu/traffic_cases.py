"""The launches whose traffic is traced on a CPU and counted on a GPU: the same calls, the same sizes.

Each moves more bytes than the 60 MiB that an H200's L2 holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from fdlib.attention.combine import combine_splits
from fdlib.attention.flash_attention import flash_attention
from fdlib.attention.flash_decoding import split_kv_attention
from fdlib.course.naive_kernels import scores_to_memory, softmax_rows, weighted_values

Launch = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

NAMES = "batch heads_q heads_kv len_q len_kv head_dim".split()
SHAPES: dict[str, list[tuple]] = {
    "naive": [
        (1, 8, 8, 1024, 8192, 128, "float16", {"block": 128}),
        (1, 4, 2, 512, 8192, 64, "float32", {"block": 64}),
        (1, 4, 1, 2000, 8200, 128, "float16", {"block": 128}),
    ],
    "tiled": [
        (4, 16, 16, 64, 4096, 128, "float16", {}),
        (1, 12, 6, 64, 24576, 128, "float16", {}),
        (2, 8, 8, 16, 8192, 128, "float32", {}),
        (2, 16, 16, 128, 4096, 128, "float16", {"causal": True}),
    ],
    "split": [
        (1, 32, 8, 1, 32768, 128, "float16", {"num_splits": 16}),
        (8, 8, 1, 1, 32768, 128, "float16", {"num_splits": 32}),
        (1, 8, 2, 1, 32768, 256, "float32", {"num_splits": 64}),
        (2, 16, 16, 1, 10000, 64, "float16", {"num_splits": 4}),
        (4, 8, 2, 1, 65536, 128, "float16", {"num_splits": 24, "cache_seqlens": [65536, 30000, 50001, 12345]}),
    ],
    "combine": [
        (64, 16, 16, 1, 1, 256, "float32", {"num_splits": 128}),
        (128, 32, 32, 1, 1, 128, "float32", {"num_splits": 32}),
        (128, 32, 32, 1, 1, 256, "float32", {"num_splits": 20}),
    ],
}  # fmt: skip


def cases() -> Iterator[dict[str, Any]]:
    """Method, shape and settings of each, as JSON can hold them."""
    for method, shapes in SHAPES.items():
        for *sizes, dtype, settings in shapes:
            shape = dict(zip(NAMES, sizes, strict=True))
            yield {"method": method} | shape | {"dtype": dtype, "settings": settings}


def launches(case: dict[str, Any], device: str) -> list[Launch]:
    """What to call, in order: one kernel launch each, on new tensors."""
    dtype = getattr(torch, case["dtype"])
    batch, heads_q, heads_kv, len_q, len_kv, head_dim = (case[name] for name in NAMES)
    settings = dict(case["settings"])

    def new(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, dtype=dtype, device=device) - 0.5

    if case["method"] == "combine":
        splits = settings["num_splits"]
        parts = new(splits, batch, len_q, heads_q, head_dim), new(splits, batch, heads_q, len_q)
        return [(combine_splits, parts, {})]
    q = new(batch, len_q, heads_q, head_dim)
    k, v = (new(batch, len_kv, heads_kv, head_dim) for _ in range(2))
    if case["method"] == "tiled":
        return [(flash_attention, (q, k, v), settings)]
    if case["method"] == "split":
        if "cache_seqlens" in settings:
            lengths = torch.tensor(settings["cache_seqlens"], dtype=torch.int32, device=device)
            settings["cache_seqlens"] = lengths
        return [(split_kv_attention, (q, k, v), settings)]
    scores = new(batch, heads_q, len_q, len_kv)
    return [
        (scores_to_memory, (q, k), settings),
        (softmax_rows, (scores,), {}),
        (weighted_values, (scores, v), settings),
    ]
