"""Where this runs: in IPython, in the kernel of a notebook, or in neither."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["in_notebook", "ipython"]


def ipython() -> Any:
    """The IPython shell that this runs in, or None; IPython is not imported for the question."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython() if get_ipython else None


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, and not in a terminal."""
    return getattr(ipython(), "kernel", None) is not None
