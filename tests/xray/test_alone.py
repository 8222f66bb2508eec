"""One at a time, and free again after an error."""

from __future__ import annotations

import threading

import pytest

from fdlib.xray.alone import alone


def test_a_second_one_is_refused_at_once():
    lock = threading.Lock()
    second = alone(lock, RuntimeError("the second"))
    with alone(lock, RuntimeError("one")), pytest.raises(RuntimeError, match="the second"), second:
        pass
    assert not lock.locked()


def test_an_error_inside_leaves_the_lock_free():
    lock = threading.Lock()
    with pytest.raises(KeyError), alone(lock, RuntimeError("busy")):
        raise KeyError("inside")
    assert not lock.locked()
