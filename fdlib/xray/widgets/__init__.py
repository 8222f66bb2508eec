"""Pictures that you move: controls around the functions of `fdlib.xray.draw`, in ipywidgets 7.7 and 8.1 alike.

Call one as the last line of a cell: `roofline_explorer()`. Where no kernel runs, its first picture and a sentence stay.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["WIDGETS"]

# name -> the module of this package that has a function of that name, which returns a `Panel`
WIDGETS = {
    "online_softmax_scrubber": "scrubber",
    "roofline_explorer": "roofline",
    "kv_cache_growth": "kv_growth",
    "split_weights": "splits",
    "sm_timeline_explorer": "sm_timeline",
    "time_against_splits": "split_times",
    "hbm_traffic": "traffic",
}


def __getattr__(name: str) -> Any:
    if name in WIDGETS:
        return getattr(importlib.import_module(f"fdlib.xray.widgets.{WIDGETS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *WIDGETS])
