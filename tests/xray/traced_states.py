"""Traces functions that depend on more than their bytes, and prints what came of each as JSON: run by a test.

Kernels, functions and classes are defined here on purpose: this file is `__main__`, as a notebook is.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import fdlib  # isort: skip
import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def own_kernel(X, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + offs, tl.load(X + offs) + 1)


class Mine(Exception):
    pass


class Odd(Exception):
    def __str__(self):
        raise ValueError("no text")


def launch_if(right):
    own_kernel[(16 if right else 1,)](torch.zeros(64), BLOCK=4)


def settings():
    return [
        torch.get_default_dtype() == torch.float64, not torch.is_grad_enabled(),
        torch.randint(1000, (9,)).tolist() == DRAWN[0], np.random.rand() == DRAWN[1],
        random.random() == DRAWN[2], torch.get_num_threads() == 1,
    ]  # fmt: skip


def same_settings():
    launch_if(all(settings()))


def in_inference_mode():
    product = torch.ones(2, 2) @ torch.ones(2, 2)  # under autocast too
    launch_if(torch.is_inference_mode_enabled() and product.dtype == torch.bfloat16)


def weight():
    (WEIGHT * 2).sum().backward()
    launch_if(WEIGHT.grad.tolist() == [2, 2, 2])


def untidy():
    """Leaves a process that holds stdout, prints bytes that are no text, and closes stdout."""
    STARTED.append(subprocess.Popen(["sleep", "120"]))
    sys.stdout.buffer.write(b"\xff\xfe\n")
    sys.stdout.close()
    launch_if(True)


def own():
    raise Mine("my text")


def odd():
    raise Odd


def stopped():
    raise KeyboardInterrupt


def came_of(fn):
    try:
        return f"{fdlib.trace(fn).launches[0].programs} programs"
    except BaseException as error:
        return [type(error).__name__, str(error)]


STARTED: list = []
WEIGHT = torch.nn.Parameter(torch.ones(3))
FUNCTIONS = (weight, untidy, own, odd, stopped)

if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    said, sys.stdout = sys.stdout, sys.stderr
    began = time.monotonic()
    found = {each.__name__: came_of(each) for each in FUNCTIONS}
    assert time.monotonic() - began < 110  # did not wait for the process that is left
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        found["in_inference_mode"] = came_of(in_inference_mode)
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    for seed in (torch.manual_seed, np.random.seed, random.seed):
        seed(5)
    state = torch.get_rng_state(), np.random.get_state(), random.getstate()
    DRAWN = torch.randint(1000, (9,)).tolist(), np.random.rand(), random.random()
    torch.set_rng_state(state[0])
    np.random.set_state(state[1])
    random.setstate(state[2])
    found["settings"] = came_of(same_settings)
    print(json.dumps(found), file=said)
