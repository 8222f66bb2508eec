"""Record how fast a few SMs can read HBM: the same bytes, read by 1, 8, ... programs, the best of several settings.

    PYTHONPATH=. python tests/gpu/record_sm_reads.py OUT.json

Cold L2, CUDA graph replay, medians. The H200's recording ships as fdlib/data/recorded/h200_sm_reads.json; notebook 04
reads it. A launch gives each program its own SM as long as there are SMs without one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

import fdlib  # noqa: F401  (first: it chooses how kernels run)
from fdlib.record.kernels import read_kernel

sys.path.insert(0, str(Path(__file__).parent))
from timing import median_us, provenance

READ_BYTES = 64 * 2**20
PROGRAMS = (1, 2, 4, 8, 16, 32, 66, 132)
SETTINGS = [
    (block, warps, stages)
    for block, warps in ((4096, 4), (8192, 8), (16384, 16), (16384, 32))
    for stages in (2, 4)
]
PROTOCOL = (
    "each program sums its share of 64 MiB of bfloat16; cold L2 (16 rotating buffers), CUDA graph replay, median of 3 "
    "replays, the best of 8 launch settings (elements per load, warps, pipeline stages)"
)


def time_us(buffers, out, programs, block, warps, stages):
    calls = [
        lambda x=x: read_kernel[(programs,)](
            x, out, x.numel() // block, BLOCK=block, num_warps=warps, num_stages=stages
        )
        for x in buffers
    ]
    return median_us(calls, replays=3)


def main(path):
    buffers = [torch.randn(READ_BYTES // 2, device="cuda", dtype=torch.bfloat16) for _ in range(16)]
    out = torch.empty(max(PROGRAMS), device="cuda")
    record = provenance() | {"protocol": PROTOCOL, "rows": []}
    for programs in PROGRAMS:
        times = {setting: time_us(buffers, out, programs, *setting) for setting in SETTINGS}
        best = min(times, key=times.get)
        row = {"programs": programs, "read_bytes": READ_BYTES, "time_us": round(times[best], 2)}
        record["rows"].append(row | dict(zip(("block", "warps", "stages"), best, strict=True)))
        print(record["rows"][-1], f"{READ_BYTES / times[best] / 1e3 / programs:.1f} GB/s a program")
    Path(path).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
