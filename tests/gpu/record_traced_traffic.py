"""Hold the bytes that `fdlib.trace` finds to the bytes that Nsight Compute counts, launch by launch.

    PYTHONPATH=. python tests/gpu/record_traced_traffic.py measure MEASURED.json    # on a GPU, with ncu
    PYTHONPATH=. python tests/gpu/record_traced_traffic.py trace MEASURED.json OUT.json    # no GPU needed

The second step traces the same calls under the interpreter (minutes) and writes both side by side. The H200's recording
ships as fdlib/data/recorded/h200_traffic.json. With `-` for MEASURED.json it traces alone.

What a kernel has written can still lie in L2 when it ends, and ``dram__bytes_write`` of the kernel does not count it.
So a second kernel follows each, which reads 512 MiB of other memory and pushes it out: its writes belong to the first.
The same kernel runs before, so that L2 holds neither inputs nor changed lines at the start. ncu must leave the caches
alone between the two (``--cache-control none``): it would throw out what the second is there to count.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch

import fdlib  # noqa: F401  (first: it chooses how kernels run)
from fdlib.record.reads import ReadSetting, read_once

sys.path.insert(0, str(Path(__file__).parent))
from ncu import DRAM_BYTES, ncu_rows
from timing import provenance
from traffic_cases import cases, launches

FLUSH_BYTES = 512 * 2**20
FLUSH = "read_kernel"
PROTOCOL = (
    "each launch alone, L2 filled with other clean memory before it; bytes by Nsight Compute with "
    "--clock-control none --cache-control none; writes: of the kernel, and of a kernel after it that reads 512 MiB "
    "and so pushes what was left out of L2; traced: each 32-byte sector read once and written once (hbm), every "
    "access (asked), and an LRU cache of 60 MiB shared by waves of 132 programs (lru)"
)


def make_calls() -> None:
    """Call each launch once between `start` and `stop`; this runs under ncu."""
    other = torch.zeros(FLUSH_BYTES // 2, dtype=torch.float16, device="cuda")
    sums = torch.empty(132 * 8, device="cuda")

    def flush() -> None:
        read_once(other, sums, ReadSetting(sums.numel(), 4096, 4))

    flush()
    for case in cases():
        for function, args, settings in launches(case, "cuda"):
            function(*args, **settings)  # compiles
            flush()
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            function(*args, **settings)
            flush()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()


def measure(path: str) -> None:
    """Write what ncu counts for each launch."""
    counted = ncu_rows(DRAM_BYTES, __file__, "calls", cache_control="none")
    named = [row for case in cases() for row in [case] * (3 if case["method"] == "naive" else 1)]
    kernels, flushes = counted[::2], counted[1::2]
    if len(counted) != 2 * len(named) or {row["kernel"] for row in flushes} != {FLUSH}:
        raise RuntimeError(f"ncu counted other kernels than expected: {counted}")
    rows = []
    for case, row, after in zip(named, kernels, flushes, strict=True):
        rows.append(case | row | {"write_bytes_after": after["write_bytes"]})
        print(case["method"], row, after["write_bytes"], flush=True)
    Path(path).write_text(json.dumps(provenance() | {"rows": rows}, indent=1) + "\n")


def trace_all() -> list[dict[str, Any]]:
    """What the trace of each launch says."""
    from fdlib.xray.trace import trace

    rows = []
    for case in cases():
        for function, args, settings in launches(case, "cpu"):
            start = time.perf_counter()
            (launch,) = trace(function, *args, l2_mb=60, at_once=132, **settings).launches
            rows.append(
                case
                | {
                    "kernel": launch.kernel,
                    "grid": list(launch.grid),
                    "asked_bytes": launch.bytes,
                    "hbm_read_bytes": launch.hbm_read,
                    "hbm_write_bytes": launch.hbm_write,
                    "lru_read_bytes": launch.l2.read_bytes,
                    "lru_write_bytes": launch.l2.write_bytes,
                }
            )
            print(f"{time.perf_counter() - start:5.1f} s", rows[-1], flush=True)
    return rows


def join(measured: str, path: str) -> None:
    """Write measured and traced bytes side by side, and print how far they are apart."""
    traced = trace_all()
    if measured == "-":
        Path(path).write_text(json.dumps(traced, indent=1) + "\n")
        return
    record = json.loads(Path(measured).read_text())
    both = list(zip(record["rows"], traced, strict=True))
    if any(case | found != found | case for case, found in both):  # one key, two values
        raise RuntimeError("measured and traced are of different launches: measure again")
    rows = [case | found for case, found in both]
    record.pop("rows")  # to the end
    record |= {"protocol": PROTOCOL, "rows": rows}
    Path(path).write_text(json.dumps(record, indent=1) + "\n")
    apart = []
    for row in rows:
        counted = row["read_bytes"] + row["write_bytes"] + row["write_bytes_after"]
        hbm = row["hbm_read_bytes"] + row["hbm_write_bytes"]
        apart.append(abs(hbm / counted - 1))
        print(f"{row['method']:8} {row['kernel']:26} {counted:>12,} {hbm:>12,} {hbm / counted - 1:+7.2%}")  # fmt: skip
    print(f"median {statistics.median(apart):.2%}, worst {max(apart):.2%}, {len(rows)} launches")


if __name__ == "__main__":
    steps = {"calls": make_calls, "measure": measure, "trace": join}
    steps[sys.argv[1]](*sys.argv[2:])
