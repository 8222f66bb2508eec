"""The kernels compile for GPUs from the T4 to the B200, fit their shared memory, and once for all lengths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

from fdlib.gpus import GPUS

pytestmark = pytest.mark.xdist_group("compiles")  # one worker compiles, once

CHILD = Path(__file__).with_name("compile_for_gpus.py")
ROOT = Path(__file__).resolve().parents[2]
SHARED_BYTES = {gpu.compute_capability: 1024 * gpu.shared_kb_per_block for gpu in GPUS.values()}
CAPABILITIES = (75, 80, 89, 90, 100)
PROCESSES = 2


@pytest.fixture(scope="module")
def compiled():
    """Everything that the children compiled: half a minute at first, seconds once Triton's cache has it."""
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "0",
        "PYTHONPATH": str(ROOT),
        "CUDA_VISIBLE_DEVICES": "",
    }
    children = [
        subprocess.Popen(
            [sys.executable, str(CHILD), str(part), str(PROCESSES)],
            env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for part in range(PROCESSES)
    ]  # fmt: skip
    outputs = [child.communicate(timeout=280) for child in children]
    for child, (_, errors) in zip(children, outputs, strict=True):
        assert child.returncode == 0, errors[-3000:]
    parts = [json.loads(text) for text, _ in outputs]
    return {
        "kernels": [kernel for part in parts for kernel in part["kernels"]],
        "compilations": parts[0]["compilations"],
    }


def of(compiled, capability):
    return [kernel for kernel in compiled["kernels"] if kernel["setting"][1] == capability]


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_compiles_within_shared_memory(compiled, capability, record_property):
    kernels = of(compiled, capability)
    assert {kernel["kernel"] for kernel in kernels} == {"flash_attention", "split", "combine"} - (
        {"flash_attention"} if capability >= 90 else set()
    )
    for kernel in kernels:
        assert kernel["shared_bytes"] <= SHARED_BYTES[capability], kernel


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_registers_and_spills(compiled, capability, record_property):
    """Recorded, not judged: on sm_75 dot products run without tensor cores, and the tiles spill."""
    for kernel in of(compiled, capability):
        stage, _, dtype, head_dim, group, len_q = kernel["setting"]
        used = f"{kernel.get('registers')} registers, {kernel.get('local_bytes')} bytes of local memory a thread"
        line = f"{kernel['kernel']} ({stage}, {dtype}, D {head_dim}, {group * len_q} rows): {used}"
        record_property(f"sm_{capability}", line)
        print(f"sm_{capability}  {line}")


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_float32_is_float32(compiled, capability):
    """No tf32 anywhere, and no tensor cores for float32; 16-bit dot products do use them, where they can."""
    for kernel in of(compiled, capability):
        assert not kernel["tf32"], kernel
        if kernel["setting"][2] == "float32" or kernel["kernel"] == "combine":
            assert not kernel["tensor_cores"], kernel
        elif capability >= 80:
            assert kernel["tensor_cores"], kernel


def test_no_length_is_a_constant(compiled):
    lengths = {"len_q", "len_kv", "num_splits", "heads_q", "heads_kv", "scale"}
    for kernel in compiled["kernels"]:
        assert not lengths & set(kernel["constants"]), kernel


@pytest.mark.parametrize(
    "sweep", ["decode, lengths", "decode, splits", "attention, lengths", "attention, queries"]
)
def test_one_compilation_serves_all_lengths(compiled, sweep):
    """Triton's own cache, asked for lengths of 1 to 100,000 and for 2 to 64 splits."""
    counts = compiled["compilations"][sweep]
    wanted = ["flash_attention"] if sweep.startswith("attention") else ["split", "combine"]
    assert counts == {name: int(name in wanted) for name in ("flash_attention", "split", "combine")}


@pytest.mark.parametrize(
    "sweep", ["decode, lengths, head_dim 100", "decode, batches", "decode, queries"]
)
def test_strides_cost_a_few_compilations_at_most(compiled, sweep):
    """Triton specialises strides that are 1 or multiples of 16: a head_dim of 100 makes batch strides of both kinds."""
    assert max(compiled["compilations"][sweep].values()) <= 3
