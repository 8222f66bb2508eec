"""Traces a few calls and prints what it found as JSON: run by tests, with compiled kernels or another Triton.

Kernels and functions are defined here on purpose: this file is `__main__`, as a notebook is.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import fdlib  # isort: skip
import torch
import triton
import triton.language as tl

from fdlib.course.learner import load

SCALE = tl.constexpr(2.0)
ROOT = Path(__file__).resolve().parents[2]


@triton.jit
def scaled(x):
    return x * SCALE


@triton.jit
def own_kernel(X, Out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Out + offs, scaled(tl.load(X + offs, mask=offs < n, other=0.0)), mask=offs < n)


def run(x, out, block=16):
    def inner(size):  # a closure
        own_kernel[(triton.cdiv(x.numel(), size),)](x, out, x.numel(), BLOCK=size)

    print("run is running", file=sys.stderr if SILENT else sys.stdout)
    inner(block)
    return countdown(2)


def countdown(n):
    return n if n == 0 else countdown(n - 1)


SILENT = True


def numbers(found):
    """All of a trace, as JSON can hold it."""
    launches = [
        {
            "kernel": launch.kernel,
            "grid": launch.grid,
            "order": launch.order,
            "bytes": launch.program_bytes.tolist(),
            "arguments": {
                name: [
                    each.dtype, each.shape, each.loaded.tolist(), each.stored.tolist(), each.atomic.tolist(),
                    each.loaded_once.tolist(), each.written_once.tolist(), each.first_step.tolist(),
                    each.operations, each.unique_loaded, each.unique_written, each.hbm_read, each.hbm_write,
                ]
                for name, each in launch.arguments.items()
            },
        }
        for launch in found.launches
    ]  # fmt: skip
    l2 = found.l2 and found.l2.bytes
    events = found.events and len(found.events)
    return [launches, found.hbm_read, found.hbm_write, l2, events, str(found)]


def failing():
    own_kernel[(9,)](X, X, 200, BLOCK=16)


def raising():
    raise LookupError(f"no such thing: {countdown(0)}")


class Local:
    pass


def refused(*args, **kw):
    try:
        fdlib.trace(*args, **kw)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return "no error"


X = torch.arange(100.0)


def calls():
    out = torch.zeros(100)
    yield fdlib.trace(run, X, out)
    yield fdlib.trace(run, X, X, block=32, l2_mb=1, at_once=2, events=True)
    yield fdlib.trace(own_kernel[(4,)], X[::2], X, 50, BLOCK=16)
    cuda = "cpu" if fdlib.device.interpreting() else "cuda"
    yield fdlib.trace(lambda: run(X, torch.empty(100, device=cuda).to(cuda)))
    q, k = torch.zeros(1, 17, 4, 16), torch.zeros(1, 70, 2, 16)
    yield fdlib.trace(fdlib.flash_attention, q, k, k, causal=True)
    yield fdlib.trace(functools.partial(fdlib.flash_decode, num_splits=2), q[:, :1], k, k)
    exercise = load(3, path=ROOT / "solutions" / "ex03_flash_attention.py")
    yield fdlib.trace(exercise.flash_attention, q, q, q)


if __name__ == "__main__":
    found = [numbers(each) for each in calls()]
    errors = [refused(failing), refused(raising), refused(print), refused(run, Local, 3)]
    print(json.dumps({"triton": triton.__version__, "traces": found, "errors": errors}))
