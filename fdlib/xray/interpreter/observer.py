"""What somebody who watches a kernel run is told: launches, and each load, store or atomic of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

__all__ = ["Access", "Observer", "Program"]

Program = tuple[int, int, int]


@dataclass
class Access:
    """What one operation of one program is about to do with one argument."""

    kind: str  # "load", "store" or "atomic"
    argument: str  # the kernel's own name for the tensor
    program: Program
    offsets: np.ndarray  # int64: elements from element 0 to each lane's, hidden lanes included
    last: np.ndarray | None  # the last element that each lane touches, None if it is the same one
    lanes: np.ndarray  # bool: the lanes that the mask lets through
    masked: bool  # the kernel gave a mask (of an atomic: a mask that hides lanes)
    undefined: bool  # a load that hides lanes and has no `other`: they hold anything
    semantic: str  # of an atomic: "relaxed", "acquire", "release" or "acquire_release"
    bytes: np.ndarray  # int64: bytes from element 0 to each lane's first byte
    width: int  # bytes of one lane


class Observer(Protocol):
    """Who is told. `access` may raise: the access does not happen then."""

    def launch(self, kernel: str, grid: Program, arguments: Mapping[str, Any]) -> None:
        """A launch begins, on these tensors by the names of the kernel's parameters."""

    def access(self, access: Access) -> None:
        """A program is about to load, to store or to do an atomic."""

    def end(self) -> None:
        """The launch is over, or an exception has ended it."""
