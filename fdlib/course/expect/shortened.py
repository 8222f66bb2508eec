"""A learner's value as a text of bearable length: it may hold millions of others."""

from __future__ import annotations

from reprlib import Repr

__all__ = ["shortened"]

_SHORT = Repr()
_SHORT.maxtuple = _SHORT.maxlist = _SHORT.maxdict = _SHORT.maxset = 16
_SHORT.maxstring = _SHORT.maxother = 200


def shortened(value: object) -> str:
    """Its `repr`, of at most 16 of its values.

    >>> shortened(tuple(range(1000)))
    '(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...)'
    """
    try:
        return _SHORT.repr(value)
    except Exception:  # an int of thousands of digits; a class named "array" that is none
        return "(a value that cannot be shown)"
