"""The cell that shows each widget, as a notebook has it: for the tests of the widgets, and for their benchmark."""

from __future__ import annotations

__all__ = ["CELLS", "cell"]

PASSAGE = """from fdlib.passage import load_passage
"""
FOLD = """from fdlib.attention.online_softmax import SoftmaxState, update

def fold(m, l, acc, scores, v):
    state = update(SoftmaxState(m, l, acc), scores, v)
    return state.m, state.l, state.acc

"""
KERNELS = """from fdlib import flash_attention
from fdlib.course.naive_kernels import naive_attention_kernels
"""
# name in fdlib.xray.widgets.WIDGETS -> what stands above the call, the call
CELLS: dict[str, tuple[str, str]] = {
    "online_softmax_scrubber": (PASSAGE + FOLD, "online_softmax_scrubber(load_passage(), fold)"),
    "roofline_explorer": ("", "roofline_explorer()"),
    "kv_cache_growth": ("", "kv_cache_growth()"),
    "split_weights": (PASSAGE, "split_weights(load_passage())"),
    "sm_timeline_explorer": ("", "sm_timeline_explorer()"),
    "time_against_splits": ("", "time_against_splits()"),
    "hbm_traffic": (
        KERNELS,
        'hbm_traffic({"naive": naive_attention_kernels, "tiled": flash_attention})',
    ),
}


def cell(name: str) -> str:
    """The source of the cell that shows this widget."""
    above, call = CELLS[name]
    return f"from fdlib.xray.widgets import {name}\n{above}\n{call}"
