"""fdlib.gpus: look-up by device name, derived numbers, and a source beside every number."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import pytest

from fdlib.gpus import GPUS, GpuSpec, get_gpu

NUMBERS = [
    f.name for f in dataclasses.fields(GpuSpec) if f.name not in {"name", "full_name", "sources"}
]
DEVICE_NAMES = [
    ("Tesla T4", "T4"),
    ("NVIDIA L4", "L4"),
    ("NVIDIA A100-SXM4-80GB", "A100"),
    ("NVIDIA H100 80GB HBM3", "H100"),
    ("NVIDIA H200", "H200"),
    ("NVIDIA B200", "B200"),
    ("NVIDIA GeForce RTX 4090", "RTX 4090"),
]
OTHER_PARTS = [
    "NVIDIA A100-SXM4-40GB",
    "NVIDIA A100 80GB PCIe",
    "NVIDIA H100 PCIe",
    "NVIDIA H100 NVL",
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    "NVIDIA GH200 480GB",
    "NVIDIA GeForce RTX 4090 D",
    "NVIDIA GeForce RTX 4090 Laptop GPU",
    "NVIDIA L40S",
    "T4 L4",
]


@pytest.mark.parametrize(("device_name", "name"), DEVICE_NAMES)
def test_device_names_of_torch(device_name: str, name: str) -> None:
    assert get_gpu(device_name) is GPUS[name]


def test_every_gpu_has_a_device_name_here() -> None:
    assert {name for _, name in DEVICE_NAMES} == set(GPUS)


@pytest.mark.parametrize("name", list(GPUS))
def test_short_names_in_any_case(name: str) -> None:
    for text in (name, name.lower(), f"  nvidia {name.lower()} ", name.replace(" ", "")):
        assert get_gpu(text) is GPUS[name]


@pytest.mark.parametrize("name", [*OTHER_PARTS, "", "nvidia", "80GB", "cpu", None, 90])
def test_unknown_names_are_refused(name: object) -> None:
    with pytest.raises(ValueError) as error:
        get_gpu(name)  # type: ignore[arg-type]
    assert str(error.value) == (
        f"name: got {name!r}, takes one of T4, L4, A100, H100, H200, B200, RTX 4090"
    )


@pytest.mark.parametrize("spec", GPUS.values(), ids=GPUS)
def test_every_number_is_positive_and_has_its_source(spec: GpuSpec) -> None:
    assert set(spec.sources) == set(NUMBERS)
    for number in NUMBERS:
        assert getattr(spec, number) > 0
    for number in set(NUMBERS) - {"num_sms", "l2_mb"}:
        assert "http" in spec.sources[number], number


@pytest.mark.parametrize("spec", GPUS.values(), ids=GPUS)
def test_numbers_fit_each_other(spec: GpuSpec) -> None:
    assert spec.shared_kb_per_block <= spec.shared_kb_per_sm
    assert spec.threads_per_sm % 32 == 0
    cores_per_sm = 64 if spec.compute_capability <= 80 else 128
    boost_ghz = spec.fp32_tflops * 1e3 / (2 * cores_per_sm * spec.num_sms)
    assert 1.3 < boost_ghz < 2.6
    tensor_flops_per_clock = spec.fp16_tflops * 1e3 / (spec.num_sms * boost_ghz)
    # A sparse number taken for a dense one lands a factor of two off. Hopper and Blackwell run
    # their tensor cores below the boost clock of the float32 number, hence the tolerance.
    dense = {"T4": 1024, "L4": 1024, "A100": 2048, "RTX 4090": 512, "B200": 8192}
    assert tensor_flops_per_clock == pytest.approx(dense.get(spec.name, 4096), rel=0.12)


def test_ridge_is_flops_per_byte() -> None:
    assert GPUS["A100"].ridge == pytest.approx(312e12 / 2039e9)
    assert GPUS["T4"].ridge == pytest.approx(203.1, abs=0.1)


def test_bf16_starts_at_ampere() -> None:
    assert [spec.name for spec in GPUS.values() if not spec.supports_bf16] == ["T4"]


def test_a_spec_is_frozen_hashable_and_survives_pickling() -> None:
    spec = GPUS["H200"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.num_sms = 1  # type: ignore[misc]
    assert len(set(GPUS.values())) == len(GPUS)
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_import_needs_no_torch() -> None:
    code = "import sys, fdlib.gpus, fdlib.shapes; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
