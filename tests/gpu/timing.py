"""Time GPU work with a cold L2: rotating buffers, CUDA graph replay, the median of several replays."""

from __future__ import annotations

import datetime
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
import triton

from fdlib.record.reads import ReadSetting, fastest_read

L2_FLUSH_BYTES = 1 << 30  # inputs rotate through at least this much memory, many times the L2
MAX_COPIES = 32


def decode_buffers(batch, heads_q, heads_kv, head_dim, len_kv, dtype=torch.bfloat16):
    """(q, k, v) triples that together pass L2_FLUSH_BYTES: reading one never finds the last one's lines in L2."""
    kv_bytes = 2 * batch * len_kv * heads_kv * head_dim * torch.finfo(dtype).bits // 8
    copies = max(2, min(MAX_COPIES, L2_FLUSH_BYTES // kv_bytes))
    make = lambda *shape: torch.randn(*shape, device="cuda", dtype=dtype)  # noqa: E731
    kv_shape = (batch, len_kv, heads_kv, head_dim)
    return [
        (make(batch, 1, heads_q, head_dim), make(*kv_shape), make(*kv_shape)) for _ in range(copies)
    ]


def read_us(tensors: Sequence[Sequence[torch.Tensor]]) -> float:
    """The floor: microseconds of a kernel that only reads the same tensors, the best of a few launch settings."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    ways = [
        ReadSetting(sms * per_sm, block, warps)
        for per_sm in (1, 2, 4, 8)
        for block, warps in ((2048, 4), (4096, 4), (8192, 8))
    ]
    together = [torch.cat([x.flatten() for x in group]) for group in tensors]
    _, best_us = fastest_read(together, ways)  # one launch reads K and V
    return best_us


def provenance() -> dict[str, str]:
    """Where and when a measurement was made."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return {
        "gpu": torch.cuda.get_device_name(0),
        "driver": subprocess.run(query, capture_output=True, text=True)
        .stdout.split("\n")[0]
        .strip(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
        "command": "python tests/gpu/" + " ".join(Path(word).name for word in sys.argv),
    }
