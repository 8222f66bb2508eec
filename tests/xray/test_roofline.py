"""The arithmetic of the roofline."""

from __future__ import annotations

import pytest

from fdlib.gpus import GPUS, get_gpu
from fdlib.shapes import AttentionShape, model
from fdlib.xray.figures.roofline import Roofline, roof_line, roof_tflops


@pytest.mark.parametrize("name", GPUS)
def test_the_roof_is_flat_from_the_ridge_on(name):
    gpu = get_gpu(name)
    assert roof_tflops(gpu, gpu.ridge) == pytest.approx(gpu.fp16_tflops)
    assert roof_tflops(gpu, gpu.ridge / 2) == pytest.approx(gpu.fp16_tflops / 2)
    assert roof_tflops(gpu, 10 * gpu.ridge) == gpu.fp16_tflops
    assert roof_line(gpu, 1, 1e6)[0] == [1, gpu.ridge, 1e6]


def test_floor_and_bound():
    gpu, llama = get_gpu("H200"), model("Llama-3.1-8B")
    decode, prefill = (Roofline(llama.shape(8192, len_q=n), gpu) for n in (1, 8192))
    assert (decode.bound, prefill.bound) == ("memory", "compute")
    assert decode.floor_us == decode.shape.min_bytes / 4.8e6
    assert prefill.floor_us == prefill.shape.flops / 989.4e6
    assert prefill.tflops == gpu.fp16_tflops


def test_nothing_to_do():
    call = Roofline(AttentionShape(batch=0, heads_q=1, heads_kv=1, len_kv=0), get_gpu("T4"))
    assert (call.floor_us, call.tflops, call.bound) == (0, 0, "memory")
