from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch

from fdlib.course import compare_prediction


def _printed(capsys: pytest.CaptureFixture[str], *arguments: Any, **options: Any) -> str:
    assert compare_prediction(*arguments, **options) is None
    return capsys.readouterr().out.rstrip("\n")


@pytest.mark.parametrize(
    ("prediction", "actual", "line"),
    [
        (100, 90_000, "You predicted 100 MB, it is 90,000 MB: 900 times too low."),
        (50.0, 12.5, "You predicted 50 MB, it is 12.5 MB: 4 times too high."),
        (12.5, 12.5, "You predicted 12.5 MB, it is 12.5 MB: right."),
        (98.1, 100, "You predicted 98.1 MB, it is 100 MB: right."),
        (95, 100, "You predicted 95 MB, it is 100 MB: within 10%."),
        (3, 0, "You predicted 3 MB, it is 0 MB: too high."),
        (-3, 4, "You predicted -3 MB, it is 4 MB: too low."),
        (123456.7, 123456.7, "You predicted 123,457 MB, it is 123,457 MB: right."),
        (Fraction(1, 2), 0.5, "You predicted 0.5 MB, it is 0.5 MB: right."),
        (torch.tensor(2.0), 2.0, "You predicted 2 MB, it is 2 MB: right."),
    ],
)
def test_a_prediction_is_compared(
    capsys: pytest.CaptureFixture[str], prediction: float, actual: float, line: str
) -> None:
    assert _printed(capsys, prediction, actual, "MB") == line


@pytest.mark.parametrize("prediction", ["17", (1, 2), [3], True, 1j, float("nan"), {}, object()])
def test_what_is_no_number_is_answered_with_what_to_give(
    capsys: pytest.CaptureFixture[str], prediction: Any
) -> None:
    assert _printed(capsys, prediction, 17) == "Give a number, such as 20."


def test_without_a_prediction_it_asks_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert _printed(capsys, None, 93.94, "%") == (
        "You have not predicted yet: put your number in place of None, run that cell and then "
        "this one.\nAnswer: 93.94%"
    )


def test_a_name_says_what_was_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    line = "alpha: you predicted 0.5, it is 0.5: right."
    assert _printed(capsys, 0.5, 0.5, name="alpha") == line
    assert _printed(capsys, None, 0.5, name="alpha").endswith("Answer: alpha 0.5")


def test_a_tolerance_is_absolute(capsys: pytest.CaptureFixture[str]) -> None:
    assert _printed(capsys, 9.1, 10.0, tolerance=1.0).endswith("it is 10: right.")
    assert _printed(capsys, 7, 10.0, tolerance=1.0).endswith("it is 10: 3 too low.")
    assert _printed(capsys, -1, 0.0, tolerance=1.0).endswith("it is 0: right.")
