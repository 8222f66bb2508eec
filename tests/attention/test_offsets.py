"""Elements beyond 2^31: every stride of every tensor, in memory of which only a few pages are ever touched.

References: vllm#47671 (page index), sglang#9344 (one token), sglang#28788 (scratch), SageAttention#386 (strided view).
Each test runs in a process of its own: an offset that wraps is a stray access, and that can end the process.
"""

from __future__ import annotations

import multiprocessing
import sys

import pytest

pytest.importorskip("triton")

import torch
from attention.cases import Case, build, spread
from attention.oracle import assert_close, oracle

from fdlib import flash_attention, flash_decode
from fdlib.attention import flash_decoding
from fdlib.attention.combine import combine_splits, launch_combine
from fdlib.attention.flash_decoding import split_kv_attention
from fdlib.device import interpreting

pytestmark = pytest.mark.skipif(
    not interpreting() or sys.platform != "linux",
    reason="untouched memory is free on the CPU; tests/gpu has its own",
)
# A stride of 2^30 elements fits int32; index 2 times it does not. 4 GiB of float16, 8 of float32, hardly touched.
CASE = Case(batch=3, heads_q=6, heads_kv=3, len_q=3, len_kv=3, head_dim=16, num_splits=2)


def attend(stage, name: str, dim: int) -> None:
    inputs = build(CASE)
    tensors = {"q": inputs.q, "k": inputs.k, "v": inputs.v}
    expected = oracle(**tensors, causal=True)
    tensors[name] = spread(tensors[name], dim)
    extra = {"return_lse": True, "num_splits": 2} if stage is flash_decode else {}
    assert_close(*stage(*tensors.values(), causal=True, **extra), expected, name)


def scratch_far_apart(which: int, dim: int) -> None:
    """The split kernel writes partials (0: out, 1: lse) that are far apart; which strides, it has to be told."""
    inputs = build(CASE)
    expected = split_kv_attention(inputs.q, inputs.k, inputs.v, 3)
    scratch = [torch.zeros_like(x) for x in expected]
    scratch[which] = spread(scratch[which], dim)
    flash_decoding._new_partials = lambda q, num_splits: tuple(scratch)
    got = split_kv_attention(inputs.q, inputs.k, inputs.v, 3)
    assert got[which] is scratch[which]
    assert torch.equal(got[0], expected[0])
    assert torch.equal(got[1], expected[1])


def combine_far_apart() -> None:
    inputs = build(CASE)
    parts = split_kv_attention(inputs.q, inputs.k, inputs.v, 3)
    expected = combine_splits(*parts)
    out, lse = (torch.zeros_like(x) for x in expected)
    launch_combine(spread(parts[0], 0), spread(parts[1], 0), out, lse)
    assert torch.equal(out, expected[0])
    assert torch.equal(lse, expected[1])


def in_its_own_process(function, *arguments) -> None:
    process = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    process.start()
    process.join(120)
    if process.is_alive():
        process.kill()
    assert process.exitcode == 0, "it failed, or was killed by a stray access"


@pytest.mark.parametrize("dim", [0, 1, 2], ids=["batch", "token", "head"])
@pytest.mark.parametrize("name", ["q", "k", "v"])
@pytest.mark.parametrize("stage", [flash_attention, flash_decode])
def test_inputs(stage, name, dim):
    in_its_own_process(attend, stage, name, dim)


@pytest.mark.parametrize("dim", [0, 1, 2], ids=["split", "batch", "token"])
def test_partial_outputs(dim):
    in_its_own_process(scratch_far_apart, 0, dim)


@pytest.mark.parametrize("dim", [0, 1], ids=["split", "batch"])
def test_partial_lses(dim):
    in_its_own_process(scratch_far_apart, 1, dim)


def test_the_combine_reads_partials_far_apart():
    in_its_own_process(combine_far_apart)
