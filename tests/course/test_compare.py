from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from fdlib.course.expect.compare import TOLERANCES, Mismatch, expect_close, expect_equal, tolerance

AXES = ("batch", "head", "query")


def _message(actual: Any, expected: torch.Tensor, **tolerances: float) -> str:
    with pytest.raises(Mismatch) as error:
        expect_close(actual, expected, what="out", case="len 5", axes=AXES, **tolerances)
    return str(error.value)


def _expected() -> torch.Tensor:
    return torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)


def test_equal_and_nearly_equal_tensors_pass() -> None:
    expect_close(_expected(), _expected(), what="out", case="len 5", axes=AXES)
    near = _expected() * (1 + 1e-6)
    expect_close(near.requires_grad_(), _expected(), what="out", case="len 5", axes=AXES)
    expect_close(torch.ones(0), torch.ones(0), what="out", case="len 0", axes=("head",))


def test_infinite_where_infinite_belongs_passes() -> None:
    lse = torch.tensor([-math.inf, 1.0])
    expect_close(lse, lse.clone(), what="lse", case="len 0", axes=("head",))


def test_the_first_difference_and_the_largest_are_named() -> None:
    actual = _expected()
    actual[0, 2, 1] += 0.5
    actual[1, 1, 3] += 2
    message = _message(actual, _expected())
    assert message == (
        "out is wrong for len 5: 2 of 24 elements differ.\n"
        "First at batch 0, head 2, query 1: got 9.5, expected 9.\n"
        "Largest error 2, at batch 1, head 1, query 3: got 21, expected 19."
    )


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        (None, "out has the wrong type for len 5: got None, expected a torch.Tensor."),
        ((1, 2), "got tuple, expected a torch.Tensor."),
        (torch.zeros(2, 3), "wrong shape for len 5: got (2, 3), expected (2, 3, 4)."),
        (torch.zeros(2, 3, 4).half(), "wrong dtype for len 5: got torch.float16, expected torch"),
    ],
)
def test_type_shape_and_dtype_come_first(actual: Any, message: str) -> None:
    assert message in _message(actual, _expected())


@pytest.mark.parametrize(("value", "word"), [(math.nan, "NaN"), (-math.inf, "infinite")])
def test_nan_and_inf_are_named(value: float, word: str) -> None:
    actual = _expected()
    actual[0, 0, 0] = 5  # differs too, but the rest matters more
    actual[1, 2] = value
    message = _message(actual, _expected())
    assert f"out is {word} where it should not be, for len 5: 4 of 24 elements." in message
    assert f"First at batch 1, head 2, query 0: got {value}, expected 20." in message


def test_finite_where_infinite_belongs_is_wrong() -> None:
    expected = _expected()
    expected[1, 0, 0] = -math.inf
    message = _message(_expected(), expected)
    assert "First at batch 1, head 0, query 0: got 12, expected -inf." in message
    assert "Largest error" not in message


def test_values_that_print_alike_are_shown_in_full() -> None:
    expected = torch.ones(2, 3, 4, dtype=torch.float64)
    message = _message(expected + 1e-7, expected)
    assert "got 1.0000001, expected 1.0" in message


def test_tolerances_follow_the_dtype_and_can_be_given() -> None:
    assert tolerance("torch.bfloat16") == TOLERANCES["bfloat16"]
    assert tolerance("int32") == (0.0, 0.0)
    half = _expected().half()
    expect_close(half * 1.001, half, what="out", case="", axes=AXES)
    assert "differ" in _message(half * 1.001, half, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_one_unit_in_the_last_place_is_never_wrong(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    for value in (1.0, -3.1, 1000.0, info.tiny, 0.9):
        x = torch.tensor([value], dtype=dtype)
        near = (x.view(torch.int16) + 1).view(dtype)
        far = (x.view(torch.int16) + 2).view(dtype)
        expect_close(near, x, what="out", case="", axes=("dim",), rtol=0.0, atol=0.0)
        with pytest.raises(Mismatch):
            expect_close(far, x, what="out", case="", axes=("dim",), rtol=0.0, atol=0.0)


def test_the_largest_error_is_told_if_it_is_another_one() -> None:
    actual = _expected()
    actual[0, 2, 1] += 2
    assert "Largest" not in _message(actual, _expected())


def test_a_subclass_does_not_compare_itself() -> None:
    class Agreeable(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *args: Any, **kwargs: Any) -> Any:
            return torch.zeros(2, 3, 4).double()

    assert "differ" in _message((_expected() + 1).as_subclass(Agreeable), _expected())


def test_a_single_value_has_no_axes() -> None:
    with pytest.raises(Mismatch, match="First at the only element: got 1, expected 2"):
        expect_close(torch.tensor(1.0), torch.tensor(2.0), what="x", case="one", axes=())


def test_the_axes_must_fit() -> None:
    with pytest.raises(ValueError, match="got 1 names, takes one for each of 3 axes"):
        expect_close(_expected(), _expected(), what="out", case="", axes=("head",))


@pytest.mark.parametrize(
    ("actual", "expected"),
    [(3, 3), (0.1 + 0.2, 0.3), (3, 3.0), ([1, 2], (1, 2)), (torch.tensor(3), 3), (None, None)],
)
def test_equal_plain_values_pass(actual: Any, expected: Any) -> None:
    expect_equal(actual, expected, what="grid", case="batch 1")
    expect_equal({"a": actual}, {"a": expected}, what="grid", case="batch 1")


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (3, 4, "got 3, expected 4."),
        (16.0, 16, "got 16.0 (float), expected 16 (int)."),
        (True, 1, "got True (bool), expected 1 (int)."),
        (1.0, 1.1, "got 1, expected 1.1."),
        ((8, 1), (8, 2), "at index 1 got 1, expected 2."),
        ((8,), (8, 2), "got 1 values (8,), expected 2, (8, 2)."),
        (8, (8, 2), "got 8 (int), expected (8, 2)."),
        ({"a": 1}, {"b": 1}, "got the keys ['a'], expected ['b']."),
        ({"a": 1}, {"a": 2}, "for 'a' got 1, expected 2."),
        (None, 3, "got None (None), expected 3 (int)."),
    ],
)
def test_unequal_plain_values_say_how(actual: Any, expected: Any, message: str) -> None:
    with pytest.raises(Mismatch) as error:
        expect_equal(actual, expected, what="grid", case="batch 1")
    assert str(error.value) == f"grid is wrong for batch 1: {message}"


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (list(range(3_000_000)), [1, 2]),
        ("x" * 10**7, 3),
        (dict.fromkeys(range(10**6)), {"a": 1}),
        (10**5000, "a text"),
        (torch.zeros(10**6), (8, 2)),
    ],
    ids=["list", "text", "dict", "int", "tensor"],
)
def test_a_value_of_millions_is_not_written_out(actual: Any, expected: Any) -> None:
    with pytest.raises(Mismatch) as error:
        expect_equal(actual, expected, what="grid", case="batch 1")
    assert len(str(error.value)) < 500


def test_a_hint_about_nan_is_given_for_nan_alone() -> None:
    actual = _expected() + 1
    assert "(NaN)" not in _message(actual, _expected(), if_nan=" (NaN)")
    actual[0, 0, 0] = math.nan
    assert "(NaN): 1 of 24" in _message(actual, _expected(), if_nan=" (NaN)")
