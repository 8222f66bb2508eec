"""What lies around a call must not change its numbers: threads, autocast, default dtype, views of memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("triton")

import torch
from attention.cases import DEVICE, Case, build
from attention.oracle import assert_close, oracle

from fdlib import (
    flash_attention,
    flash_decode,
    merge_states,
    naive_attention,
    online_softmax_attention,
    plan_splits,
)
from fdlib.attention.combine import combine_splits
from fdlib.attention.flash_decoding import split_kv_attention
from fdlib.shapes import AttentionShape

CASE = Case(batch=2, heads_q=4, heads_kv=2, len_q=2, len_kv=70, head_dim=32, dtype="float32")


def decode(q, k, v, causal=True):
    return flash_decode(q, k, v, causal=causal, num_splits=2, return_lse=True)


def split_and_combine(q, k, v, causal=True):
    return combine_splits(*split_kv_attention(q, k, v, 2, causal=causal))


STAGES = [naive_attention, online_softmax_attention, flash_attention, decode, split_and_combine]
every_stage = pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)


@pytest.fixture
def hurried_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hurried_threads")
@pytest.mark.parametrize("stage", STAGES[2:], ids=lambda stage: stage.__name__)
def test_two_threads_at_once(stage):
    """The interpreter keeps the program's place in globals: unguarded, threads read each other's."""
    inputs = build(CASE)
    alone = stage(inputs.q, inputs.k, inputs.v, causal=True)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(stage, inputs.q, inputs.k, inputs.v, causal=True) for _ in range(6)]
    for future in futures:
        assert all(map(torch.equal, future.result(), alone))


@every_stage
def test_autocast_does_not_lower_the_precision(stage):
    inputs = build(CASE)
    with torch.autocast(DEVICE, torch.bfloat16):
        out, lse = stage(inputs.q, inputs.k, inputs.v, causal=True)
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, causal=True), "autocast")


@every_stage
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_default_dtype_changes_nothing(stage, dtype):
    inputs = build(CASE)
    expected = oracle(inputs.q, inputs.k, inputs.v, causal=True)
    torch.set_default_dtype(dtype)
    try:
        out, lse = stage(inputs.q, inputs.k, inputs.v, causal=True)
    finally:
        torch.set_default_dtype(torch.float32)
    assert out.dtype == lse.dtype == torch.float32
    assert_close(out, lse, expected, str(dtype))


@every_stage
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_overlapping_views(stage, dtype):
    """A window that slides over one buffer: elements are shared, the last dimension is contiguous."""
    flat = torch.randn(1000, device=DEVICE).to(dtype)
    k, v = (
        flat.as_strided((2, 20, 2, 16), (7, 2, 1, 1)),
        flat.as_strided((2, 20, 2, 16), (3, 5, 2, 1)),
    )
    q = torch.randn(2, 1, 4, 16, device=DEVICE).to(dtype)
    out = stage(q, k, v, causal=True)[0]
    error = (out.double() - oracle(q, k, v, causal=True).out).abs().max()
    assert error < {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}[dtype]


@pytest.mark.parametrize("stage", STAGES[2:], ids=lambda stage: stage.__name__)
def test_a_lazily_negated_tensor_is_refused(stage):
    inputs = build(CASE)
    with pytest.raises(ValueError, match=r"q: got a lazily negated tensor; takes q\.resolve_neg"):
        stage(torch._neg_view(inputs.q), inputs.k, inputs.v, causal=True)


@every_stage
def test_sparse_tensors_are_refused(stage):
    inputs = build(CASE)
    with pytest.raises(TypeError, match="takes a dense one"):
        stage(inputs.q.to_sparse(), inputs.k, inputs.v, causal=True)


@every_stage
@pytest.mark.parametrize("causal", [1, "False", None, torch.ones(2)])
def test_causal_is_a_bool(stage, causal):
    inputs = build(CASE)
    with pytest.raises(TypeError, match=r"causal: got \w+, takes a bool"):
        stage(inputs.q, inputs.k, inputs.v, causal=causal)


@pytest.mark.parametrize("flag", ["validate", "return_lse"])
def test_flags_are_bools(flag):
    inputs = build(CASE)
    with pytest.raises(TypeError, match=f"{flag}: got int, takes a bool"):
        flash_decode(inputs.q, inputs.k, inputs.v, **{flag: 1})


@pytest.mark.parametrize("scale", [10**400, 1e39, -(10**400)])
def test_a_scale_that_is_no_float32(scale):
    inputs = build(CASE)
    with pytest.raises((ValueError, OverflowError), match="softmax_scale: got"):
        flash_decode(inputs.q, inputs.k, inputs.v, softmax_scale=scale)


@pytest.mark.parametrize(
    ("outs", "lses", "message"),
    [
        ([1.0], [torch.zeros(1, 1, 1)], "outs: got a part of type float"),
        ([torch.zeros(1, 1, 1, 2), None], [torch.zeros(1, 1, 1)] * 2, "outs: got a part of type NoneType"),
        (iter(()), [torch.zeros(1, 1, 1)], "outs: got no parts"),
        (torch.zeros(1, 1, 1, 1, 2, dtype=torch.int32), torch.zeros(1, 1, 1, 1), "outs: got torch.int32"),
        (torch.zeros(1, 1, 1, 1, 2), torch.zeros(1, 1, 1, 1, dtype=torch.bool), "lses: got torch.bool"),
        (torch.zeros(1, 1, 1, 1, 2, dtype=torch.complex64), torch.zeros(1, 1, 1, 1), "outs: got torch.complex64"),
        (7, torch.zeros(1, 1, 1, 1), "outs: got int"),
    ],
)  # fmt: skip
def test_what_merge_states_refuses(outs, lses, message):
    with pytest.raises((ValueError, TypeError), match=message):
        merge_states(outs, lses)


@pytest.mark.parametrize("dtype", ["float16", 1, torch.int32, torch.complex64])
def test_what_combine_splits_refuses_as_dtype(dtype):
    with pytest.raises(TypeError, match="dtype: got"):
        combine_splits(
            torch.zeros(1, 1, 1, 1, 16, device=DEVICE),
            torch.zeros(1, 1, 1, 1, device=DEVICE),
            dtype=dtype,
        )


def test_plans_of_strange_shapes():
    with pytest.raises(TypeError, match="shape: got tuple, takes an AttentionShape"):
        plan_splits((1, 2), "H100")
    wide = AttentionShape(heads_q=8, heads_kv=1, len_kv=1000, head_dim=65_536, dtype="float32")
    assert plan_splits(wide, "H100").ranges[-1][1] == 1000


@pytest.mark.parametrize("which", [0, 1])
def test_combine_splits_refuses_either_partial_that_wants_gradients(which):
    partials = [torch.zeros(1, 1, 1, 1, 16, device=DEVICE), torch.zeros(1, 1, 1, 1, device=DEVICE)]
    partials[which].requires_grad_()
    with pytest.raises(RuntimeError, match="requires_grad=True"):
        combine_splits(*partials)


def test_both_merges_treat_a_negligible_nan_alike():
    """Only a part without keys (-inf) may hold garbage; a NaN of weight e^-200 is a NaN."""
    outs = torch.zeros(2, 1, 1, 1, 16, device=DEVICE)
    outs[1] = float("nan")
    lses = torch.tensor([0.0, -200.0], device=DEVICE).reshape(2, 1, 1, 1)
    assert merge_states(outs, lses)[0].isnan().all()
    assert combine_splits(outs, lses)[0].isnan().all()


def test_more_keys_than_a_position_can_count_are_refused():
    cache = torch.zeros(1, 1, 1, 16, device=DEVICE).expand(1, 2**31, 1, 16)
    with pytest.raises(ValueError, match="k_cache: got 2147483648 keys, takes at most"):
        flash_decode(torch.zeros(1, 1, 1, 16, device=DEVICE), cache, cache)


def test_numpy_scalars_are_numbers():
    np = pytest.importorskip("numpy")
    inputs = build(CASE)
    expected = flash_decode(inputs.q, inputs.k, inputs.v, cache_seqlens=7, softmax_scale=0.25)
    scale, length = np.float32(0.25), np.int64(7)
    out = flash_decode(inputs.q, inputs.k, inputs.v, cache_seqlens=length, softmax_scale=scale)
    assert torch.equal(out, expected)


@pytest.mark.parametrize("stage", STAGES[:2], ids=lambda stage: stage.__name__)
def test_the_matmul_precision_is_put_back(stage):
    inputs = build(CASE)
    torch.set_float32_matmul_precision("medium")
    try:
        out, lse = stage(inputs.q, inputs.k, inputs.v, causal=True)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, causal=True), "medium")
