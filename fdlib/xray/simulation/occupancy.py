"""How many programs of a kernel one SM holds at a time: what its shared memory, registers, threads and slots allow."""

from __future__ import annotations

from fdlib.gpus import GpuSpec
from fdlib.plan import cdiv

__all__ = ["programs_per_sm"]

# Source: `cuda_occupancy.h` of the CUDA toolkit, the code behind cudaOccupancyMaxActiveBlocksPerMultiprocessor.
WARP_THREADS, REGISTER_UNIT, SM_QUARTERS = 32, 256, 4
# Source: CUDA C++ Programming Guide, the tables of compute capabilities,
# https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities
MAX_REGISTERS_PER_THREAD = 255
MAX_THREADS_PER_PROGRAM = 1024


def programs_per_sm(
    gpu: GpuSpec, *, threads: int = 128, shared_bytes: int = 0, registers: int = 32
) -> int:
    """Programs (thread blocks) of one kernel that fit on one SM of ``gpu`` together.

    ``threads`` and ``shared_bytes`` are those of a program, ``registers`` those of a thread. Raises
    `ValueError` for a program that fits on no SM. Sources: `cuda_occupancy.h` of the CUDA toolkit
    for the arithmetic, the CUDA C++ Programming Guide for the largest program and the reserved 1 KiB.

    fdlib's split kernel, head_dim 128, in 16 bits:

    >>> from fdlib.gpus import get_gpu
    >>> [programs_per_sm(get_gpu(name), shared_bytes=71_680, registers=136) for name in ("H200", "L4")]
    [3, 1]
    """
    if not 1 <= threads <= MAX_THREADS_PER_PROGRAM:
        raise ValueError(f"threads: got {threads}, takes 1 to {MAX_THREADS_PER_PROGRAM}")
    if not 1 <= registers <= MAX_REGISTERS_PER_THREAD:
        raise ValueError(f"registers: got {registers}, takes 1 to {MAX_REGISTERS_PER_THREAD}")
    most = gpu.shared_kb_per_block * 1024
    if not 0 <= shared_bytes <= most:
        raise ValueError(
            f"shared_bytes: got {shared_bytes}, takes 0 to {most}: a program on {gpu.name} gets no more"
        )
    warps = cdiv(threads, WARP_THREADS)
    counts = [gpu.blocks_per_sm, gpu.threads_per_sm // (warps * WARP_THREADS)]
    counts.append(_by_registers(gpu, warps, registers))
    counts.append(_by_shared_memory(gpu, shared_bytes))
    if min(counts) < 1:
        raise ValueError(
            f"registers: got {registers} for each of {threads} threads, "
            f"takes at most {gpu.registers_per_sm} for a program on {gpu.name}"
        )
    return min(counts)


def _by_registers(gpu: GpuSpec, warps: int, registers: int) -> int:
    """A warp gets registers in units of 256, and lives in one quarter of the SM."""
    of_warp = cdiv(registers * WARP_THREADS, REGISTER_UNIT) * REGISTER_UNIT
    warps_of_quarter = gpu.registers_per_sm // SM_QUARTERS // of_warp
    return warps_of_quarter * SM_QUARTERS // warps


def _by_shared_memory(gpu: GpuSpec, shared_bytes: int) -> int:
    """From compute capability 8.0 the system keeps 1 KiB of each program (CUDA C++ Programming Guide)."""
    reserved, unit = (1024, 128) if gpu.compute_capability >= 80 else (0, 256)
    of_program = cdiv(shared_bytes + reserved, unit) * unit
    return gpu.shared_kb_per_sm * 1024 // of_program if of_program else gpu.blocks_per_sm
