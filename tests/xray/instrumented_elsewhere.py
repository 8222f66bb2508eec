"""Compile kernels and their instrumented copies for GPUs that are not here: the child of test_timeline.py.

Prints JSON: for each launch its name, what the kernel takes and what its copy takes, and the order of the copy's
stores, barriers and readings of the timer in machine code.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import linecache
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import fdlib
from fdlib.attention import inputs
from fdlib.xray import recorder as recorder_module
from fdlib.xray.compiled import compiling_for, resources

import torch  # isort: skip
import triton
import triton.language as tl
from triton.compiler import CompiledKernel

inputs.check_for_kernel = lambda name, x: None  # tensors are on the CPU: nothing is launched
CompiledKernel._init_handles = lambda self: None  # loading takes a GPU
recorder_module._new_spans = lambda programs: torch.zeros(programs, 3, dtype=torch.int64)
torch.cuda.is_current_stream_capturing = lambda: False  # a CPU build of torch raises

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"


def solution(stem: str):
    spec = importlib.util.spec_from_file_location(stem, SOLUTIONS / f"{stem}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def from_a_cell(source: str, name: str):
    """A function that a notebook's cell defines: its source is in linecache alone."""
    file = f"<cell of {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, object] = {"triton": triton, "tl": tl, "__name__": "__main__"}
    exec(compile(source, file, "exec"), scope)
    return scope[name]


CELL = '''
SHIFT: tl.constexpr = tl.constexpr(3)

@triton.jit
def shifted(x):
    return x + SHIFT

@triton.jit
def cell_kernel(X, n, BLOCK: tl.constexpr = 64):
    """Adds in place."""
    if tl.program_id(0) * BLOCK >= n:
        return
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + offs, shifted(tl.load(X + offs, mask=offs < n)), mask=offs < n)
'''


def enclosed():
    """A kernel that sees names of the function around it."""
    FACTOR = tl.constexpr(5)

    @triton.jit
    def scale(x):
        return x * FACTOR

    @triton.jit
    def enclosed_kernel(X, Y, BLOCK: tl.constexpr):
        offs = tl.arange(0, BLOCK)
        tl.store(Y + offs, scale(tl.load(X + offs)))

    return enclosed_kernel


@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=2)], key=["n"])
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def wrapped_kernel(X, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(X + offs, offs)
    else:
        tl.store(X + offs, offs, mask=offs < n)


@triton.jit
def put(X, value):
    tl.store(X, value)


@triton.jit
def returning_kernel(fdlib_spans, n):
    """A helper does the work of its last line; its parameter has a name that a copy could take."""
    if n == 0:
        return put(fdlib_spans, 1)
    else:  # noqa: RET505  (a branch for each)
        return put(fdlib_spans, n)


def named_again(fn):
    fn.__name__ = "another_name"
    return fn


@triton.jit
@named_again
def renamed_kernel(X, fdlib_note_end):
    tl.store(X, fdlib_note_end)


def calls():
    x = torch.zeros(256)
    q, kv = (torch.zeros(1, n, h, 128, dtype=torch.float16) for n, h in ((1, 8), (4096, 1)))
    small = [torch.zeros(1, n, 2, 64, dtype=torch.float16) for n in (1, 300)]
    parts = torch.zeros(4, 1, 1, 2, 64), torch.zeros(4, 1, 2, 1)
    cell, inner = from_a_cell(CELL, "cell_kernel"), enclosed()
    yield lambda: fdlib.flash_attention(q, kv, kv)
    yield lambda: fdlib.flash_decode(q, kv, kv, num_splits=1)
    yield lambda: fdlib.flash_decode(q, kv, kv, num_splits=8)
    yield functools.partial(solution("ex03_flash_attention").flash_attention, *[small[1]] * 3)
    yield lambda: solution("ex05_flash_decoding").split_kv(*small, small[1], 4)
    yield lambda: solution("ex06_lse_combine").combine(*parts)
    yield lambda: cell[(4,)](x, 200)
    yield lambda: cell.run(x, 200, grid=lambda given: (given["n"] // given["BLOCK"],), warmup=False)
    yield lambda: inner[(1, 1, 1)](x, x, BLOCK=64, num_warps=1)
    yield lambda: wrapped_kernel[lambda given: (1, triton.cdiv(200, given["BLOCK"]))](x, 200)
    yield lambda: returning_kernel[(1,)](x, 200)
    yield lambda: renamed_kernel[(1,)](x, 200)


def machine_code(cubin: bytes) -> list[str] | None:
    """Stores, barriers, exits and readings of the timer, in order; None without the tool."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    if not tool.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        environment = {"PATH": str(tool.parent)}  # it asks nvdisasm, which lies beside it
        done = subprocess.run(
            [str(tool), "--dump-sass", str(file)], capture_output=True, text=True, env=environment
        )
    return re.findall(r"\b(GLOBALTIMER|STG|BAR)", done.stdout.replace("SR_", "")) or None


def main(capabilities: list[int]) -> None:
    found = []
    for capability in capabilities:
        with compiling_for(capability, device=capability) as launches:
            for call in calls():
                launches.clear()
                with recorder_module.instrumenting() as recorder:
                    recorder.rehearsing = True
                    call()
                    rehearsed = list(launches)  # each kernel, and its copy
                    recorder.begin([each.programs for each in recorder.launches])
                    launches.clear()
                    call()
                plain, copies = rehearsed[::2], rehearsed[1::2]
                assert [each.kernel.hash for each in copies] == [
                    each.kernel.hash for each in launches
                ]
                for own, copy, noted in zip(plain, launches, recorder.launches, strict=True):
                    found.append(
                        {
                            "capability": capability,
                            "kernel": noted.kernel,
                            "grid": noted.grid,
                            "programs": noted.programs,
                            "plain": asdict(resources(own.kernel)),
                            "copy": asdict(resources(copy.kernel)),
                            "order": machine_code(copy.kernel.asm["cubin"]),
                        }
                    )
    print(json.dumps(found))


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
