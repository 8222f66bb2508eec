"""Compile fdlib's kernels for GPUs that are not here, and print what came out as JSON: the child of test_compiles.py.

`fdlib.xray.compiled` stops every launch after compiling. So the real launchers choose the settings, and Triton's
own cache says how many compilations they asked for.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from fdlib.attention import combine, flash_attention, flash_decoding, inputs
from fdlib.xray.compiled import compiling_for, resources

import torch  # isort: skip

inputs.check_for_kernel = lambda name, x: None  # tensors are on the CPU: nothing is launched

KERNELS = {
    "flash_attention": flash_attention._flash_attention_kernel,
    "split": flash_decoding._split_kernel,
    "combine": combine._combine_kernel,
}
# stage, compute capability, dtype, head_dim, group, len_q: the tiles from the smallest to the largest
SETTINGS = [
    ("attention", 75, "float16", 128, 1, 64),
    ("decode", 75, "float16", 128, 4, 1),
    ("decode", 75, "float32", 256, 4, 1),
    ("decode", 75, "float16", 64, 4, 1),
    ("decode", 75, "float16", 256, 4, 1),
    ("attention", 75, "float32", 64, 1, 64),
    ("decode", 80, "bfloat16", 128, 8, 8),
    ("decode", 80, "float32", 128, 4, 1),
    ("attention", 80, "float16", 256, 1, 64),
    ("attention", 80, "float32", 80, 1, 64),
    ("decode", 89, "float16", 80, 8, 8),
    ("decode", 89, "bfloat16", 256, 8, 8),
    ("decode", 89, "float32", 256, 4, 1),
    ("attention", 89, "bfloat16", 128, 1, 64),
    ("decode", 90, "bfloat16", 128, 4, 1),
    ("decode", 90, "float16", 256, 8, 8),
    ("decode", 90, "float32", 64, 4, 1),
    ("decode", 90, "bfloat16", 128, 8, 8),
    ("decode", 100, "bfloat16", 128, 4, 1),
]


def call(
    stage: str,
    dtype: str,
    head_dim: int,
    group: int,
    len_q: int,
    len_kv: int = 1000,
    batch: int = 2,
    num_splits: int = 3,
) -> None:
    q = torch.empty(batch, len_q, 2 * group, head_dim, dtype=getattr(torch, dtype))
    k = torch.empty(batch, len_kv, 2, head_dim, dtype=q.dtype)
    if stage == "attention":
        flash_attention.flash_attention(q, k, k, causal=True)
    else:
        lens = torch.full((batch,), len_kv, dtype=torch.int32)
        flash_decoding.flash_decode(q, k, k, cache_seqlens=lens, num_splits=num_splits)


def compiled(device: int) -> dict[str, list]:
    caches = {name: kernel.device_caches for name, kernel in KERNELS.items()}
    return {
        name: list(by_device[device][0].values()) if device in by_device else []
        for name, by_device in caches.items()
    }


def report(setting: tuple, device: int) -> list[dict]:
    stage, capability, *sizes = setting
    with compiling_for(capability, device):
        call(stage, *sizes)
    rows = []
    for name, kernels in compiled(device).items():
        for kernel in kernels:
            names = KERNELS[name].arg_names
            rows.append(
                {
                    "setting": list(setting),
                    "kernel": name,
                    "constants": sorted(names[path[0]] for path in kernel.src.constants),
                    **asdict(resources(kernel)),
                }
            )
    return rows


def compilations(device: int, stage: str, head_dim: int, sweep: list[dict]) -> dict[str, int]:
    """How many compilations of each kernel the calls of `sweep` would ask for."""
    with compiling_for(90, device, compiles=False):
        for sizes in sweep:
            call(
                stage, **{"dtype": "float16", "head_dim": head_dim, "group": 4, "len_q": 1, **sizes}
            )
    return {name: len(kernels) for name, kernels in compiled(device).items()}


def sweeps() -> dict[str, dict[str, int]]:
    lengths = [
        {"len_kv": n} for n in (1, 2, 3, 15, 16, 17, 64, 100, 129, 1000, 4096, 32_768, 100_000)
    ]
    splits = [{"num_splits": n} for n in (2, 3, 7, 8, 16, 17, 64)]
    queries = [{"len_q": n, "len_kv": 16} for n in (16, 17, 31, 32, 64, 100, 1000, 4096)]
    return {
        "decode, lengths": compilations(1000, "decode", 128, lengths),
        "decode, lengths, head_dim 100": compilations(1001, "decode", 100, lengths),
        "decode, splits": compilations(1002, "decode", 128, splits),
        "attention, lengths": compilations(1003, "attention", 128, lengths),
        "attention, queries": compilations(
            1004, "attention", 128, [s for s in queries if s["len_q"] >= 64]
        ),
        "decode, batches": compilations(1005, "decode", 128, [{"batch": n} for n in range(1, 10)]),
        "decode, queries": compilations(1006, "decode", 128, [{"len_q": n} for n in (1, 2, 3, 4)]),
    }


if __name__ == "__main__":
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    mine = range(part, len(SETTINGS), parts)
    rows = [row for device in mine for row in report(SETTINGS[device], device)]
    json.dump({"kernels": rows, "compilations": sweeps() if part == 0 else {}}, sys.stdout)
