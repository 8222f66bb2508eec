"""Seconds of a simulation: `python tests/bench_simulate.py`. It prints medians and asserts nothing.

The aim: 100,000 programs in 0.5 s on 2 cores.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fdlib import AttentionShape, plan_splits
from fdlib.record.grid import SPLITS
from fdlib.xray.residuals import residual_points
from fdlib.xray.simulate import best_num_splits, simulate, simulate_works, split_times_us
from fdlib.xray.simulation.work import plan_works

RUNS = 7
SLIDER = AttentionShape(heads_q=32, heads_kv=8, len_kv=131_072)
BUSY = AttentionShape(batch=64, heads_q=32, heads_kv=8, len_kv=131_072)
MANY = AttentionShape(batch=100, heads_q=32, heads_kv=8, len_kv=131_072)


def ragged() -> object:
    """100,000 programs, each with another number of steps, as a trace of a ragged batch would have."""
    (work, _) = plan_works(plan_splits(MANY, "H200", 125))
    steps = np.random.default_rng(0).permutation(work.programs) % 997
    return simulate_works((replace(work, program_steps=steps),), "H200")


CASES: dict[str, Callable[[], object]] = {
    "one user, the rule's splits": lambda: simulate(plan_splits(SLIDER, "H200"), "H200"),
    "64 users, 256 splits, 131,072 programs": lambda: simulate(
        plan_splits(BUSY, "H200", 256), "H200"
    ),
    "100,000 equal programs": lambda: simulate(plan_splits(MANY, "H200", 125), "H200"),
    "100,000 ragged programs": ragged,
    f"time against splits, {len(SPLITS)} counts": lambda: split_times_us(SLIDER, "H200", SPLITS),
    "best split count of all": lambda: best_num_splits(SLIDER, "H200"),
    "the residuals that notebook 04 shows": lambda: residual_points.__wrapped__(),
}


def main() -> None:
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} CPUs\n")
    for name, call in CASES.items():
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(f"{name:<42}{statistics.median(times):>8.4f} s   worst {max(times):.4f} s")


if __name__ == "__main__":
    main()
