"""Record Flash-Decoding on a real GPU: ours before and after splitting, every peer that imports, and a plain read.

    PYTHONPATH=. python tests/gpu/record_decode.py OUT.json

bfloat16, one query, cold L2, CUDA graph replay, medians. Prints a short table, writes JSON. The H200's ships as
fdlib/data/recorded/h200_decode.json; the notebooks read it.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import fdlib  # noqa: F401  (first: it chooses how kernels run)
from fdlib.attention.flash_attention import flash_attention
from fdlib.attention.flash_decoding import flash_decode
from fdlib.plan import plan_splits
from fdlib.record.grid import SPLITS
from fdlib.record.timing import median_us
from fdlib.shapes import AttentionShape

sys.path.insert(0, str(Path(__file__).parent))
from timing import decode_buffers, provenance, read_us

MODEL_8B, MODEL_70B = "Llama-3.1-8B on one GPU", "Llama-3.1-70B on one of 8 GPUs"
SHAPES = [
    *[(MODEL_8B, 1, 32, 8, 128, n) for n in (1024, 4096, 16384, 65536, 131072)],
    *[(MODEL_70B, 1, 8, 1, 128, n) for n in (1024, 4096, 16384, 65536, 131072)],
    *[(MODEL_8B, batch, 32, 8, 128, 16384) for batch in (8, 64)],
]
SWEEPS = [(heads, kv, n) for heads, kv in ((8, 1), (32, 8)) for n in (16384, 131072)]
PROTOCOL = "bfloat16, one query, cold L2 (rotating buffers), CUDA graph replay, median of 7 replays, per call"


def sdpa(backend, grouped):
    def call(q, k, v):
        with sdpa_kernel(backend):
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, enable_gqa=grouped
            ).transpose(1, 2)

    return call


def ours():
    return {
        "flash_attention_us": lambda q, k, v: flash_attention(q, k, v)[0],
        "one_split_us": lambda q, k, v: flash_decode(q, k, v, num_splits=1),
        "flash_decode_us": flash_decode,
    }


def peers(batch, heads_q, heads_kv):
    """Every peer that imports; SDPA's FlashAttention-2 always."""
    found = {"sdpa_flash_us": sdpa(SDPBackend.FLASH_ATTENTION, heads_q != heads_kv)}
    found["sdpa_cudnn_us"] = sdpa(SDPBackend.CUDNN_ATTENTION, heads_q != heads_kv)
    try:
        import fa3_fwd_interface as fa3

        found["fa3_us"] = lambda q, k, v: fa3.flash_attn_with_kvcache(q, k, v, causal=True)
    except Exception as error:
        print("no FlashAttention-3:", repr(error)[:100])
    try:
        import flashinfer

        if batch == 1:
            found["flashinfer_us"] = lambda q, k, v: flashinfer.single_decode_with_kv_cache(
                q[0, 0], k[0], v[0], use_tensor_cores=heads_q != heads_kv
            )[None, None]
    except Exception as error:
        print("no FlashInfer:", repr(error)[:100])
    return found


def relative_error(call, q, k, v):
    group = q.shape[2] // k.shape[2]
    qf = q.double().transpose(1, 2).unflatten(1, (k.shape[2], group))[..., 0, :]  # (B, H_kv, G, D)
    kf, vf = k.double().transpose(1, 2), v.double().transpose(1, 2)
    scores = qf @ kf.transpose(-1, -2) / math.sqrt(q.shape[-1])
    expected = (torch.softmax(scores, -1) @ vf).flatten(1, 2)[:, None]
    out = call(q, k, v)
    out = (out[0] if isinstance(out, tuple) else out).double()
    return float((out - expected).norm() / expected.norm())


def measure(model, batch, heads_q, heads_kv, head_dim, len_kv):
    buffers = decode_buffers(batch, heads_q, heads_kv, head_dim, len_kv)
    shape = AttentionShape(
        batch=batch, heads_q=heads_q, heads_kv=heads_kv, len_kv=len_kv, head_dim=head_dim
    )
    sizes = {"batch": batch, "heads_q": heads_q, "heads_kv": heads_kv}
    row = {"model": model, **sizes, "head_dim": head_dim, "len_kv": len_kv}
    row |= {"kv_bytes": shape.kv_bytes, "num_splits": plan_splits(shape, "H200").num_splits}
    row["read_us"] = round(read_us([(k, v) for _, k, v in buffers]), 2)
    errors = {}
    for name, call in (ours() | peers(batch, heads_q, heads_kv)).items():
        try:
            errors[name] = relative_error(call, *buffers[0])
            row[name] = round(median_us([lambda b=b, call=call: call(*b) for b in buffers]), 2)
        except Exception as error:
            print(f"{name} failed at {shape}: {error!r}"[:200])
    row["relative_error"] = {name: float(f"{error:.2e}") for name, error in errors.items()}
    return row


def sweep(heads_q, heads_kv, len_kv):
    buffers = decode_buffers(1, heads_q, heads_kv, 128, len_kv)
    for num_splits in SPLITS:
        calls = [lambda b=b: flash_decode(*b, num_splits=num_splits) for b in buffers]  # noqa: B023
        time_us = round(median_us(calls), 2)
        case = {"heads_q": heads_q, "heads_kv": heads_kv, "len_kv": len_kv}
        yield case | {"num_splits": num_splits, "time_us": time_us}


def main(path):
    began = time.time()
    record = provenance() | {"protocol": PROTOCOL, "rows": [], "splits": []}
    for shape in SHAPES:
        record["rows"].append(measure(*shape))
        torch.cuda.empty_cache()
    for shape in SWEEPS:
        record["splits"] += sweep(*shape)
    Path(path).write_text(json.dumps(record, indent=1) + "\n")
    names = [name for name in record["rows"][0] if name.endswith("_us")]
    print(
        f"{'B':>3} {'heads':>6} {'keys':>7} {'splits':>6} "
        + " ".join(f"{n.removesuffix('_us'):>15}" for n in names)
    )
    for row in record["rows"]:
        values = " ".join(f"{row.get(n, float('nan')):15.1f}" for n in names)
        heads = f"{row['heads_q']}/{row['heads_kv']}"
        print(f"{row['batch']:>3} {heads:>6} {row['len_kv']:>7} {row['num_splits']:>6} {values}")
    for heads_q, heads_kv, len_kv in SWEEPS:
        times = [r for r in record["splits"] if (r["heads_q"], r["len_kv"]) == (heads_q, len_kv)]
        print(
            heads_q,
            heads_kv,
            len_kv,
            " ".join(f"{r['num_splits']}:{r['time_us']:.1f}" for r in times),
        )
    print(
        record["gpu"],
        record["torch"],
        record["triton"],
        record["date"],
        f"{time.time() - began:.0f} s",
    )


if __name__ == "__main__":
    main(sys.argv[1])
