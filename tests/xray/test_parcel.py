"""What travels to the process that traces: functions as code, views of one memory, classes that come out the same."""

from __future__ import annotations

import types

import pytest

pytest.importorskip("triton")

import torch
from parcels import notebook_of, travel

from fdlib.xray.tracing.parcel import Packer, unpack

NOTEBOOK = """
import enum

FACTOR = 3

def closed_over(step):
    total = 0
    def add(x):
        nonlocal total
        total += FACTOR * x + step
        return total
    return add

def even(n):
    return True if n == 0 else odd(n - 1)

def odd(n):
    return False if n == 0 else even(n - 1)

def late(n):
    return found_later

def with_defaults(x, *, by=FACTOR):
    return x * by

class Local(enum.Enum):
    ONE = 1
"""


@pytest.fixture
def notebook() -> types.SimpleNamespace:
    return notebook_of(NOTEBOOK)


def test_a_closure_travels_with_what_it_holds(notebook):
    add = notebook.closed_over(1)
    assert add(1) == 4
    there = travel(add)
    assert there is not add
    assert [there(1), there(1)] == [8, 12]  # goes on from 4
    assert add(1) == 8  # the one here has not moved


def test_functions_that_call_each_other(notebook):
    even = travel(notebook.even)
    assert even.__globals__ is not notebook.even.__globals__
    assert [even(n) for n in range(4)] == [True, False, True, False]


def test_keyword_defaults_and_names_stay(notebook):
    there = travel(notebook.with_defaults)
    assert (there(2), there(2, by=5), there.__name__) == (6, 10, "with_defaults")


def test_a_name_that_is_not_there_fails_when_it_is_used(notebook):
    with pytest.raises(NameError, match="found_later"):
        travel(notebook.late)(1)


def test_what_can_be_imported_goes_by_its_name():
    function, module = travel((torch.nn.functional.softmax, torch))
    assert function is torch.nn.functional.softmax
    assert module is torch


def test_views_of_one_memory_stay_views_of_one_memory():
    whole = torch.arange(12.0)
    packer = Packer()
    parcel = packer.pack((whole, whole[2:].view(2, 5).T, torch.ones(2)))
    assert len(packer.storages) == 2
    storages = [each.clone() for each in packer.storages]  # as in another process
    there, view, _ = unpack(parcel, storages, {})
    assert view.shape == (5, 2) and view.stride() == (1, 5)
    there[3] = 99.0
    assert view[1, 0] == 99.0 and whole[3] == 3.0


@pytest.mark.parametrize("make", [lambda cls: cls, lambda cls: cls.ONE])
def test_a_class_that_would_not_come_out_the_same_is_refused(notebook, make):
    with pytest.raises(TypeError, match="the class Local is defined in this notebook"):
        travel(make(notebook.Local))


def test_what_pickle_cannot_send_is_refused():
    with pytest.raises(TypeError, match="fn and its arguments go to a second one"):
        travel(n for n in range(3))
