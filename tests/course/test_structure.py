"""What is said about a wrong value that equals no known mistake."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest
import torch

from fdlib.course.expect.compare import expect_close, expect_equal
from fdlib.course.expect.observe import observing
from fdlib.course.grading.structure import name_factor, structure

ROWS = ("batch", "head", "query")


def said(got: torch.Tensor, want: torch.Tensor, axes: tuple[str, ...] = ROWS) -> str:
    with observing() as sight:
        expect_close(got, want, what="out", case="one case", axes=axes)
    return " ".join(structure(sight))


def said_of_numbers(pairs: Iterable[tuple[Any, Any]]) -> str:
    with observing() as sight:
        for i, (got, want) in enumerate(pairs):
            expect_equal(got, want, what="bytes", case=f"case {i}")
    return " ".join(structure(sight))


def a_tensor(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3)) + 3


def test_the_indices_that_are_wrong_are_named() -> None:
    want = a_tensor(2, 4, 9)
    got = want.clone()
    got[:, 1:3, 7:] += torch.rand(2, 2, 2) + 0.1
    expected = "out is wrong only at head 1 to 2 (of 0 to 3), query 7 to 8 (of 0 to 8)."
    assert expected in said(got, want)
    got = want.clone()
    got[0, [0, 2], 3] += torch.rand(2) + 0.1
    assert "batch 0 (of 0 to 1), head 0, 2 (of 0 to 3), query 3" in said(got, want)
    assert "wrong in every element" in said(want + torch.rand(2, 4, 9) + 0.1, want)


def test_one_factor_is_named_with_what_it_is_known_as() -> None:
    want = a_tensor(2, 3, 4) - 12.5
    text = said(want * math.log2(math.e), want)
    assert "Every wrong value is 1.4427 times what it should be (log2 e" in text
    half = want.clone()
    half[0] = 0
    assert "Every wrong value is 0." in said(half, want)
    few = want.clone()
    few.flatten()[:2] *= 2
    for wrong in (few, want * 1.05, want * torch.linspace(2, 2.01, 24).view(2, 3, 4)):
        assert "times" not in said(wrong, want)
    want = a_tensor(2, 3, 16)
    assert "(1 / sqrt(D), with D 16)" in said(want / 4, want, ("batch", "query", "dim"))


def test_one_difference_is_named() -> None:
    want = a_tensor(2, 3, 4)
    assert "too large by 1.0986, which is log(3)" in said(want + math.log(3), want)
    assert "too small by 0.5." in said(want - 0.5, want)


def test_rows_with_factors_of_their_own_point_at_the_division() -> None:
    want = a_tensor(2, 3, 8)
    got = want * torch.tensor([[[2.0], [3.0], [5.0]]])
    text = said(got, want, ("batch", "query", "dim"))
    assert "Each row is right up to a factor of its own (2 to 5)" in text


def test_exchanged_places_are_found() -> None:
    want = a_tensor(2, 3, 8)
    got = want.clone()
    got[:, 1] = want[:, 0]
    assert "At head 1 stands what belongs at head 0." in said(got, want, ("batch", "head", "dim"))


def test_early_rounding_is_found() -> None:
    want = a_tensor(2, 3, 64)
    got = want.bfloat16().float()
    assert "Every value is a bfloat16 number" in said(got, want, ("batch", "head", "dim"))


def test_nan_is_traced_to_rows_without_keys_or_to_whole_rows() -> None:
    want = a_tensor(2, 3, 8)
    want[0, 1] = 0.0
    got = want.clone()
    got[0, 1] = math.nan
    axes = ("batch", "query", "dim")
    assert "NaN stands only in rows that see no key" in said(got, want, axes)
    got[0, 2] = math.nan
    assert "NaN fills whole rows" in said(got, want, axes)


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([(50, 100), (3, 6)], "In all 2 wrong cases your value is 0.5 times the right one."),
        ([(800, 100)], "Your value is 8 times the right one (bits are not bytes)."),
        ([(9, 10), (4, 5), (7, 7)], "In all 2 wrong cases your value is 1 less than"),
        ([(9, 10), (2, 5)], "your value is too small."),
        ([(0, 10)], "Your value is 0."),
        ([(3, 3.7), (8, 8.2)], "your value is the right one, rounded down."),
        ([(3.001, 3.0), (8.01, 8.0)], "your value is off by at most 0.12%: is something rounded"),
        ([(2.5, 3), (7.9, 8)], "A whole number is expected, and yours is a float."),
        ([((1, 2), (1, 3)), (4, 4)], "bytes is right in 1 of 2 cases, first for case 1."),
    ],
)
def test_numbers(pairs: list[tuple[Any, Any]], text: str) -> None:
    assert text in said_of_numbers(pairs)


def test_unknown_factors_have_no_name() -> None:
    assert name_factor(1.234) == ""
    assert "sqrt(D)" in name_factor(8.0, head_dim=64)
    assert "bits" in name_factor(8.0)
    assert "GiB" in name_factor(2**30 / 1e9)
