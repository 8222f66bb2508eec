"""Flash-Decoding from first principles: attention, built up to a split-KV kernel.

Names are imported when they are first used, so that ``import fdlib`` costs milliseconds and imports neither torch,
Triton nor matplotlib. It chooses Triton's interpreter when there is no GPU: import it before Triton.

>>> import fdlib
>>> fdlib.AttentionShape(batch=1, heads_q=32, heads_kv=8, len_q=1, len_kv=16384, head_dim=128).group_size
4
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fdlib.device import choose_mode as _choose_mode

if TYPE_CHECKING:
    from fdlib.attention.flash_attention import flash_attention
    from fdlib.attention.flash_decoding import flash_decode
    from fdlib.attention.naive import naive_attention
    from fdlib.attention.online_softmax import merge_states, online_softmax_attention
    from fdlib.gpus import GpuSpec
    from fdlib.plan import SplitPlan, plan_splits
    from fdlib.shapes import AttentionShape
    from fdlib.xray.schedule import Timeline
    from fdlib.xray.simulate import simulate
    from fdlib.xray.timeline import timeline
    from fdlib.xray.trace import Trace, trace

__all__ = [
    "naive_attention",
    "online_softmax_attention",
    "merge_states",
    "flash_attention",
    "flash_decode",
    "plan_splits",
    "trace",
    "timeline",
    "simulate",
    "AttentionShape",
    "SplitPlan",
    "Trace",
    "Timeline",
    "GpuSpec",
    "__version__",
]

__version__ = "0.1.0"

_HOMES = {
    "naive_attention": "fdlib.attention.naive",
    "online_softmax_attention": "fdlib.attention.online_softmax",
    "merge_states": "fdlib.attention.online_softmax",
    "flash_attention": "fdlib.attention.flash_attention",
    "flash_decode": "fdlib.attention.flash_decoding",
    "plan_splits": "fdlib.plan",
    "trace": "fdlib.xray.trace",
    "Trace": "fdlib.xray.trace",
    "timeline": "fdlib.xray.timeline",
    "Timeline": "fdlib.xray.schedule",
    "simulate": "fdlib.xray.simulate",
    "AttentionShape": "fdlib.shapes",
    "SplitPlan": "fdlib.plan",
    "GpuSpec": "fdlib.gpus",
}

_choose_mode()


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'fdlib' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
