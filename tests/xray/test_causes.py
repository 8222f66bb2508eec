"""What an exception was raised from."""

from __future__ import annotations

from fdlib.xray.causes import causes


def test_the_deepest_is_last():
    deep, middle, top = KeyError("deep"), ValueError("middle"), RuntimeError("top")
    top.__cause__, middle.__cause__ = middle, deep
    assert list(causes(top)) == [top, middle, deep]
    assert list(causes(None)) == []


def test_a_ring_of_causes_ends():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert list(causes(one)) == [one, two]
