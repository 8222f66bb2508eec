"""Classes in a parcel: those of a notebook go as an empty class first, then what it holds."""

from __future__ import annotations

import abc
import dataclasses
import importlib
import pickle
import types
from typing import Any

__all__ = ["as_parts", "part_of_class"]

_LEFT_OUT = {"_abc_impl", "__dict__", "__weakref__", "__slots__", "__module__", "__qualname__"}


def as_parts(made: type) -> Any:
    """How pickle makes a class again. Raises `PicklingError` for one that does not come out the same."""
    plain = type(made) in (type, abc.ABCMeta)
    acts = any("__init_subclass__" in vars(base) for base in made.__mro__[1:-1])
    if not plain or acts:
        raise pickle.PicklingError(
            f"the class {made.__qualname__} is defined in this notebook and has a metaclass of its own, or a base "
            "class that acts on its subclasses (an Enum, a Generic, ...)"
        )
    names = ("__module__", "__qualname__", "__slots__")
    first = {name: made.__dict__[name] for name in names if name in made.__dict__}
    first["__qualname__"] = made.__qualname__
    held = {name: each for name, each in made.__dict__.items() if not _of_python(name, each)}
    return _make, (type(made), made.__name__, made.__bases__, first), held, None, None, _fill


def part_of_class(obj: Any) -> Any:
    """How pickle makes what stands in classes and it cannot send; None for anything else."""
    if type(obj) in (staticmethod, classmethod):
        return type(obj), (obj.__func__,)
    if type(obj) is property:
        return property, (obj.fget, obj.fset, obj.fdel, obj.__doc__)
    if type(obj) is types.MappingProxyType:
        return _proxy, (dict(obj),)
    if type(obj).__module__ == "dataclasses":  # its marks are compared by `is`
        for name, mark in vars(dataclasses).items():
            if mark is obj:
                return _mark, (name,)
    return None


def _of_python(name: str, value: Any) -> bool:
    """Whether Python makes it anew for each class."""
    return name in _LEFT_OUT or isinstance(value, types.MemberDescriptorType)


def _make(kind: Any, name: str, bases: Any, first: dict[str, Any]) -> type:
    return kind(name, bases, first)


def _fill(made: type, held: dict[str, Any]) -> None:
    for name, value in held.items():
        setattr(made, name, value)


def _proxy(held: dict[Any, Any]) -> Any:
    return types.MappingProxyType(held)


def _mark(name: str) -> Any:
    return getattr(importlib.import_module("dataclasses"), name)
