"""What compiles and would still not run, or run badly, on the GPU that it was compiled for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fdlib.course.grading.compile_errors import call_line, float32_dot_line
from fdlib.course.grading.compile_rules import DOT, POINTERS
from fdlib.gpus import GpuSpec

if TYPE_CHECKING:
    from fdlib.xray.compiled import Resources

__all__ = ["resource_warning", "warnings_of"]

_MANY_SPILL_BYTES = 512  # a thread: half of what its registers hold
_TF32 = (
    "tl.dot cuts float32 to TF32 here: 11 significant bits instead of 24, an error of about 1e-3. "
    "The interpreter multiplies in full float32 and cannot show it. "
    'Write input_precision="ieee" in every tl.dot.'
)
_NO_ALLOCATOR = (
    "The launch would fail on this GPU: the kernel needs {} bytes of global memory of its own, and Triton has not "
    "been told where to take them from.\n"
    "tl.make_tensor_descriptor asks for them, on GPUs from the H100 on. The interpreter and older GPUs need none.\n"
    "Write the load with pointers and a mask, or call triton.set_allocator before the launch."
)


def warnings_of(
    gpu: GpuSpec, kernel: Any, takes: Resources, *, ieee: bool, path: Path, source: str
) -> dict[str, Any]:
    """`warning` of a compiled kernel, with `fails`, `location` and `read` if it is as bad as an error."""
    row: dict[str, Any] = {
        "warning": resource_warning(gpu, takes.shared_bytes, takes.local_bytes or 0)
    }
    worse: list[str] = []
    if takes.tf32:
        worse.append(_TF32)
        row |= {"fails": ieee, "location": float32_dot_line(path, source), "read": DOT}
    if scratch_bytes := _missing_memory(kernel):
        worse.append(_NO_ALLOCATOR.format(scratch_bytes))
        where = call_line("make_tensor_descriptor", path, source)
        row |= {"fails": True, "location": where, "read": POINTERS}
    row["warning"] = "\n".join(filter(None, [*worse[::-1], row["warning"]]))
    return row


def _missing_memory(kernel: Any) -> int:
    """Bytes that the launch would ask Triton's allocator for, where there is none."""
    from triton.runtime import _allocation

    scratch_bytes = int(getattr(kernel.metadata, "global_scratch_size", 0) or 0)
    held: Any = getattr(_allocation, "_allocator", None)
    held = held.get() if hasattr(held, "get") else held
    return scratch_bytes if type(held).__name__ == "NullAllocator" else 0


def resource_warning(gpu: GpuSpec, shared_bytes: int, spill_bytes: int) -> str:
    """What to say of more shared memory than the GPU has, and of many spills; "" of neither."""
    lines = []
    if shared_bytes > gpu.shared_kb_per_block * 1024:
        lines.append(
            f"This GPU would refuse the launch: a program needs {shared_bytes / 1024:.0f} KiB of "
            f"shared memory, and it has {gpu.shared_kb_per_block} KiB. Smaller blocks need less."
        )
    if spill_bytes >= _MANY_SPILL_BYTES:
        lines.append(
            f"It would run slowly: {spill_bytes:,} bytes a thread find no register and are moved to "
            "memory and back (spills). Smaller blocks need fewer."
        )
    return "\n".join(lines)
