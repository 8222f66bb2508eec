"""Compile Triton kernels for GPUs that are not here, and read what they take.

A stand-in for Triton's driver names the target, and every launch stops after compiling. So the
real launchers choose the settings, with tensors on the CPU.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fdlib.device import require_triton

require_triton()

import triton  # noqa: E402  (compiled mode is chosen before triton is imported)
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.runtime.jit import JITFunction  # noqa: E402

__all__ = ["Launch", "Resources", "compiling_for", "not_launching", "resources", "warm_up"]


@dataclass(frozen=True)
class Launch:
    """One launch that stopped after compiling."""

    function: Any  # the @triton.jit function
    kernel: Any = None  # what Triton compiled; None if that failed
    error: BaseException | None = None  # what it raised

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__


@dataclass(frozen=True)
class Resources:
    """What one compiled kernel takes."""

    shared_bytes: int  # of a block
    tf32: bool  # a product of float32 is cut to TF32
    tensor_cores: bool
    registers: int | None = None  # per thread; None where Triton brings no `cuobjdump`
    local_bytes: int | None = None  # per thread: what found no register


@contextmanager
def compiling_for(
    capability: int, device: int = 0, *, compiles: bool = True
) -> Iterator[list[Launch]]:
    """In the block, launches compile for `capability` and are not run; the list grows by each.

    Triton keeps what it compiled per `device`, a number: take another one for each capability.
    Without `compiles` launches are looked up in that cache and counted, nothing more.
    """
    launches: list[Launch] = []

    def stop_before_launch(self: Any, *args: Any, grid: Any, warmup: bool, **kw: Any) -> Any:
        try:
            kernel = run(self, *args, grid=grid, warmup=True, **kw)
        except BaseException as error:
            launches.append(Launch(self, error=error))
            raise
        launches.append(Launch(self, kernel))
        return kernel

    def note(self: Any, key: Any, *_: Any) -> Any:
        self.device_caches[device][0][key] = key
        return key

    driver = triton.runtime.driver
    # Not through `active`: asked for, it looks for a GPU, and raises where there is none.
    before = vars(driver).get("_active", vars(driver).get("active"))
    driver.set_active(
        SimpleNamespace(
            get_current_device=lambda: device,
            get_current_stream=lambda device: 0,
            get_current_target=lambda: GPUTarget("cuda", capability, 32),
        )
    )
    run, compile_ = JITFunction.run, JITFunction._do_compile
    JITFunction.run = stop_before_launch
    if not compiles:
        JITFunction._do_compile = note
    try:
        yield launches
    finally:
        JITFunction.run, JITFunction._do_compile = run, compile_
        driver.set_active(before)


@contextmanager
def not_launching() -> Iterator[None]:
    """In the block, launches do nothing at all."""
    run = JITFunction.run
    JITFunction.run = lambda self, *args, **kw: None
    try:
        yield
    finally:
        JITFunction.run = run


def warm_up() -> None:
    """Do once what the first compilation of a process does: before the process is copied."""
    import triton.compiler.compiler as compiler
    import triton.runtime.cache as cache

    for module in (cache, compiler):  # which one has it depends on Triton's version
        getattr(module, "triton_key", lambda: "")()  # half a second: it hashes all of Triton


def resources(kernel: Any) -> Resources:
    """What a kernel takes that Triton compiled."""
    ptx = re.sub(r'"[^"]*"', "", kernel.asm["ptx"])  # without the names of files
    registers, local_bytes = _registers(kernel.asm["cubin"])
    return Resources(
        shared_bytes=kernel.metadata.shared,
        tf32=re.search(r"[.:]tf32\b", ptx) is not None,
        tensor_cores=re.search(r"\b(wg)?mma\.|\btcgen05\.mma\b", ptx) is not None,
        registers=registers,
        local_bytes=local_bytes,
    )


def _registers(cubin: bytes) -> tuple[int | None, int | None]:
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    if not tool.exists():
        return None, None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        command = [str(tool), "--dump-resource-usage", str(file)]
        text = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (None, None)
