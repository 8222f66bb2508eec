"""The kernels on a real GPU: a fixed grid against the float64 oracle, and what only a GPU can show."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import torch
from attention.cases import Case, build, spread
from attention.oracle import assert_close, oracle
from gpu.grid import GRID, run

from fdlib import flash_attention, flash_decode, merge_states
from fdlib.attention import combine, flash_decoding
from fdlib.attention import flash_attention as flash_attention_module
from fdlib.device import interpreting

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available() or interpreting(), reason="needs a GPU"),
]


def decode(inputs, **arguments):
    return flash_decode(inputs.q, inputs.k, inputs.v, return_lse=True, **arguments)


@pytest.mark.parametrize(("stage", "case"), GRID, ids=[f"{stage}[{case}]" for stage, case in GRID])
def test_grid(stage, case):
    errors = run(stage, case)
    assert errors.out_share <= 1, errors
    assert errors.lse_share <= 1, errors


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_same_bits_every_time(dtype):
    inputs = build(Case(batch=2, heads_q=8, heads_kv=2, len_kv=4097, head_dim=128, dtype=dtype))
    out, lse = decode(inputs, num_splits=7)
    for _ in range(100):
        again = decode(inputs, num_splits=7)
        assert torch.equal(again[0], out)
        assert torch.equal(again[1], lse)


def test_the_combine_waits_for_every_partial():
    """10,000 launches, bitwise equal: reading a partial too early shows in time (FlashAttention#2498)."""
    inputs = build(Case(heads_q=8, heads_kv=2, len_kv=2048, head_dim=64))
    out = flash_decode(inputs.q, inputs.k, inputs.v, num_splits=32)
    differs = torch.zeros((), dtype=torch.bool, device="cuda")
    for _ in range(10_000):
        differs |= (flash_decode(inputs.q, inputs.k, inputs.v, num_splits=32) != out).any()
    assert not differs.item()


def test_a_graph_captured_at_the_maximum_serves_other_lengths_and_queries():
    case = Case(batch=4, heads_q=8, heads_kv=2, len_kv=5000, head_dim=128)
    inputs = build(case)
    lens = torch.full((4,), 5000, dtype=torch.int32, device="cuda")
    decode(inputs, cache_seqlens=lens)  # compiles; a capture cannot
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out, lse = decode(inputs, cache_seqlens=lens)
    for seed, values in enumerate(
        [(5000,) * 4, (0, 1, 64, 4999), (65, 0, 0, 2500), (5000, 17, 3, 1)], start=1
    ):
        inputs.q.copy_(build(Case(**{**vars(case), "seed": seed})).q)
        lens.copy_(torch.tensor(values))
        graph.replay()
        assert_close(
            out, lse, oracle(inputs.q, inputs.k, inputs.v, lens=values, causal=True), values
        )


def test_nothing_waits_for_the_device():
    inputs = build(Case(batch=2, heads_q=8, heads_kv=2, len_kv=1000, lens=(1000, 3)))
    decode(inputs, cache_seqlens=inputs.cache_seqlens)
    torch.cuda.set_sync_debug_mode("error")
    try:
        decode(inputs, cache_seqlens=inputs.cache_seqlens)
        flash_attention(inputs.q, inputs.k, inputs.v)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("num_splits", [1, 4])
def test_impossible_lengths_give_nan_and_harm_nobody(num_splits, dtype):
    case = Case(batch=5, heads_q=4, heads_kv=2, len_kv=300)
    inputs = build(case)
    lens = torch.tensor([300, -1, 301, 2**31 - 1, 65], dtype=dtype, device="cuda")
    if dtype == torch.int64:
        lens[3] = 2**40
    out, lse = decode(inputs, cache_seqlens=lens, num_splits=num_splits)
    assert out[1:4].isnan().all()
    assert lse[1:4].isnan().all()
    good = [0, 4]
    q, k, v = (x[good] for x in (inputs.q, inputs.k, inputs.v))
    assert_close(out[good], lse[good], oracle(q, k, v, lens=(300, 65), causal=True))
    with pytest.raises(ValueError, match="cache_seqlens: got length -1, takes 0 to 300"):
        decode(inputs, cache_seqlens=lens, validate=True)


def test_one_compilation_serves_all_lengths():
    kernels = [
        flash_decoding._split_kernel,
        combine._combine_kernel,
        flash_attention_module._flash_attention_kernel,
    ]

    def entries():
        return [len(cache[0]) for kernel in kernels for cache in kernel.device_caches.values()]

    def call(len_kv, num_splits):
        inputs = build(
            Case(
                batch=2,
                heads_q=8,
                heads_kv=2,
                len_kv=len_kv,
                head_dim=128,
                lens=(len_kv, len_kv // 2),
            )
        )
        decode(inputs, cache_seqlens=inputs.cache_seqlens, num_splits=num_splits)
        flash_attention(inputs.q, inputs.k, inputs.v)

    call(1000, 3)
    before = entries()
    for len_kv, num_splits in (
        (1, 2),
        (2, 16),
        (15, 3),
        (16, 17),
        (64, 2),
        (65, 5),
        (4096, 64),
        (100_000, 40),
    ):
        call(len_kv, num_splits)
    assert entries() == before


def test_more_rows_than_the_second_grid_axis_takes():
    """2050 sequences of 32 heads: 65,600 rows and programs (fla#1096)."""
    case = Case(batch=2050, heads_q=32, heads_kv=32, len_kv=20, head_dim=16)
    inputs = build(case)
    whole = flash_decode(inputs.q, inputs.k, inputs.v, num_splits=2, return_lse=True)
    alone = flash_attention(inputs.q, inputs.k, inputs.v)
    for b in (0, 1, 1024, 2047, 2049):
        expected = oracle(*(x[b : b + 1] for x in (inputs.q, inputs.k, inputs.v)), causal=True)
        for out, lse in (whole, alone):
            assert_close(out[b : b + 1], lse[b : b + 1], expected, b)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_runs_on_the_gpu_that_holds_the_tensors():
    inputs = build(Case(heads_q=4, heads_kv=2, len_kv=300), "cuda:1")
    with torch.cuda.device(0):
        out, lse = decode(inputs, num_splits=3)
    assert_close(out, lse, oracle(inputs.q, inputs.k, inputs.v, causal=True))


def test_a_cpu_tensor_is_refused():
    inputs = build(Case(len_kv=10), "cpu")
    with pytest.raises(ValueError, match="q: got a tensor on cpu, takes"):
        decode(inputs)


def test_more_than_two_billion_elements_in_one_cache():
    """17 million keys of 128: the last key, beyond 2^31 elements, outweighs all others (sglang#9344)."""
    len_kv = 2**24 + 2**16
    k = torch.randn(1, len_kv, 1, 128, device="cuda", dtype=torch.float16)
    q = torch.randn(1, 1, 4, 128, device="cuda", dtype=torch.float16)
    k[0, -1, 0] = q[0, 0, 0] * 3
    chunks = [k[:, start : start + 2**20] for start in range(0, len_kv, 2**20)]
    parts = [oracle(q, chunk, chunk, causal=False) for chunk in chunks]
    expected_out, expected_lse = merge_states([p.out for p in parts], [p.lse for p in parts])
    for stage in (flash_decode, flash_attention):
        extra = {"return_lse": True} if stage is flash_decode else {}
        out, lse = stage(q, k, k, **extra)
        torch.testing.assert_close(lse.double(), expected_lse, rtol=1e-5, atol=1e-4)
        # float16 weights below 2^-14 are subnormal: of 17 million small ones some hundredths are lost
        torch.testing.assert_close(out.double(), expected_out, rtol=2e-2, atol=2e-2)
        assert (out[0, 0, 0] - k[0, -1, 0]).abs().max() < 0.02


@pytest.mark.parametrize("dim", [0, 1, 2], ids=["batch", "token", "head"])
@pytest.mark.parametrize("name", ["q", "k", "v"])
@pytest.mark.parametrize("stage", [flash_attention, flash_decode])
def test_strides_beyond_two_billion_elements(stage, name, dim):
    """Last in the file: a stray access would end CUDA for the process. The partials' strides: tests/attention."""
    inputs = build(Case(batch=3, heads_q=6, heads_kv=3, len_q=3, len_kv=3, head_dim=16))
    tensors = {"q": inputs.q, "k": inputs.k, "v": inputs.v}
    expected = oracle(**tensors, causal=True)
    tensors[name] = spread(tensors[name], dim)
    extra = {"return_lse": True, "num_splits": 2} if stage is flash_decode else {}
    assert_close(*stage(*tensors.values(), causal=True, **extra), expected, name)
