"""Which versions were tried, and which pairs are known to go wrong."""

from __future__ import annotations

import re

__all__ = ["PYTHON_NEWEST", "PYTHON_OLDEST", "bad_pair", "release"]

PYTHON_OLDEST = (3, 10)
PYTHON_NEWEST = (3, 13)


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without what follows them.

    >>> release("2.13.0+cpu"), release("3.8.0rc1")
    ((2, 13, 0), (3, 8, 0))
    """
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def bad_pair(
    triton: str | None, numpy: str | None, *, interpreting: bool
) -> tuple[str, str] | None:
    """Return (what goes wrong, the line that repairs it) for a pair known to fail, None for any other.

    >>> bad_pair("3.6.0", "2.4.1", interpreting=True)[1]
    'pip install "numpy<2.4"'
    >>> bad_pair("3.6.0", "2.4.1", interpreting=False) is None
    True
    """
    if triton is None or numpy is None:
        return None
    triton_release, numpy_release = release(triton)[:3], release(numpy)[:2]
    if triton_release[:2] <= (3, 1):
        text = f"Triton {triton} computes wrong numbers, silently, with this numpy ({numpy})."
        return text, 'pip install "torch==2.13.0" "triton==3.7.1"'
    if interpreting and triton_release <= (3, 6, 0) and numpy_release >= (2, 4):
        text = f"Under the interpreter, Triton {triton} fails with numpy {numpy}: loops over a runtime value."
        return text, 'pip install "numpy<2.4"'
    return None
