"""Record the bytes that prefill attention moves to and from HBM on a real GPU: three torch calls against one kernel.

    PYTHONPATH=. python tests/gpu/record_traffic.py OUT.json

Nsight Compute (``ncu``) counts the DRAM bytes of every kernel of one call. The H200's recording ships as
fdlib/data/recorded/h200_prefill_traffic.json; notebook 03 reads it.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import torch

import fdlib  # noqa: F401  (first: it chooses how kernels run)
from fdlib.attention.flash_attention import flash_attention

sys.path.insert(0, str(Path(__file__).parent))
from ncu import DRAM_BYTES, ncu_rows
from timing import provenance

SHAPES = [
    ("Llama-3.1-8B on one GPU", 32, 8, 128, 16384),
    ("Llama-3.1-70B on one of 8 GPUs", 8, 1, 128, 16384),
]
METRICS = DRAM_BYTES | {"kernel_ns": "gpu__time_duration.sum"}
PROTOCOL = (
    "bfloat16, one layer, batch 1, no causal mask, one call after a warm-up; bytes and kernel times by Nsight Compute, "
    "summed over the call's kernels; naive: torch matmul, softmax, matmul"
)


def naive(q, k, v):
    """Scores to memory, weights to memory: the three steps of the formula, in torch."""
    group = q.shape[2] // k.shape[2]
    qg = (q * (1 / math.sqrt(q.shape[-1]))).transpose(1, 2).unflatten(1, (k.shape[2], group))
    kg, vg = (x.transpose(1, 2)[:, :, None].expand(-1, -1, group, -1, -1) for x in (k, v))
    scores = qg @ kg.transpose(-1, -2)
    weights = torch.softmax(scores, -1)
    del scores
    return (weights @ vg).flatten(1, 2).transpose(1, 2)


METHODS = {"naive": naive, "tiled": lambda q, k, v: flash_attention(q, k, v)[0]}


def call_once(method, heads_q, heads_kv, head_dim, length):
    def make(heads):
        return torch.randn(1, length, heads, head_dim, device="cuda", dtype=torch.bfloat16)

    q, k, v = make(heads_q), make(heads_kv), make(heads_kv)
    METHODS[method](q, k, v)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    METHODS[method](q, k, v)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def profile(method, *shape):
    rows = ncu_rows(METRICS, __file__, "--call", method, *map(str, shape))
    return {"kernels": len(rows)} | {name: sum(row[name] for row in rows) for name in METRICS}


def main(path):
    record = provenance() | {"protocol": PROTOCOL, "rows": []}
    for model, heads_q, heads_kv, head_dim, length in SHAPES:
        for method in METHODS:
            row = {
                "model": model,
                "method": method,
                "heads_q": heads_q,
                "heads_kv": heads_kv,
                "head_dim": head_dim,
            }
            row |= {"len_q": length, "len_kv": length} | profile(
                method, heads_q, heads_kv, head_dim, length
            )
            record["rows"].append(row)
            print(row)
    Path(path).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--call":
        call_once(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main(sys.argv[1])
