"""What a trace costs: CPU time over that of the plain interpreted call, and memory over that of the call's arguments.

    PYTHONPATH=. python tests/bench_trace.py

Prints medians of several pairs and asserts nothing; the aim is 1.3 times at most.
"""

from __future__ import annotations

import os
import statistics
import time
import tracemalloc
from collections.abc import Callable

os.environ["TRITON_INTERPRET"] = "1"

import fdlib  # isort: skip
import torch

from fdlib.attention.combine import combine_splits
from fdlib.attention.flash_decoding import split_kv_attention
from fdlib.course.naive_kernels import naive_attention_kernels

PAIRS = 5
WAYS = {"trace": {}, "with l2_mb=60": {"l2_mb": 60}, "in waves of 8": {"l2_mb": 60, "at_once": 8}}


def half(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float16)


def calls() -> dict[str, tuple]:
    """Realistic tiles: 64 keys of 128 numbers in float16, 16 of 256 in float32."""
    k, wide = half(1, 4096, 2, 128), torch.randn(1, 1024, 2, 256)
    parts = torch.randn(64, 1, 1, 32, 128), torch.randn(64, 1, 32, 1)
    return {
        "flash_attention, D 128": (fdlib.flash_attention, half(1, 128, 2, 128), k[:, :2048], k[:, :2048]),
        "split kernel, D 128": (split_kv_attention, half(1, 1, 8, 128), k, k.clone(), 8),
        "split kernel, float32, D 256": (split_kv_attention, torch.randn(1, 1, 8, 256), wide, wide.clone(), 8),
        "combine, 64 splits": (combine_splits, *parts),
        "naive, three kernels": (naive_attention_kernels, half(1, 128, 4, 128), k[:, :512], k[:, :512]),
    }  # fmt: skip


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    torch.set_num_threads(1)
    print(f"{'':30}{'plain':>8}" + "".join(f"{way:>16}" for way in WAYS) + f"{'memory':>12}")
    for name, (fn, *args) in calls().items():
        fn(*args)
        plain, ratios = [], {way: [] for way in WAYS}
        for _ in range(PAIRS):
            plain.append(seconds(lambda fn=fn, args=args: fn(*args)))
            for way, options in WAYS.items():
                taken = seconds(
                    lambda fn=fn, args=args, options=options: fdlib.trace(fn, *args, **options)
                )
                ratios[way].append(taken / plain[-1])
        tracemalloc.start()
        fdlib.trace(fn, *args)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        tensors = sum(x.numel() * x.element_size() for x in args if isinstance(x, torch.Tensor))
        medians = "".join(f"{statistics.median(each):15.2f}x" for each in ratios.values())
        print(
            f"{name:30}{statistics.median(plain):6.2f} s{medians}{peak / tensors:11.1f}x",
            flush=True,
        )


if __name__ == "__main__":
    main()
