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
from fdlib.record.reads import ReadSetting, fastest_read

sys.path.insert(0, str(Path(__file__).parent))
from timing import provenance

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


def main(path):
    buffers = [torch.randn(READ_BYTES // 2, device="cuda", dtype=torch.bfloat16) for _ in range(16)]
    record = provenance() | {"protocol": PROTOCOL, "rows": []}
    for programs in PROGRAMS:
        ways = [ReadSetting(programs, *setting) for setting in SETTINGS]
        best, time_us = fastest_read(buffers, ways)
        row = {"programs": programs, "read_bytes": READ_BYTES, "time_us": round(time_us, 2)}
        record["rows"].append(row | best._asdict())
        print(record["rows"][-1], f"{READ_BYTES / time_us / 1e3 / programs:.1f} GB/s a program")
    Path(path).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
