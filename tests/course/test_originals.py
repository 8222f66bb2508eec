"""A function that a learner's code puts in the place of one that the checks compute with."""

from __future__ import annotations

import math

import pytest

from fdlib.course.expect import compare
from fdlib.course.grading.originals import remember

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        (torch, "allclose", "torch.allclose"),
        (torch, "maximum", "torch.maximum"),
        (torch.Tensor, "any", "torch.Tensor.any"),
        (torch.Tensor, "__le__", "torch.Tensor.__le__"),
        (math, "isclose", "math.isclose"),
        (compare, "_difference", "fdlib.course.expect.compare._difference"),
    ],
)
def test_what_was_replaced_is_named(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, said: str
) -> None:
    replaced = remember()
    assert replaced() == ""
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, lambda *args: True)
        assert replaced() == said
    assert replaced() == ""


def test_names_of_the_learners_own_are_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = remember()
    monkeypatch.setattr(torch, "my_own", len, raising=False)
    assert replaced() == ""
