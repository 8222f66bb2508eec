"""Addresses that say which tensor they were made from: each argument of a launch gets a range of its own.

Element 0 of argument n lies in the middle of the range n << 56, so a pointer may run 2**55 bytes to either side before
it could be taken for another argument's. None of these addresses is a real one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Addresses", "ForeignAddress", "Part"]

_BITS = 56
_PAGE = 4096  # an address keeps its place in its page, and with it its alignment
_MIDDLE = 1 << (_BITS - 1)
_REACH = _MIDDLE - _PAGE
_MOST = 127


class ForeignAddress(RuntimeError):
    """A kernel used an address that comes from none of its tensor arguments."""


class Part(NamedTuple):
    """The lanes of one operation that point into one argument."""

    argument: str
    lanes: np.ndarray
    offsets: np.ndarray  # int64: elements from element 0, also of the lanes that are not in `lanes`
    last: np.ndarray | None  # the last element that each lane touches, None if it is the same one
    real: np.ndarray  # uint64: the addresses in memory
    bytes: np.ndarray  # int64: as `offsets`, in bytes


class _Range(NamedTuple):
    argument: str
    base: int  # the address of element 0 that the kernel sees
    real: int
    itemsize: int


class Addresses:
    """The ranges of one launch, in the order of its tensors."""

    def __init__(self) -> None:
        self._ranges: list[_Range] = []
        self.tensors: dict[str, Any] = {}

    def add(self, argument: str, tensor: Any) -> int:
        """A new range for a tensor; the address of its element 0."""
        number = len(self._ranges) + 1
        if number > _MOST:
            raise ValueError(f"a kernel with more than {_MOST} tensors cannot be watched")
        real = int(tensor.data_ptr())
        base = (number << _BITS) + _MIDDLE + real % _PAGE
        self._ranges.append(_Range(argument, base, real, tensor.element_size()))
        self.tensors[argument] = tensor
        return base

    def split(
        self, pointers: np.ndarray, lanes: np.ndarray, width: int, kind: str
    ) -> Iterator[Part]:
        """The arguments that the lanes, of `width` bytes each, point into: as a rule one.

        Raises `ForeignAddress` on a lane that points into none.
        """
        number = int(pointers.flat[0]) >> _BITS
        if 0 < number <= len(self._ranges):
            each = self._ranges[number - 1]
            apart = pointers.view(np.int64) - each.base
            if apart.min() >= -_REACH and apart.max() < _REACH:
                yield _part(each, pointers, lanes, apart, width)
                return
        numbers = pointers >> np.uint64(_BITS)
        for number in np.unique(numbers[lanes]).tolist():
            if not 0 < number <= len(self._ranges):
                raise ForeignAddress(
                    f"This {kind} uses an address that comes from no tensor argument of the kernel, such as a "
                    "pointer that was itself loaded from memory. Start from one of the kernel's arguments."
                )
            each = self._ranges[number - 1]
            apart = (pointers - np.uint64(each.base)).view(np.int64)
            yield _part(each, pointers, lanes & (numbers == number), apart, width)


def _part(
    each: _Range, pointers: np.ndarray, lanes: np.ndarray, apart: np.ndarray, width: int
) -> Part:
    shift, inside = each.itemsize.bit_length() - 1, each.itemsize - 1
    last = None
    if width != each.itemsize or (inside and (apart & inside).any()):
        last = (apart + (width - 1)) >> shift
    real = pointers - np.uint64(each.base - each.real)
    return Part(each.argument, lanes, apart >> shift, last, real, apart)
