"""The numbers behind the simulation: fitted on one GPU's recording, and how they carry over to the other GPUs.

Fitted by tests/gpu/fit_model.py, which prints `FITTED` and how far the simulated times are from the recorded ones.
Fitted at head_dim 128, bfloat16, one query; elsewhere the same numbers are taken, for want of better ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from fdlib.gpus import GPUS, GpuSpec
from fdlib.xray.fluid import Limits
from fdlib.xray.occupancy import programs_per_sm
from fdlib.xray.work import Work

__all__ = [
    "FITTED",
    "FITTED_DATE",
    "FITTED_ON",
    "LATENCY_CYCLES",
    "Parameters",
    "clock_ghz",
    "launch_limits",
    "parameters_for",
    "where_from",
]


@dataclass(frozen=True)
class Parameters:
    """What the fit chooses: ns, and 10^9 bytes a second.

    `launch_ns`: of a call, besides its kernels' programs. `gap_ns`: from the last program of the
    split kernel to the first of the combine. `attention_ns` and `merge_ns`: of a program, besides
    its loop. `attention_step_ns`: one key block (two products, a softmax) when memory does not
    limit. `merge_step_ns`: 16 splits merged. `sm_gbs`: the most that one SM takes in. `memory_gbs`:
    the most that HBM gives. `softness`: how sharp the knee is where requests begin to queue.
    """

    launch_ns: float
    gap_ns: float
    attention_ns: float
    attention_step_ns: float
    merge_ns: float
    merge_step_ns: float
    sm_gbs: float
    memory_gbs: float
    softness: float


FITTED_ON, FITTED_DATE = "H200", "2026-11-30"
FITTED = Parameters(
    launch_ns=387,
    gap_ns=1210,
    attention_ns=3260,
    attention_step_ns=823,
    merge_ns=371,
    merge_step_ns=1060,
    sm_gbs=61.1,
    memory_gbs=4270,
    softness=2.42,
)

# Clock cycles from a load to its value, out of HBM or GDDR, nothing queueing; a pointer chase, not measured here.
# Source: https://github.com/markdewing/AI_kernels, latency/README.md. The H200's is a GH200's (same chip and memory),
# the L4's an RTX 4090's (same architecture), the T4's an "RTX 2000" with 3 MiB of L2 and 6 GiB (a Turing with GDDR6).
LATENCY_CYCLES = {
    "T4": 570,
    "L4": 636,
    "A100": 550,
    "H100": 700,
    "H200": 690,
    "B200": 860,
    "RTX 4090": 636,
}
# float32 lanes of an SM. Source: the arithmetic throughput table of the CUDA C++ Programming Guide.
_LANES = {75: 64, 80: 64, 89: 128, 90: 128, 100: 128}


def clock_ghz(gpu: GpuSpec) -> float:
    """The boost clock behind the data sheet's float32 rate: lanes x 2 FLOPs x SMs x clock.

    >>> from fdlib.gpus import get_gpu
    >>> round(clock_ghz(get_gpu("H200")), 2)
    1.98
    """
    lanes = gpu.num_sms * _LANES.get(gpu.compute_capability, 128)
    return gpu.fp32_tflops * 1e3 / (2 * lanes)


def parameters_for(gpu: GpuSpec) -> Parameters:
    """`FITTED`, carried over: the memory by the data sheet's bandwidth, what an SM does by its clock.

    A launch costs the same everywhere. That is an assumption for every GPU but the one fitted on.
    """
    home, fit = GPUS[FITTED_ON], FITTED
    slower = clock_ghz(home) / clock_ghz(gpu)
    return Parameters(
        launch_ns=fit.launch_ns,
        gap_ns=fit.gap_ns,
        attention_ns=fit.attention_ns * slower,
        attention_step_ns=fit.attention_step_ns * slower,
        merge_ns=fit.merge_ns * slower,
        merge_step_ns=fit.merge_step_ns * slower,
        sm_gbs=fit.sm_gbs / slower,
        memory_gbs=fit.memory_gbs * gpu.bandwidth_gbs / home.bandwidth_gbs,
        softness=fit.softness,
    )


def where_from(gpu: GpuSpec) -> str:
    """What a picture says under a simulated timeline: which numbers it rests on."""
    if gpu.name == FITTED_ON:
        return f"model; parameters fitted on the {FITTED_ON} recording of {FITTED_DATE}"
    return f"model; data sheet numbers and the {FITTED_ON}'s behaviour, not fitted on this GPU"


def launch_limits(work: Work, gpu: GpuSpec, numbers: Parameters) -> Limits:
    """What bounds the programs of one launch on ``gpu``. Raises `ValueError` where a program fits on no SM."""
    buffers = work.buffers if gpu.compute_capability >= 80 else 1  # no asynchronous copies before
    in_flight = buffers * work.tile_bytes
    in_shared = in_flight + work.shared_bytes if work.loop == "attention" else work.shared_bytes
    attention = work.loop == "attention"
    compute_ns = _compute_ns(work, gpu)
    step_ns = max(numbers.attention_step_ns if attention else numbers.merge_step_ns, compute_ns)
    cycles = LATENCY_CYCLES.get(gpu.name, LATENCY_CYCLES[FITTED_ON])
    asking_gbs = in_flight / (cycles / clock_ghz(gpu))
    from_hbm = work.hbm_bytes + (work.left_bytes if work.left_bytes > gpu.l2_mb * 2**20 else 0)
    reuse = work.step_bytes * float(work.program_steps.sum()) / max(from_hbm, 1)
    return Limits(
        num_sms=gpu.num_sms,
        programs_per_sm=programs_per_sm(
            gpu, threads=work.threads, shared_bytes=in_shared, registers=work.registers
        ),
        program_gbs=min(work.step_bytes / step_ns, asking_gbs),
        sm_gbs=min(numbers.sm_gbs, work.step_bytes / compute_ns) if compute_ns else numbers.sm_gbs,
        asking_gbs=asking_gbs,
        memory_gbs=max(numbers.memory_gbs * reuse, 1e-9),
        softness=numbers.softness,
        fixed_ns=numbers.attention_ns if attention else numbers.merge_ns,
    )


def _compute_ns(work: Work, gpu: GpuSpec) -> float:
    """The products of one step at the SM's peak: without tensor cores before sm_80 (Triton) and in exact float32."""
    tensor_cores = gpu.compute_capability >= 80 and not work.float32
    tflops = gpu.fp16_tflops if tensor_cores else gpu.fp32_tflops
    return work.step_flops / (tflops * 1e3 / gpu.num_sms)
