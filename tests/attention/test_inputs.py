"""Every refusal names the argument, what it got and what it takes; nothing is converted in silence."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from attention.cases import DEVICE

from fdlib import naive_attention, online_softmax_attention
from fdlib.attention.inputs import check_seqlens

try:
    from fdlib import flash_attention, flash_decode
    from fdlib.attention.flash_decoding import split_kv_attention
except RuntimeError:  # no triton on this platform
    flash_attention = flash_decode = split_kv_attention = None

needs_triton = pytest.mark.skipif(flash_decode is None, reason="no triton on this platform")


def split_in_two(q, k, v, **arguments):
    return split_kv_attention(q, k, v, 2, **arguments)


TORCH_STAGES = [naive_attention, online_softmax_attention]
KERNELS = [
    pytest.param(f, marks=needs_triton) for f in (flash_attention, flash_decode, split_in_two)
]
CACHED = [
    naive_attention,
    *(pytest.param(f, marks=needs_triton) for f in (flash_decode, split_in_two)),
]


def tensors(dtype=torch.float16, device=DEVICE):
    """q (2, 3, 4, 32); k and v (2, 10, 2, 32)."""
    q, k, v = (torch.randn(2, n, h, 32, device=device) for n, h in ((3, 4), (10, 2), (10, 2)))
    return {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype)}


def refuses(function, error, argument, changes, got="", **arguments):
    """`function` on `tensors()` with `changes` raises `error` and names `argument` (k may be k_cache)."""
    inputs = {**tensors(), **changes}
    if function in (flash_decode, split_in_two) and argument in ("k", "v"):
        argument += "_cache"
    with pytest.raises(error, match=rf"^({argument}): got .*{got}.*, takes ") as caught:
        function(inputs["q"], inputs["k"], inputs["v"], **arguments)
    assert type(caught.value) is error


@pytest.mark.parametrize("function", TORCH_STAGES + KERNELS)
@pytest.mark.parametrize("name", ["q", "k", "v"])
class TestEveryStage:
    @pytest.mark.parametrize("shape", [(10, 2, 32), (2, 10, 64), (1, 2, 10, 2, 32), ()])
    def test_rank(self, function, name, shape):
        refuses(
            function,
            ValueError,
            name,
            {name: torch.zeros(shape, dtype=torch.float16, device=DEVICE)},
            "shape",
        )

    @pytest.mark.parametrize("what", [None, [[1.0]], np.zeros((2, 10, 2, 32)), 3])
    def test_not_a_tensor(self, function, name, what):
        refuses(function, TypeError, name, {name: what}, type(what).__name__)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_one_dtype_differs(self, function, name, dtype):
        blamed = "k" if name == "q" else name
        refuses(function, TypeError, blamed, {name: tensors(dtype)[name]}, "torch")

    def test_one_device_differs(self, function, name):
        blamed = "q|k(_cache)?" if name == "q" else name
        refuses(function, ValueError, blamed, {name: tensors(device="meta")[name]}, "tensor on")


@pytest.mark.parametrize("function", TORCH_STAGES + KERNELS)
class TestSizes:
    def test_batch(self, function):
        changes = {name: x[:1] for name, x in tensors().items() if name != "q"}
        refuses(function, ValueError, "k", changes, "batch 1")

    def test_v_unlike_k(self, function):
        for v in (tensors()["v"][:, :9], tensors()["v"][:, :, :1], tensors()["v"][..., :16]):
            refuses(function, ValueError, "v", {"v": v}, "shape")

    def test_head_dim_unlike_q(self, function):
        refuses(function, ValueError, "q|k(_cache)?", {"q": tensors()["q"][..., :16]}, "head_dim")

    @pytest.mark.parametrize("heads", [1, 3, 5, 0])
    def test_heads_not_a_multiple(self, function, heads):
        q = torch.zeros(2, 3, heads, 32, dtype=torch.float16, device=DEVICE)
        refuses(function, ValueError, "q", {"q": q}, f"{heads} heads")

    def test_no_key_heads(self, function):
        changes = {name: x[:, :, :0] for name, x in tensors().items() if name != "q"}
        refuses(function, ValueError, "q", changes, "0 key/value heads")

    @pytest.mark.parametrize("scale", [float("nan"), float("inf"), float("-inf")])
    def test_scale_not_finite(self, function, scale):
        refuses(function, ValueError, "softmax_scale", {}, str(scale), softmax_scale=scale)

    @pytest.mark.parametrize("scale", ["0.1", True, torch.tensor(0.1), [1.0]])
    def test_scale_not_a_number(self, function, scale):
        refuses(function, TypeError, "softmax_scale", {}, type(scale).__name__, softmax_scale=scale)

    @pytest.mark.parametrize("dtype", [torch.int32, torch.bool, torch.complex64])
    def test_dtypes_that_no_stage_takes(self, function, dtype):
        refuses(function, TypeError, "q", tensors(dtype), str(dtype))


@pytest.mark.parametrize("function", KERNELS)
class TestKernels:
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float8_e4m3fn])
    def test_dtypes_that_no_kernel_takes(self, function, dtype):
        refuses(function, TypeError, "q", tensors(dtype), str(dtype))

    @pytest.mark.parametrize("head_dim", [0, 1, 15, 257, 512])
    def test_head_dim(self, function, head_dim):
        q, kv = (torch.zeros(2, 3, h, head_dim, dtype=torch.float16, device=DEVICE) for h in (4, 2))
        refuses(function, ValueError, "q", {"q": q, "k": kv, "v": kv}, f"head_dim {head_dim}")

    @pytest.mark.parametrize("name", ["q", "k", "v"])
    def test_last_dimension_not_contiguous(self, function, name):
        x = tensors()[name]
        every_second = x.repeat_interleave(2, dim=-1)[..., ::2]
        first = x.transpose(1, 3).contiguous().transpose(1, 3)
        expanded = x[..., :1].expand_as(x)
        for bad in (every_second, first, expanded):
            refuses(function, ValueError, name, {name: bad}, "strides")

    @pytest.mark.parametrize("name", ["q", "k", "v"])
    def test_requires_grad(self, function, name):
        bad = tensors()
        bad[name].requires_grad_()
        refuses(function, RuntimeError, name, bad, "requires_grad")
        with torch.no_grad():
            function(*bad.values())
        refuses(function, RuntimeError, name, {name: bad[name] * 1}, "requires_grad")  # not a leaf
        function(*(x.detach() for x in bad.values()))


@pytest.mark.parametrize("function", CACHED)
class TestCacheSeqlens:
    @pytest.mark.parametrize(
        ("lens", "got"),
        [([10, -1], "-1"), ([11, 10], "11"), ([-5, 99], "-5"), ([2**31 - 1, 0], "2147483647")],
    )
    def test_impossible_lengths(self, function, lens, got):
        for dtype in (torch.int32, torch.int64):
            bad = torch.tensor(lens, dtype=dtype, device=DEVICE)
            arguments = {} if function is naive_attention else {"validate": True}
            refuses(function, ValueError, "cache_seqlens", {}, got, cache_seqlens=bad, **arguments)

    @pytest.mark.parametrize("length", [-1, 11])
    def test_an_impossible_length_for_all(self, function, length):
        refuses(function, ValueError, "cache_seqlens", {}, str(length), cache_seqlens=length)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.uint8, torch.int16])
    def test_dtype(self, function, dtype):
        bad = torch.ones(2, dtype=dtype, device=DEVICE)
        refuses(function, TypeError, "cache_seqlens", {}, str(dtype), cache_seqlens=bad)

    @pytest.mark.parametrize("what", [[10, 3], 3.0, True, np.array([1, 2]), "3"])
    def test_type(self, function, what):
        refuses(function, TypeError, "cache_seqlens", {}, type(what).__name__, cache_seqlens=what)

    @pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (0,)])
    def test_shape(self, function, shape):
        bad = torch.ones(shape, dtype=torch.int32, device=DEVICE)
        refuses(function, ValueError, "cache_seqlens", {}, "shape", cache_seqlens=bad)

    def test_device(self, function):
        bad = torch.ones(2, dtype=torch.int32, device="meta")
        refuses(function, ValueError, "cache_seqlens", {}, "tensor on meta", cache_seqlens=bad)


@needs_triton
class TestSplits:
    @pytest.mark.parametrize("num_splits", [-1, -7])
    def test_negative(self, num_splits):
        refuses(flash_decode, ValueError, "num_splits", {}, str(num_splits), num_splits=num_splits)
        with pytest.raises(ValueError, match=rf"^num_splits: got {num_splits}, takes"):
            split_kv_attention(*tensors().values(), num_splits)

    @pytest.mark.parametrize("num_splits", [1.0, True, None, "2", torch.tensor(2)])
    def test_not_an_int(self, num_splits):
        refuses(
            flash_decode,
            TypeError,
            "num_splits",
            {},
            type(num_splits).__name__,
            num_splits=num_splits,
        )

    def test_more_programs_than_a_grid_has(self):
        refuses(flash_decode, ValueError, "num_splits", {}, str(2**30), num_splits=2**30)


@pytest.mark.parametrize("function", KERNELS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_dtype_of_q_comes_back(function, dtype):
    out, *_ = (
        function(*tensors(dtype).values())
        if function is not flash_decode
        else (function(*tensors(dtype).values()),)
    )
    assert out.dtype == (torch.float32 if function is split_in_two else dtype)


def test_lengths_are_passed_on_as_they_are():
    q = tensors()["q"]
    lens = torch.tensor([3, 10], dtype=torch.int64, device=DEVICE)
    assert check_seqlens(lens, q, 10) is lens
    assert check_seqlens(None, q, 10) is None
    with pytest.raises(ValueError, match="cache_seqlens"):
        check_seqlens(lens, q, 9)


WITHOUT_TRITON = """
import sys
sys.modules["triton"] = None
import fdlib, torch
q = torch.ones(1, 1, 2, 16)
fdlib.naive_attention(q, q, q), fdlib.online_softmax_attention(q, q, q)
for name in ("flash_attention", "flash_decode"):
    try:
        getattr(fdlib, name)
    except RuntimeError as error:
        print(error)
"""


def test_a_platform_without_triton():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TRITON],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all("triton" in line and "naive_attention" in line for line in lines)
