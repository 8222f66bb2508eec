"""What the model thinks that programs ask for is what the kernels do ask for."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("triton")
import torch

from fdlib import AttentionShape, flash_attention, flash_decode, plan_splits
from fdlib.device import interpreting
from fdlib.xray.simulation.work import flash_attention_work, plan_works, trace_works
from fdlib.xray.trace import trace

pytestmark = pytest.mark.skipif(not interpreting(), reason="traces are made under the interpreter")

SHAPES = [
    {"batch": 2, "heads_q": 8, "heads_kv": 2, "len_kv": 300, "head_dim": 64, "dtype": "float16"},
    {"batch": 1, "heads_q": 6, "heads_kv": 2, "len_q": 9, "len_kv": 100, "head_dim": 33},
    {"batch": 1, "heads_q": 2, "heads_kv": 1, "len_kv": 0, "head_dim": 32},
    {"batch": 3, "heads_q": 4, "heads_kv": 4, "len_kv": 8, "head_dim": 16},
    {"batch": 1, "heads_q": 1, "heads_kv": 1, "len_q": 70, "len_kv": 80, "head_dim": 16},
]


def shape_and_tensors(sizes):
    shape = AttentionShape(**{"dtype": "float32", **sizes})
    dtype = getattr(torch, shape.dtype)
    q = torch.randn(shape.batch, shape.len_q, shape.heads_q, shape.head_dim).to(dtype)
    k = torch.randn(shape.batch, shape.len_kv, shape.heads_kv, shape.head_dim).to(dtype)
    return shape, q, k, k.clone()


@pytest.mark.parametrize("num_splits", [1, 3, 17])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_a_plan_asks_for_the_bytes_that_the_kernels_ask_for(sizes, num_splits):
    shape, q, k, v = shape_and_tensors(sizes)
    traced = trace(flash_decode, q, k, v, num_splits=num_splits).launches
    works = plan_works(plan_splits(shape, "H100", num_splits))
    assert [each.kernel for each in works] == [each.kernel for each in traced]
    for work, launch in zip(works, traced, strict=True):
        assert work.grid == launch.grid
        np.testing.assert_array_equal(work.program_bytes, launch.program_bytes)


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_flash_attention_asks_for_the_bytes_that_its_kernel_asks_for(sizes):
    shape, q, k, v = shape_and_tensors(sizes)
    launch = trace(flash_attention, q, k, v).launches[0]
    work = flash_attention_work(shape)
    assert (work.kernel, work.grid) == (launch.kernel, launch.grid)
    np.testing.assert_array_equal(work.program_bytes, launch.program_bytes)
    assert work.hbm_bytes == pytest.approx(launch.hbm_bytes, rel=0.1)  # a launch counts sectors


def test_a_trace_gives_its_bytes_and_takes_what_you_know_better():
    _, q, k, v = shape_and_tensors(SHAPES[0])
    traced = trace(flash_decode, q, k, v, num_splits=3)
    split, combine = trace_works(traced)
    np.testing.assert_array_equal(split.program_bytes, traced.launches[0].program_bytes)
    assert (split.loop, combine.loop) == ("attention", "merge")
    assert trace_works(traced, shared_bytes=0, threads=64)[0].threads == 64
