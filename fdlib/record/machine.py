"""What a record says of the machine: versions, clocks, the floor under every time, and what one busy SM looks like."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from fdlib.doctor import machine_facts
from fdlib.record.kernels import empty_kernel, spin_kernel, timer_kernel
from fdlib.record.reads import ReadSetting, fastest_read
from fdlib.record.timing import median_us
from fdlib.xray.recorder import short_name
from fdlib.xray.timeline import timeline

__all__ = ["clocks", "facts", "floor", "one_busy_sm", "resources", "timer_tick_ns"]

_CLOCKS = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem")
_EMPTY_LAUNCHES = 500
_SPIN_S, _SAMPLE_S = 3.0, 0.3
_MEANING = (
    "Percent of time over the past sample period (1/6 to 1 s) during which one or more kernels was executing "
    "on the GPU; nvmlUtilization_t.gpu, https://docs.nvidia.com/deploy/nvml-api/structnvmlUtilization__t.html"
)


def facts() -> dict[str, Any]:
    """Versions as `fdlib.doctor` finds them, and what the driver says of the GPU."""
    properties = torch.cuda.get_device_properties(0)
    found: dict[str, Any] = dict(machine_facts())
    found |= {"gpu": properties.name, "gpu_name": short_name(properties.name)}
    found |= {"torch": torch.__version__, "cuda": torch.version.cuda}
    found["num_sms"] = properties.multi_processor_count
    found["l2_bytes"] = properties.L2_cache_size
    found["memory_bytes"] = properties.total_memory
    return found


def clocks() -> dict[str, int | None]:
    """Clocks in MHz, now and at most, as nvidia-smi reads them."""
    values = _nvidia_smi(",".join(_CLOCKS)).split(",")
    values += [""] * (len(_CLOCKS) - len(values))
    names = [f"{name.replace('clocks.', '').replace('.', '_')}_mhz" for name in _CLOCKS]
    return {
        name: int(value) if value.strip().isdigit() else None
        for name, value in zip(names, values, strict=True)
    }


def _nvidia_smi(query: str) -> str:
    command = ["nvidia-smi", "--id=0", f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def floor(memory: torch.Tensor) -> dict[str, float]:
    """How fast a kernel that only reads gets through ``memory``, and what a launch that does nothing costs."""
    x = memory[: 2**31]  # 4 GiB
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    ways = [ReadSetting(sms * k, *each) for k in (2, 4, 8) for each in ((4096, 4), (8192, 8))]
    _, best_us = fastest_read([x, x], ways)
    launch = partial(empty_kernel[(1,)], torch.empty(1, device="cuda"))
    return {
        "read_bytes": x.numel() * x.element_size(),
        "read_gbs": round(x.numel() * x.element_size() / best_us / 1e3, 1),
        "empty_launch_us": round(median_us([launch] * _EMPTY_LAUNCHES), 3),  # in a row of them
        "empty_graph_us": round(median_us([launch], replays=51), 3),  # a graph that holds one
    }


def timer_tick_ns() -> int:
    """The step of %globaltimer: the least difference between two readings that differ."""
    out = torch.zeros(1 << 16, dtype=torch.int64, device="cuda")
    timer_kernel[(1,)](out, out.numel(), num_warps=1)
    steps = out.diff()
    return int(steps[steps > 0].min())


def one_busy_sm() -> dict[str, Any]:
    """What nvidia-smi calls the GPU's utilisation while one program keeps one SM busy and the others have nothing."""
    out = torch.zeros(1, dtype=torch.int64, device="cuda")
    line = timeline(spin_kernel[(1,)], out, 1_000_000)
    torch.cuda.synchronize()
    spin_kernel[(1,)](out, int(_SPIN_S * 1e9))
    samples = list(_samples())
    torch.cuda.synchronize()
    return {
        "spin_s": round(int(out) / 1e9, 3),
        "busy_sms": line.busy_sms,
        "sm_utilisation": round(line.utilisation, 5),
        "samples": samples,  # seconds since the launch, and percent
        "nvidia_smi_percent": max((percent for _, percent in samples), default=None),
        "meaning": _MEANING,
    }


def _samples() -> Iterator[tuple[float, int]]:
    begin = time.monotonic()
    while (at := time.monotonic() - begin) < _SPIN_S - _SAMPLE_S:
        text = _nvidia_smi("utilization.gpu")
        if text.isdigit() and time.monotonic() - begin < _SPIN_S:
            yield round(at, 2), int(text)
        time.sleep(_SAMPLE_S)


def resources(*kernels: Any) -> list[dict[str, Any]]:
    """What each compiled form of ``kernels`` takes of an SM; forms that take the same stand once."""
    found: dict[str, dict[str, Any]] = {}
    for kernel in kernels:
        for compiled in kernel.device_caches[torch.cuda.current_device()][0].values():
            names, source = kernel.arg_names, compiled.src
            constants = {names[path[0]]: value for path, value in source.constants.items()}
            each = {
                "kernel": kernel.__name__,
                "constants": {n: int(v) for n, v in constants.items() if v is not None},
                "out": source.signature.get("Out"),
                "registers": getattr(compiled, "n_regs", None),  # None: never launched
                "spills": getattr(compiled, "n_spills", None),
                "shared_bytes": compiled.metadata.shared,
                "warps": compiled.metadata.num_warps,
                "stages": compiled.metadata.num_stages,
            }
            found[repr(each)] = each
    return list(found.values())
