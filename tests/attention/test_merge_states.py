"""The merge of finished parts: exact, in any order, with an identity."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import torch
from attention.cases import Case, build

from fdlib import merge_states, naive_attention
from fdlib.plan import split_ranges

NEG_INF = float("-inf")
EXACT = 1e-15  # relative, float64: issue and course say that the combine is exact to this


def whole_and_parts(len_kv=103, num_parts=6, len_q=2, causal=False, seed=0):
    """Attention over all keys, and over each part of them, in float64."""
    case = Case(
        batch=2,
        heads_q=6,
        heads_kv=2,
        len_q=len_q,
        len_kv=len_kv,
        head_dim=20,
        dtype="float32",
        seed=seed,
    )
    q, k, v = (
        x.double() for x in (build(case, "cpu").q, build(case, "cpu").k, build(case, "cpu").v)
    )
    v = v.abs() + 0.1  # no cancellation: a relative error means something
    whole = naive_attention(q, k, v, causal=causal)
    parts = [
        naive_attention(q, k[:, start:end], v[:, start:end])
        for start, end in split_ranges(len_kv, num_parts, 8)
    ]
    return whole, [out for out, _ in parts], [lse for _, lse in parts]


def relative_error(got, expected):
    got, expected = (np.asarray(x, dtype=np.longdouble) for x in (got, expected))
    return float(np.abs((got - expected) / expected).max())


def merge_in_long_double(outs, lses):
    """The same parts merged with a longer mantissa: what is left is the error of `merge_states` itself."""
    outs = np.stack(outs).astype(np.longdouble)
    lses = np.stack(lses).astype(np.longdouble)
    largest = lses.max(0)
    weights = np.exp(lses - largest)
    shares = (weights / weights.sum(0)).swapaxes(2, 3)[..., None]
    return (shares * outs).sum(0), largest + np.log(weights.sum(0))


@pytest.mark.parametrize("num_parts", [1, 2, 3, 6, 13, 40])
@pytest.mark.parametrize("seed", range(3))
def test_merge_is_exact(num_parts, seed):
    (out, lse), outs, lses = whole_and_parts(num_parts=num_parts, seed=seed)
    merged = merge_states(outs, lses)
    for got, expected in zip(merged, merge_in_long_double(outs, lses), strict=True):
        assert relative_error(got, expected) <= EXACT
    # parts and whole each carry rounding errors of their own, of a few units in the last place
    assert relative_error(merged[0], out) <= 4 * EXACT
    assert relative_error(merged[1], lse) <= EXACT


def test_any_order():
    _, outs, lses = whole_and_parts(num_parts=4)
    exact = merge_in_long_double(outs, lses)
    for order in itertools.permutations(range(4)):
        merged = merge_states([outs[i] for i in order], [lses[i] for i in order])
        assert relative_error(merged[0], exact[0]) <= EXACT
        assert relative_error(merged[1], exact[1]) <= EXACT


def left_to_right(outs, lses):
    out, lse = outs[0], lses[0]
    for next_out, next_lse in zip(outs[1:], lses[1:], strict=True):
        out, lse = merge_states([out, next_out], [lse, next_lse])
    return out, lse


def by_halves(outs, lses):
    if len(outs) == 1:
        return outs[0], lses[0]
    middle = len(outs) // 2
    left, right = by_halves(outs[:middle], lses[:middle]), by_halves(outs[middle:], lses[middle:])
    return merge_states([left[0], right[0]], [left[1], right[1]])


@pytest.mark.parametrize("tree", [left_to_right, by_halves])
def test_any_tree(tree):
    _, outs, lses = whole_and_parts(num_parts=7)
    exact = merge_in_long_double(outs, lses)
    merged = tree(outs, lses)
    assert relative_error(merged[0], exact[0]) <= 2 * EXACT  # each level rounds again
    assert relative_error(merged[1], exact[1]) <= EXACT


@pytest.mark.parametrize("junk", [0.0, 1e30, float("nan"), float("inf"), NEG_INF])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_part_without_keys_is_the_identity(junk, place):
    _, outs, lses = whole_and_parts(num_parts=2)
    expected = merge_states(outs, lses)
    outs.insert(place, torch.full_like(outs[0], junk))
    lses.insert(place, torch.full_like(lses[0], NEG_INF))
    got = merge_states(outs, lses)
    assert torch.equal(got[0], expected[0])
    assert torch.equal(got[1], expected[1])


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_only_parts_without_keys(parts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out, lse = merge_states(
            torch.full((parts, 2, 3, 4, 8), float("nan")), torch.full((parts, 2, 4, 3), NEG_INF)
        )
    assert (out == 0).all()
    assert (lse == NEG_INF).all()


def test_one_part_is_itself():
    (out, lse), _, _ = whole_and_parts()
    merged_out, merged_lse = merge_states([out], [lse])
    assert torch.equal(merged_out, out)
    assert torch.equal(merged_lse, lse)


def test_rows_merge_independently():
    """Rows empty in one part, in the other, in both: each row is merged by its own LSEs."""
    _, outs, lses = whole_and_parts(num_parts=2)
    lses[0][0, 1, 0] = NEG_INF
    lses[1][1, 2, 1] = NEG_INF
    lses[0][1, 5, 0] = lses[1][1, 5, 0] = NEG_INF
    out, lse = merge_states(outs, lses)
    assert torch.equal(out[0, 0, 1], outs[1][0, 0, 1])
    assert torch.equal(out[1, 1, 2], outs[0][1, 1, 2])
    assert (out[1, 0, 5] == 0).all()
    assert lse[1, 5, 0] == NEG_INF
    untouched = torch.ones_like(lse, dtype=torch.bool)
    untouched[0, 1, 0] = untouched[1, 2, 1] = untouched[1, 5, 0] = False
    _, outs, lses = whole_and_parts(num_parts=2)
    assert torch.equal(lse[untouched], merge_states(outs, lses)[1][untouched])


@pytest.mark.parametrize("shift", [-1e4, -700.0, 700.0, 1e4, 1e300])
def test_scores_beyond_the_range_of_exp(shift):
    _, outs, lses = whole_and_parts(num_parts=3)
    expected = merge_states(outs, lses)
    out, lse = merge_states(outs, [lse + shift for lse in lses])
    assert out.isfinite().all()
    assert relative_error(lse, expected[1] + shift) <= 1e-10


def test_averaging_is_wrong_and_merging_is_not():
    (out, _), outs, lses = whole_and_parts(num_parts=4)
    assert relative_error(sum(outs) / 4, out) > 0.05
    shares = torch.stack(lses).softmax(0).transpose(2, 3)[..., None]
    # the same thing said otherwise
    assert relative_error((shares * torch.stack(outs)).sum(0), out) <= 4 * EXACT


def test_tensors_or_lists_and_the_dtypes_come_back():
    _, outs, lses = whole_and_parts(num_parts=3)
    as_lists, as_tensors = (
        merge_states(outs, lses),
        merge_states(torch.stack(outs), torch.stack(lses)),
    )
    assert torch.equal(as_lists[0], as_tensors[0])
    out, lse = merge_states([o.half() for o in outs], [x.float() for x in lses])
    assert (out.dtype, lse.dtype) == (torch.float16, torch.float32)
    torch.testing.assert_close(out.double(), as_lists[0], rtol=2e-3, atol=0)


def test_no_parts_or_parts_that_do_not_fit():
    out, lse = torch.zeros(1, 2, 3, 4), torch.zeros(1, 3, 2)
    with pytest.raises(ValueError, match="outs: got no parts, takes"):
        merge_states([], [])
    with pytest.raises(ValueError, match=r"lses: got .*, takes"):
        merge_states([out, out], [lse])
    with pytest.raises(ValueError, match=r"lses: got .*, takes"):
        merge_states([out], [lse.transpose(1, 2)])
    with pytest.raises(ValueError, match=r"outs: got .*, takes"):
        merge_states([out, out[:, :1]], [lse, lse])
