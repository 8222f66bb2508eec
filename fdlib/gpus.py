"""Data sheet numbers of the GPUs that the course speaks of, each with its source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["GPUS", "GpuSpec", "get_gpu"]


@dataclass(frozen=True)
class GpuSpec:
    """One GPU: sizes, peak rates and per-SM limits; `sources` names each number's document.

    GB/s are powers of ten, as data sheets print them. memory_gb is the size that the GPU is sold
    under, not a count of bytes. l2_mb and shared_kb are powers of two.
    A TFLOPS is 10^12 FLOP/s, dense (no 2:4 sparsity), at boost clock. `shared_kb_per_block` is
    what a block gets after opting in. `registers_per_sm` counts 32-bit registers.

    >>> h200 = get_gpu("NVIDIA H200")
    >>> h200.num_sms, h200.bandwidth_gbs, h200.supports_bf16
    (132, 4800, True)
    >>> round(h200.ridge)
    206
    """

    name: str
    full_name: str
    compute_capability: int
    num_sms: int
    memory_gb: int
    bandwidth_gbs: float
    l2_mb: int
    fp16_tflops: float
    fp32_tflops: float
    shared_kb_per_sm: int
    shared_kb_per_block: int
    registers_per_sm: int
    threads_per_sm: int
    blocks_per_sm: int
    sources: Mapping[str, str] = field(repr=False, compare=False)

    @property
    def supports_bf16(self) -> bool:
        """Whether the tensor cores take bfloat16: compute capability 8.0 and up."""
        return self.compute_capability >= 80

    @property
    def ridge(self) -> float:
        """FLOPs per byte at which fp16 tensor-core time equals memory time."""
        return self.fp16_tflops * 1e12 / (self.bandwidth_gbs * 1e9)


# Compute capability -> the five limits of _LIMIT_FIELDS.
_GUIDE = "Compute Capabilities, Tables 30, 31: https://docs.nvidia.com/cuda/cuda-programming-guide/"
_LIMIT_FIELDS = tuple(
    "shared_kb_per_sm shared_kb_per_block registers_per_sm threads_per_sm blocks_per_sm".split()
)
_LIMITS = {
    75: (64, 64, 65536, 1024, 16),
    80: (164, 163, 65536, 2048, 32),
    89: (100, 99, 65536, 1536, 24),
    90: (228, 227, 65536, 2048, 32),
    100: (228, 227, 65536, 2048, 32),
}

# Where a number below comes from. "driver" is what the GPU itself answers (deviceQuery of the CUDA
# samples, torch.cuda.get_device_properties); its bandwidth is bus width x memory clock x 2.
# Whitepapers are cited as others quote them word for word. "not re-checked" says what it says.
_NVIDIA = "https://www.nvidia.com/en-us/data-center/"
_IMAGES = "https://images.nvidia.com/aem-dam/"
_NOT_CHECKED = "data sheet, not re-checked: "
_DRIVER = "driver, deviceQuery: https://github.com/NVIDIA/cuda-samples"
_TORCH = "driver, torch.cuda.get_device_properties"
_AO = "driver, https://github.com/pytorch/ao/pull/4002"
_AMPERE = f"{_IMAGES}en-zz/Solutions/data-center/nvidia-ampere-architecture-whitepaper.pdf"
_HOPPER = "H100 whitepaper, https://resources.nvidia.com/en-us-tensor-core/gtc22-whitepaper-hopper"
_ADA = f"Ada whitepaper, App. A, {_IMAGES}Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf"
_H200 = "https://github.com/NVIDIA/TensorRT-LLM, docs/source/blogs/H200launch.md"
_RATES = "https://github.com/NVIDIA-NeMo/RL, nemo_rl/utils/flops_tracker.py"
_TUNING = "Blackwell Tuning Guide, https://docs.nvidia.com/cuda/blackwell-tuning-guide/"
_HGX = "HGX B200, https://resources.nvidia.com/en-us-blackwell-architecture/datasheet"


def _gpu(name: str, full_name: str, cc: int, **numbers: tuple[float, str]) -> GpuSpec:
    """A GpuSpec from (number, source) pairs, with the limits of its compute capability."""
    limits = dict(zip(_LIMIT_FIELDS, _LIMITS[cc], strict=True))
    sources = {key: source for key, (_, source) in numbers.items()}
    sources |= dict.fromkeys(limits, _GUIDE)
    sources["compute_capability"] = "https://developer.nvidia.com/cuda-gpus; " + _DRIVER
    values: dict[str, Any] = {key: value for key, (value, _) in numbers.items()}
    return GpuSpec(name, full_name, cc, **values, **limits, sources=sources)


_SPECS = (
    _gpu(
        "T4",
        "NVIDIA T4 16 GB (PCIe)",
        75,
        num_sms=(40, _DRIVER),
        memory_gb=(16, f"{_NOT_CHECKED}{_NVIDIA}tesla-t4/; the driver shows 15.8"),
        bandwidth_gbs=(320, _DRIVER + "; 256 bit x 5001 MHz x 2. The data sheet prints 300."),
        l2_mb=(4, _DRIVER),
        fp16_tflops=(65, f"{_NOT_CHECKED}{_NVIDIA}tesla-t4/ (40 SMs x 1024 FLOP x 1.59 GHz)"),
        fp32_tflops=(8.1, f"{_NOT_CHECKED}{_NVIDIA}tesla-t4/ (2560 cores x 2 x 1.59 GHz)"),
    ),
    _gpu(
        "L4",
        "NVIDIA L4 24 GB (PCIe)",
        89,
        num_sms=(58, _DRIVER),
        memory_gb=(24, f"{_NOT_CHECKED}{_NVIDIA}l4/; the driver shows 23.6"),
        bandwidth_gbs=(300, _DRIVER + "; 192 bit x 6251 MHz x 2"),
        l2_mb=(48, _DRIVER),
        fp16_tflops=(121, f"{_NOT_CHECKED}{_NVIDIA}l4/ prints 242 with sparsity; half is dense"),
        fp32_tflops=(30.3, f"{_NOT_CHECKED}{_NVIDIA}l4/ (7424 cores x 2 x 2.04 GHz)"),
    ),
    _gpu(
        "A100",
        "NVIDIA A100 80 GB (SXM4)",
        80,
        num_sms=(108, _DRIVER),
        memory_gb=(80, _DRIVER + ", in the device name"),
        bandwidth_gbs=(2039, _DRIVER + "; 5120 bit x 1593 MHz x 2"),
        l2_mb=(40, _DRIVER),
        fp16_tflops=(312, _AMPERE + ", dense; 624 with sparsity"),
        fp32_tflops=(19.5, _AMPERE),
    ),
    _gpu(
        "H100",
        "NVIDIA H100 80 GB HBM3 (SXM5)",
        90,
        num_sms=(132, _DRIVER),
        memory_gb=(80, _DRIVER + ", in the device name"),
        bandwidth_gbs=(3350, _DRIVER + "; 5120 bit x 2619 MHz x 2"),
        l2_mb=(50, _DRIVER + "; also the H100 whitepaper"),
        fp16_tflops=(989.4, _HOPPER + ", dense; 1978.9 with sparsity"),
        fp32_tflops=(67, f"{_RATES}, as {_NVIDIA}h100/"),
    ),
    _gpu(
        "H200",
        "NVIDIA H200 141 GB HBM3e (SXM5)",
        90,
        num_sms=(132, _TORCH),
        memory_gb=(141, _H200),
        bandwidth_gbs=(4800, _H200),
        l2_mb=(60, _TORCH + ". The 50 of the whitepaper is the H100."),
        fp16_tflops=(989.4, f"{_RATES} has 1979 / 2; same chip and rate as the H100"),
        fp32_tflops=(67, f"{_RATES}, as {_NVIDIA}h200/"),
    ),
    _gpu(
        "B200",
        "NVIDIA B200 180 GB HBM3e (HGX)",
        100,
        num_sms=(148, _AO),
        memory_gb=(180, _TUNING),
        bandwidth_gbs=(7700, f"{_HGX}; {_AO}: 7680 bit x 3996 MHz x 2. First papers print 8000."),
        l2_mb=(126, f"{_TUNING}; {_AO}"),
        fp16_tflops=(2250, f"{_RATES} has 4500 / 2; 4500 is with sparsity"),
        fp32_tflops=(75, f"{_NOT_CHECKED}{_HGX}. First papers print 80."),
    ),
    _gpu(
        "RTX 4090",
        "NVIDIA GeForce RTX 4090 24 GB",
        89,
        num_sms=(128, _DRIVER),
        memory_gb=(24, _ADA + "; the driver shows 25.3"),
        bandwidth_gbs=(1008, _DRIVER + "; 384 bit x 10501 MHz x 2"),
        l2_mb=(72, _DRIVER),
        fp16_tflops=(165.2, _ADA + ", dense, float32 accumulate; float16 accumulate is 330.3"),
        fp32_tflops=(82.6, _ADA),
    ),
)

GPUS: dict[str, GpuSpec] = {spec.name: spec for spec in _SPECS}

# Words of a device name that do not tell one GPU of GPUS from another. PCIE, NVL, D, Laptop and
# MIG are not among them: those are other parts with other numbers.
_BRANDS = {"nvidia", "tesla", "geforce", "rtx", "gpu", "sxm", "sxm4", "sxm5", "hbm3", "hbm3e"}


def get_gpu(name: str) -> GpuSpec:
    """The GpuSpec of a GPU, by its name in GPUS or by what torch.cuda.get_device_name returns.

    Case does not matter. Raises ValueError for a name that is none of GPUS, also for another
    version of one: the 40 GB A100, an H100 PCIe, a laptop RTX 4090, a MIG slice.

    >>> get_gpu("NVIDIA H100 80GB HBM3").name, get_gpu("Tesla T4").name
    ('H100', 'T4')
    """
    text = name.lower().replace("rtx", "rtx ") if isinstance(name, str) else ""
    words = [word for word in re.findall(r"[a-z0-9]+", text) if word not in _BRANDS]
    for spec in GPUS.values():
        model = spec.name.lower().removeprefix("rtx ")
        if words in ([model], [model, f"{spec.memory_gb}gb"]):
            return spec
    raise ValueError(f"name: got {name!r}, takes one of {', '.join(GPUS)}")
