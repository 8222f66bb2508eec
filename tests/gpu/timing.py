"""Time GPU work with a cold L2: rotating buffers, CUDA graph replay, the median of several replays."""

from __future__ import annotations

import datetime
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
import triton
import triton.language as tl

L2_FLUSH_BYTES = 1 << 30  # inputs rotate through at least this much memory, many times the L2
MAX_COPIES = 32


def median_us(calls: Sequence[Callable[[], object]], replays: int = 7) -> float:
    """Microseconds of one call; each of ``calls`` does the same work on other buffers."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for call in calls[:2]:
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = [call() for call in calls]
    graph.replay()
    torch.cuda.synchronize()
    times = []
    for _ in range(replays):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / len(calls))
    del kept
    return sorted(times)[len(times) // 2]


def decode_buffers(batch, heads_q, heads_kv, head_dim, len_kv, dtype=torch.bfloat16):
    """(q, k, v) triples that together pass L2_FLUSH_BYTES: reading one never finds the last one's lines in L2."""
    kv_bytes = 2 * batch * len_kv * heads_kv * head_dim * torch.finfo(dtype).bits // 8
    copies = max(2, min(MAX_COPIES, L2_FLUSH_BYTES // kv_bytes))
    make = lambda *shape: torch.randn(*shape, device="cuda", dtype=dtype)  # noqa: E731
    kv_shape = (batch, len_kv, heads_kv, head_dim)
    return [
        (make(batch, 1, heads_q, head_dim), make(*kv_shape), make(*kv_shape)) for _ in range(copies)
    ]


@triton.jit
def _read_kernel(X, Out, blocks, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], tl.float32)
    for i in tl.range(tl.program_id(0), blocks, tl.num_programs(0)):
        acc += tl.load(X + i.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)).to(tl.float32)
    tl.store(Out + tl.program_id(0), tl.sum(acc, 0))


def _read_once(out, programs, block, warps, x):
    _read_kernel[(programs,)](
        x, out, x.numel() // block, BLOCK=block, num_warps=warps, num_stages=3
    )


def read_us(tensors: Sequence[Sequence[torch.Tensor]]) -> float:
    """The floor: microseconds of a kernel that only reads the same tensors, the best of a few launch settings."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    out = torch.empty(sms * 8, device="cuda")
    flat = [
        torch.cat([x.flatten() for x in group]) for group in tensors
    ]  # one launch reads K and V
    best = float("inf")
    for per_sm in (1, 2, 4, 8):
        for block, warps in ((2048, 4), (4096, 4), (8192, 8)):
            launch = partial(_read_once, out, sms * per_sm, block, warps)
            calls = [partial(launch, x) for x in flat]
            best = min(best, median_us(calls, replays=3))
    return best


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
