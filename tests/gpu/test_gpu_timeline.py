"""Timelines on a real GPU: each program noted once, results unchanged, the next call works after an error."""

from __future__ import annotations

import functools

import numpy as np
import pytest

pytest.importorskip("triton")

import torch
import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

import fdlib
from fdlib.device import interpreting
from fdlib.record.kernels import spin_kernel
from fdlib.record.machine import timer_tick_ns
from fdlib.xray.recorder import instrumenting

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available() or interpreting(), reason="needs a GPU"),
]


@triton.jit
def leaving_kernel(X, rows, n, BLOCK: tl.constexpr = 128):
    """A learner's kernel: two grid axes, and programs that have nothing to do."""
    row, block = tl.program_id(1), tl.program_id(0)
    if row >= rows:
        return
    offs = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + row * n + offs, mask=offs < n)
    tl.store(X + row * n + offs, x + 1, mask=offs < n)


@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 128)], key=["n"])
@triton.jit
def tuned_kernel(X, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + offs, offs, mask=offs < n)


def num_sms() -> int:
    return torch.cuda.get_device_properties(0).multi_processor_count


def check(line, programs: list[int]) -> None:
    assert [each.programs for each in line.launches] == programs
    assert (line.source, line.num_sms) == ("measured", num_sms())
    assert 0 < line.utilisation <= 1
    for each in line.launches:
        assert each.programs == int(np.prod(each.grid))
        assert (each.start_ns >= 0).all()
        assert (each.end_ns >= each.start_ns).all()
        assert (each.end_ns < 10**9).all()
        assert ((each.sm >= 0) & (each.sm < num_sms())).all()
    assert min(int(each.start_ns.min()) for each in line.launches) == 0


def inputs(len_kv=4096, heads_q=8, heads_kv=2, batch=1):
    make = functools.partial(torch.randn, device="cuda", dtype=torch.float16)
    return make(batch, 1, heads_q, 128), *(make(batch, len_kv, heads_kv, 128) for _ in range(2))


def test_flash_attention_keeps_one_sm_per_head_busy():
    line = fdlib.timeline(fdlib.flash_attention, *inputs(65_536), bytes_moved=10**6)
    check(line, [8])
    assert line.busy_sms == 8
    assert line.utilisation < 0.1
    assert line.bandwidth_gbs > 0


def test_flash_decoding_has_two_launches_and_the_second_waits_for_the_first():
    line = fdlib.timeline(fdlib.flash_decode, *inputs(65_536), num_splits=32, repeat=3)
    check(line, [64, 8])
    split, combine = line.launches
    assert [each.kernel for each in line.launches] == ["_split_kernel", "_combine_kernel"]
    assert combine.start_ns.min() >= split.end_ns.max() - 1000
    assert line.busy_sms >= 64
    assert combine.start_ns.min() - split.end_ns.max() < 20_000  # not the time that Python takes


def test_programs_are_in_order_of_x_fastest():
    x = torch.zeros(3, 1000, device="cuda")
    line = fdlib.timeline(leaving_kernel[(8, 5)], x, 3, 1000, repeat=1)
    check(line, [40])
    assert line.launches[0].grid == (8, 5, 1)
    assert (x == 2).all()  # once to compile, once measured


@pytest.mark.parametrize(
    "grid", [(4,), lambda given: (512 // given["BLOCK"],)], ids=["tuple", "function"]
)
def test_kernel_run_and_a_function_as_grid(grid):
    x = torch.zeros(512, device="cuda")
    check(fdlib.timeline(lambda: leaving_kernel.run(x, 1, 512, grid=grid, warmup=False)), [4])


def test_an_autotuned_kernel():
    x = torch.zeros(4096, device="cuda", dtype=torch.int32)
    line = fdlib.timeline(
        lambda: tuned_kernel[lambda given: (triton.cdiv(4096, given["BLOCK"]),)](x, 4096)
    )
    assert line.launches[0].programs in (32, 64)
    assert (x == torch.arange(4096, device="cuda")).all()


@pytest.mark.parametrize("num_splits", [1, 7])
def test_results_are_the_same_bit_for_bit(num_splits):
    q, k, v = inputs(5000, batch=2)
    call = functools.partial(fdlib.flash_decode, q, k, v, num_splits=num_splits, return_lse=True)
    out, lse = call()
    with instrumenting():
        again, lse_again = call()
    assert torch.equal(out, again)
    assert torch.equal(lse, lse_again)


def test_durations_are_true():
    out = torch.zeros(1, dtype=torch.int64, device="cuda")
    line = fdlib.timeline(spin_kernel[(3,)], out, 1_000_000)
    check(line, [3])
    spans = line.launches[0]
    assert ((spans.end_ns - spans.start_ns) >= 1_000_000).all()
    assert ((spans.end_ns - spans.start_ns) < 1_100_000).all()
    assert line.busy_sms == 3


def test_the_timer_moves_in_steps_that_are_short_enough():
    assert 1 <= timer_tick_ns() <= 2000


def test_the_hooks_are_gone_after_an_exception_and_the_next_call_works():
    run = JITFunction.run

    def half_way():
        spin_kernel[(1,)](torch.zeros(1, dtype=torch.int64, device="cuda"), 1000)
        raise KeyError("half-way")

    with pytest.raises(KeyError, match="half-way"):
        fdlib.timeline(half_way)
    assert JITFunction.run is run
    check(fdlib.timeline(fdlib.flash_attention, *inputs()), [8])


def test_a_wrong_argument_gives_tritons_own_error():
    with pytest.raises(Exception, match="BLOKC"):
        fdlib.timeline(leaving_kernel[(1,)], torch.zeros(8, device="cuda"), 1, 8, BLOKC=1)


def test_what_launches_nothing_is_refused():
    with pytest.raises(ValueError, match="which launched no Triton kernel"):
        fdlib.timeline(torch.zeros, 3)
    with pytest.raises(ValueError, match="which launched no Triton kernel"):
        fdlib.timeline(leaving_kernel[(0,)], torch.zeros(8, device="cuda"), 1, 8)


def test_a_timeline_inside_a_timeline_is_refused():
    with pytest.raises(RuntimeError, match="another timeline is running"):
        fdlib.timeline(lambda: fdlib.timeline(fdlib.flash_attention, *inputs()))


def test_a_capture_is_refused():
    def capture():
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            leaving_kernel[(1,)](x, 1, 8)

    x = torch.zeros(8, device="cuda")
    leaving_kernel[(1,)](x, 1, 8)
    with pytest.raises(RuntimeError, match="leaving_kernel while it captures a CUDA graph"):
        fdlib.timeline(capture)
