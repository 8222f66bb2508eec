"""Flash-Decoding: the split kernel, the combine kernel, and which of them ran."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("triton")

import torch
from attention.cases import DEVICE, LAYOUTS, Case, build, launches
from attention.oracle import assert_close, oracle

from fdlib import AttentionShape, flash_attention, flash_decode, plan_splits
from fdlib.attention import flash_decoding
from fdlib.device import interpreting

NEG_INF = float("-inf")


def decode(case, **arguments):
    inputs = build(case)
    arguments = {
        "cache_seqlens": inputs.cache_seqlens,
        "causal": case.causal,
        "num_splits": case.num_splits,
        **arguments,
    }
    return inputs, flash_decode(inputs.q, inputs.k, inputs.v, return_lse=True, **arguments)


def check(case, **arguments):
    inputs, (out, lse) = decode(case, **arguments)
    assert out.dtype == inputs.q.dtype
    assert out.is_contiguous()
    scale = arguments.get("softmax_scale")
    assert_close(
        out,
        lse,
        oracle(inputs.q, inputs.k, inputs.v, lens=case.lens, causal=case.causal, scale=scale),
        case,
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("head_dim", [16, 17, 31, 64, 80, 96, 100, 128, 200, 256])
def test_head_dims_and_dtypes(head_dim, dtype):
    check(Case(heads_q=3, heads_kv=1, len_kv=100, head_dim=head_dim, dtype=dtype, num_splits=2))


@pytest.mark.parametrize("num_splits", [1, 3])
@pytest.mark.parametrize("len_kv", [0, 1, 15, 16, 17, 63, 64, 65, 128, 130, 300])
def test_lengths(len_kv, num_splits):
    check(Case(heads_q=2, heads_kv=1, len_kv=len_kv, num_splits=num_splits))


@pytest.mark.parametrize("num_splits", [0, 1, 2, 3, 5, 16, 17, 33])
def test_splits(num_splits):
    """33 splits of 5 blocks: 28 of them are empty, and the combine walks three blocks of 16 splits."""
    check(Case(heads_q=2, heads_kv=1, len_kv=300, num_splits=num_splits))


@pytest.mark.parametrize(
    ("heads_q", "heads_kv"), [(1, 1), (3, 3), (4, 2), (6, 2), (4, 1), (8, 1), (12, 2)]
)
def test_each_query_head_reads_its_own_key_head(heads_q, heads_kv):
    check(Case(heads_q=heads_q, heads_kv=heads_kv, len_kv=70, head_dim=32, num_splits=2))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("len_q", "len_kv"), [(2, 1), (2, 64), (3, 130), (3, 65), (9, 70), (9, 5)])
def test_several_queries(len_q, len_kv, causal):
    check(
        Case(
            heads_q=2,
            heads_kv=1,
            len_q=len_q,
            len_kv=len_kv,
            head_dim=32,
            causal=causal,
            num_splits=2,
        )
    )


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rows_of_a_group_over_several_row_blocks(dtype):
    check(Case(heads_q=6, heads_kv=1, len_q=7, len_kv=40, head_dim=128, dtype=dtype, num_splits=1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, dtype):
    check(
        Case(
            batch=2,
            heads_q=4,
            heads_kv=2,
            len_kv=80,
            head_dim=24,
            dtype=dtype,
            layout=layout,
            lens=(80, 33),
            num_splits=2,
        )
    )


@pytest.mark.parametrize("num_splits", [0, 1, 3])
@pytest.mark.parametrize("lens", [(130, 0, 65), (1, 64, 129), (0, 0, 0)])
def test_cache_seqlens(lens, num_splits):
    check(
        Case(
            batch=3,
            heads_q=2,
            heads_kv=1,
            len_kv=130,
            head_dim=32,
            lens=lens,
            num_splits=num_splits,
        )
    )


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_cache_seqlens_as_strided_tensor_of_either_int(dtype):
    case = Case(
        batch=3, heads_q=2, heads_kv=1, len_kv=90, head_dim=32, lens=(7, 90, 0), num_splits=2
    )
    lens = torch.tensor([7, -1, 90, -1, 0, -1], dtype=dtype, device=DEVICE)[::2]
    check(case, cache_seqlens=lens)


def test_cache_seqlens_as_one_int():
    check(
        Case(batch=2, heads_q=2, heads_kv=1, len_kv=90, head_dim=32, lens=(66, 66), num_splits=2),
        cache_seqlens=66,
    )


@pytest.mark.parametrize("scale", [0.0, 0.01, 3, -0.5])
def test_softmax_scale(scale):
    check(
        Case(heads_q=2, len_kv=100, head_dim=32, dtype="float32", num_splits=2), softmax_scale=scale
    )


@pytest.mark.parametrize(("batch", "len_q", "len_kv"), [(1, 1, 0), (0, 2, 5), (2, 0, 5), (1, 6, 2)])
@pytest.mark.parametrize("num_splits", [0, 1, 4])
def test_empty_rows_without_a_warning(batch, len_q, len_kv, num_splits):
    case = Case(
        batch=batch,
        heads_q=2,
        len_q=len_q,
        len_kv=len_kv,
        head_dim=16,
        dtype="float32",
        num_splits=num_splits,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(case)


def test_one_split_skips_the_combine():
    with launches() as seen:
        decode(Case(batch=2, heads_q=4, heads_kv=2, len_kv=200, num_splits=1))
    assert seen == [("split", (2 * 2,))]


def test_several_splits_launch_split_and_combine():
    with launches() as seen:
        decode(Case(batch=2, heads_q=4, heads_kv=2, len_q=3, len_kv=200, head_dim=32, num_splits=3))
    assert seen == [("split", (2 * 2 * 3,)), ("combine", (2 * 3 * 4,))]


@pytest.mark.parametrize("sizes", [{"batch": 0, "len_kv": 9}, {"len_q": 0, "len_kv": 9}])
def test_nothing_to_compute_launches_nothing(sizes):
    with launches() as seen:
        decode(Case(heads_q=2, num_splits=2, **sizes))
    assert seen == []


@pytest.mark.skipif(
    not interpreting(), reason="plans for the GPU at hand, which GPUS need not have"
)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("len_kv", [10, 200, 300])
def test_launches_what_the_plan_says(len_kv, dtype):
    """`plan_splits` for an H100, which the interpreter plans for, and the launched grid."""
    shape = AttentionShape(
        batch=1, heads_q=3, heads_kv=1, len_q=2, len_kv=len_kv, head_dim=128, dtype=dtype
    )
    plan = plan_splits(shape, "H100")
    with launches() as seen:
        decode(Case(heads_q=3, heads_kv=1, len_q=2, len_kv=len_kv, head_dim=128, dtype=dtype))
    assert seen[0] == ("split", (plan.programs,))
    assert len(seen) == (1 if plan.num_splits == 1 else 2)


def test_decode_is_flash_attention():
    inputs, (out, lse) = decode(
        Case(batch=2, heads_q=4, heads_kv=2, len_q=3, len_kv=140, dtype="float32", num_splits=3)
    )
    expected = flash_attention(inputs.q, inputs.k, inputs.v, causal=True)
    torch.testing.assert_close((out, lse), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("num_splits", [1, 3])
def test_impossible_lengths_that_nobody_checked_give_nan(num_splits, monkeypatch):
    """On a GPU lengths are read by the kernel alone: it must neither read out of bounds nor harm other sequences."""
    monkeypatch.setattr(flash_decoding.inputs, "check_seqlens", lambda lens, *_, **__: lens)
    inputs = build(Case(batch=5, heads_q=2, heads_kv=1, len_kv=90, head_dim=32))
    lens = torch.tensor([90, -1, 91, 2**40, 17], dtype=torch.int64, device=DEVICE)
    arguments = {"cache_seqlens": lens, "num_splits": num_splits, "return_lse": True}
    out, lse = flash_decode(inputs.q, inputs.k, inputs.v, **arguments)
    assert out[1:4].isnan().all()
    assert lse[1:4].isnan().all()
    q, k, v = (x[[0, 4]] for x in (inputs.q, inputs.k, inputs.v))
    assert_close(out[[0, 4]], lse[[0, 4]], oracle(q, k, v, lens=(90, 17), causal=True))


def test_inputs_are_not_changed():
    case = Case(batch=2, heads_q=4, heads_kv=2, len_kv=100, lens=(100, 40), num_splits=2)
    before = build(case)
    inputs, _ = decode(case)
    for name in ("q", "k", "v", "cache_seqlens"):
        assert torch.equal(getattr(inputs, name).nan_to_num(), getattr(before, name).nan_to_num())
