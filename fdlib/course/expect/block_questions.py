"""Refuse a Python question to a whole block, which Triton's interpreter answers with yes, whatever the block holds.

`a and b` of two blocks is then `b`, `a or b` is `a`, `not a` is False, and an `if` takes its branch for all elements.
A compiler refuses most of it and joins the rest element by element, so that values differ from those on a GPU.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

from fdlib.course.expect.compare import Mismatch

__all__ = ["BlockQuestion", "block_questions_refused"]


class BlockQuestion(Mismatch):
    """A kernel asks for one yes or no of a block with many; two such are the same mistake."""

    signature = ("a question to a whole block",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(
            "The kernel asks a whole block for one yes or no, with `if`, `while`, `and`, `or`, `not` or a chain such "
            f"as `a <= x < b`. The block has the shape {list(shape)} and holds one answer for each element.\n"
            "Choose element by element with tl.where. Join blocks with `&` and `|`, and turn one around with `~`, each "
            "condition in parentheses."
        )


@contextlib.contextmanager
def block_questions_refused() -> Iterator[None]:
    """In the block, a kernel under the interpreter raises `BlockQuestion` where it asks one."""
    from triton.runtime import interpreter

    original = interpreter._patch_lang_tensor

    def patch(tensor: Any, *scope: Any) -> None:
        original(tensor, *scope)  # which is undone after the launch, with what comes here
        answered = tensor.__bool__

        def asked(self: Any) -> bool:
            asker = sys._getframe(1).f_globals.get("__name__", "")
            if self.handle.data.size > 1 and not asker.startswith("triton."):  # it asks, of `mask`
                raise BlockQuestion(tuple(self.handle.data.shape))
            return bool(answered(self))

        tensor.__bool__ = asked

    with mock.patch.object(interpreter, "_patch_lang_tensor", patch):
        yield
