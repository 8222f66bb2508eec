"""What travels beside code and bytes: classes with what they hold, and what torch keeps of a tensor."""

from __future__ import annotations

import dataclasses
import threading
import types

import pytest

pytest.importorskip("triton")

import torch
from parcels import notebook_of, travel

from fdlib.xray.tracing.data import TraceError

NOTEBOOK = """
import abc, collections, dataclasses, enum

FACTOR = 3

Point = collections.namedtuple("Point", "x y", defaults=[7])

class Local(abc.ABC):
    __slots__ = ("kept",)
    count = 5
    def number(self):
        return self.count

class Sub(Local):
    def number(self):
        return super().number() + 1
    @property
    def twice(self):
        return 2 * self.number()
    @classmethod
    def make(cls):
        return cls()
    @staticmethod
    def add(x):
        return x + FACTOR

@dataclasses.dataclass(frozen=True)
class Sizes:
    n: int
    more: list = dataclasses.field(default_factory=list)

class Colour(enum.Enum):
    RED = 1

class Registering:
    def __init_subclass__(cls):
        pass

class Registered(Registering):
    pass

def reads_a_shape(x):
    def inner():
        return x.shape[0]
    return inner()
"""


@pytest.fixture
def notebook() -> types.SimpleNamespace:
    return notebook_of(NOTEBOOK)


def test_a_class_of_a_notebook_travels_with_what_it_holds(notebook):
    there, local, made = travel((notebook.Sub, notebook.Local, notebook.Sub()))
    assert there is not notebook.Sub and isinstance(made, there) and issubclass(there, local)
    assert (made.number(), made.twice, there.make().count, there.add(1)) == (6, 12, 5, 4)
    assert not hasattr(local(), "__dict__")


def test_dataclasses_and_named_tuples_travel(notebook):
    sizes, point = travel((notebook.Sizes(2), notebook.Point(1)))
    assert dataclasses.asdict(dataclasses.replace(sizes, n=3)) == {"n": 3, "more": []}
    assert type(sizes)(2) == sizes and repr(sizes) == "Sizes(n=2, more=[])"
    assert point == (1, 7) and point._replace(x=2).x == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        sizes.n = 4


@pytest.mark.parametrize("name", ["Colour", "Registered"])
def test_a_class_that_would_come_out_another_is_refused(notebook, name):
    with pytest.raises(TypeError, match=f"the class {name} is defined in this notebook"):
        travel(getattr(notebook, name))


def test_a_global_with_the_name_of_an_attribute_stays(notebook):
    notebook.reads_a_shape.__globals__["shape"] = threading.Lock()
    assert travel(notebook.reads_a_shape)(torch.ones(3)) == 3


def test_what_torch_keeps_beside_the_bytes_travels():
    weight = torch.nn.Parameter(torch.ones(2))
    weight.note, weight.itself, weight.grad = "kept", weight, torch.full((2,), 3.0)
    conj = torch.tensor([1 + 2j]).conj()
    with torch.inference_mode():
        inference = torch.ones(1)
    computed = weight * 2
    there, again, conj, neg, inference, computed = travel(
        (weight, weight, conj, conj.imag, inference, computed)
    )
    assert type(there) is torch.nn.Parameter and again is there and there.itself is there
    assert (there.note, there.grad.tolist()) == ("kept", [3, 3])
    assert conj.is_conj() and conj.tolist() == [1 - 2j] and neg.is_neg() and neg.tolist() == [-2]
    assert inference.is_inference() and computed.requires_grad and not computed.is_leaf
    (there * there).sum().backward()
    assert there.grad.tolist() == [5, 5] and weight.grad.tolist() == [3, 3]
    with pytest.raises(TraceError, match="backward reached a tensor that was computed before"):
        computed.sum().backward()
