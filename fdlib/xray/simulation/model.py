"""The numbers behind the simulation: fitted on one GPU's recording, and how they carry over to the other GPUs.

The time of a step limits a program: `attention_step_ns` or `merge_step_ns`. Little's law, bytes in flight over latency,
would allow it several times as much; it shapes how the memory saturates when many programs ask (`Limits.taken`).

Fitted by tests/gpu/fit_model.py, which prints `FITTED` and a table of what is left over (`residual_table`), and fits to
half of the shapes to judge by the others. tests/xray/recorded_points.py says what the fit makes small. Fitted at
head_dim 128, bfloat16, one query; elsewhere the same numbers are taken, for want of better ones.

What the recorded timelines show, and the model does too: programs go to one SM each, then round again, then to the slot
that frees up next. A program that shares its SM waits longer before it draws, and draws a little less than one that is
alone. With three on each SM, 24 of the 132 SMs give a program 1.33 times what the others do, whatever the shape: as if
SMs shared ports by six, and those by four. (132 SMs in GPCs of 18 and 16 leave six groups of four: an inference, no
document says so.) The combine waits for 16 rows of partial results at a time, longer where L2 has lost one of them.

What does not fit, and why (how much: `fdlib.xray.residuals.residual_table`, its columns 'worst' and '> 5'):
- Programs for 1.3 rounds of three on each SM (512 on 132): the light SMs take a second round and, alone with three,
  get some 47 GB/s each, where the model gives `sm_gbs`. Utilisation is too high, the time too short.
- Splits of one or two key blocks in many rounds: the model makes their rounds too even. These times are off most.
- Calls below 10 us: too long. `gap_ns` and `merge_step_ns` are one number each, and the recorded timelines
  and times are of two compiled forms of a kernel; the instrumented combine is 5 to 20% faster than the plain one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fdlib.gpus import GPUS, GpuSpec
from fdlib.xray.simulation.fluid import Limits
from fdlib.xray.simulation.occupancy import programs_per_sm
from fdlib.xray.simulation.work import Work

__all__ = [
    "FITTED",
    "FITTED_DATE",
    "FITTED_ON",
    "LATENCY_CYCLES",
    "LIGHT_SMS",
    "Parameters",
    "clock_ghz",
    "launch_limits",
    "parameters_for",
    "where_from",
]


@dataclass(frozen=True)
class Parameters:
    """What the fit chooses: ns, and 10^9 bytes a second.

    `launch_ns`: of a call, besides its kernels' programs; it hardly matters, a replayed graph hides
    it. `gap_ns`: from the last program of the split kernel to the first of the combine.
    `attention_ns`: of a program, besides its loop; `spread` and `crowding` are parts of it, see
    `fdlib.xray.simulation.fluid.Limits`. `attention_step_ns`: one key block (two products, a softmax) when
    memory does not limit. `merge_step_ns`: 16 splits merged; `merge_far_ns`: how much longer where
    L2 has lost one of them. `sm_gbs` and `merge_sm_gbs`: the most that one SM takes in.
    `memory_gbs`: the most that HBM gives. `softness`: how sharp the knee is where requests begin to
    queue.
    """

    launch_ns: float
    gap_ns: float
    attention_ns: float
    attention_step_ns: float
    merge_step_ns: float
    merge_far_ns: float
    sm_gbs: float
    merge_sm_gbs: float
    memory_gbs: float
    softness: float
    spread: float
    crowding: float

    def longer(self, lost: Any) -> Any:
        """By what a merge takes longer, of whose steps the part ``lost`` reads from HBM."""
        return 1 + lost * self.merge_far_ns / self.merge_step_ns


FITTED_ON, FITTED_DATE = "H200", "2026-12-01"
FITTED = Parameters(
    launch_ns=105,
    gap_ns=2180,
    attention_ns=3160,
    attention_step_ns=823,
    merge_step_ns=1280,
    merge_far_ns=702,
    sm_gbs=62,
    merge_sm_gbs=11.8,
    memory_gbs=4600,
    softness=4.18,
    spread=0.253,
    crowding=0.191,
)

# Clock cycles from a load to its value, out of HBM or GDDR, nothing queueing; a pointer chase, not measured here.
# Source: https://github.com/markdewing/AI_kernels, latency/README.md, which did not lock the clocks. The H200's is of a
# GH200 with HBM3 (same chip, but the H200 has HBM3e), the L4's of an RTX 4090 (same architecture). The T4's is of an
# "RTX 2000", which may be of Turing or not: no Turing was measured, it is taken for want of a better one. A GPU that is
# not named here takes the H200's 690.
LATENCY_CYCLES = {
    "T4": 570,
    "L4": 636,
    "A100": 550,
    "H100": 700,
    "H200": 690,
    "B200": 860,
    "RTX 4090": 636,
}
# float32 lanes of an SM. Source: CUDA C++ Programming Guide, throughput of native arithmetic instructions,
# https://docs.nvidia.com/cuda/cuda-c-programming-guide/#throughput-of-native-arithmetic-instructions
_LANES = {75: 64, 80: 64, 89: 128, 90: 128, 100: 128}
# Read off the recorded timelines, not fitted. With 192 programs on 132 SMs, one of two on an SM draws 0.93 of what one
# alone does: 2 ** -EVENNESS. With three on each, programs on the light SMs draw 1.33 times what others do, with one or
# two hardly more: of six SMs with 18 programs a port keeps the bytes of 13.5 on their way, of 64 KiB each. Which SMs
# are missing differs from one GPU to the next, so another H200 has other light ones.
EVENNESS, PORT_KB = 0.1, 864
LIGHT_SMS = (
    *(0, 1, 22, 23, *range(34, 38), *range(40, 44), 48, 49),
    *(68, 69, *range(78, 82), *range(84, 88)),
)


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
    return replace(
        fit,
        attention_ns=fit.attention_ns * slower,
        attention_step_ns=fit.attention_step_ns * slower,
        merge_step_ns=fit.merge_step_ns * slower,
        merge_far_ns=fit.merge_far_ns * slower,
        sm_gbs=fit.sm_gbs / slower,
        merge_sm_gbs=fit.merge_sm_gbs / slower,
        memory_gbs=fit.memory_gbs * gpu.bandwidth_gbs / home.bandwidth_gbs,
    )


def where_from(gpu: GpuSpec) -> str:
    """What a picture says under a simulated timeline: which numbers it rests on."""
    if gpu.name == FITTED_ON:
        return f"model; parameters fitted on the {FITTED_ON} recording of {FITTED_DATE}"
    return f"model; data sheet numbers and the {FITTED_ON}'s behaviour, not fitted on this GPU"


def launch_limits(work: Work, gpu: GpuSpec, numbers: Parameters, lost: float = 0.0) -> Limits:
    """What bounds the programs of one launch on ``gpu``. Raises `ValueError` where a program fits on no SM.

    ``lost`` is the part of `Work.left_bytes` that L2 no longer has.
    """
    attention = work.loop == "attention"
    buffers = work.buffers if gpu.compute_capability >= 80 else 1  # no asynchronous copies before
    in_flight = buffers * work.tile_bytes
    in_shared = work.shared_bytes + (in_flight if attention else 0)
    cycles = LATENCY_CYCLES.get(gpu.name, LATENCY_CYCLES[FITTED_ON])
    in_flight_gbs = in_flight / (cycles / clock_ghz(gpu))
    from_hbm = work.hbm_bytes + lost * work.left_bytes
    longer = numbers.longer(lost)  # waits, in which an SM and the memory serve others
    reuse = work.step_bytes * float(work.program_steps.sum()) * longer / max(from_hbm, 1)
    compute_ns = _compute_ns(work, gpu)
    step_ns = max(numbers.attention_step_ns if attention else numbers.merge_step_ns, compute_ns)
    sm_gbs = numbers.sm_gbs if attention else numbers.merge_sm_gbs * longer
    return Limits(
        num_sms=gpu.num_sms,
        programs_per_sm=programs_per_sm(
            gpu, threads=work.threads, shared_bytes=in_shared, registers=work.registers
        ),
        program_gbs=min(work.step_bytes / step_ns, in_flight_gbs),  # the first, for fdlib's kernels
        sm_gbs=min(sm_gbs, work.step_bytes / compute_ns) if compute_ns else sm_gbs,
        in_flight_gbs=in_flight_gbs,
        memory_gbs=max(numbers.memory_gbs * reuse, 1e-9),
        softness=numbers.softness,
        fixed_ns=numbers.attention_ns if attention else 0.0,
        spread=numbers.spread,
        crowding=numbers.crowding,
        evenness=EVENNESS,
        ports=_ports(gpu) if attention else None,
        port_programs=PORT_KB * 1024 / in_flight,
    )


def _ports(gpu: GpuSpec) -> np.ndarray | None:
    """The port of each SM: `LIGHT_SMS` share theirs by four, the others by six. None where nobody has looked."""
    if gpu.name != FITTED_ON or gpu.num_sms != GPUS[FITTED_ON].num_sms:
        return None
    light = np.zeros(gpu.num_sms, bool)
    light[list(LIGHT_SMS)] = True
    sixes, fours = np.cumsum(~light) - 1, np.cumsum(light) - 1
    return np.where(light, (~light).sum() // 6 + fours // 4, sixes // 6)


def _compute_ns(work: Work, gpu: GpuSpec) -> float:
    """The products of one step at the SM's peak: without tensor cores before sm_80 (Triton) and in exact float32."""
    tensor_cores = gpu.compute_capability >= 80 and not work.float32
    tflops = gpu.fp16_tflops if tensor_cores else gpu.fp32_tflops
    return work.step_flops / (tflops * 1e3 / gpu.num_sms)
