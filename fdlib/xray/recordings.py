"""Timelines and times that ``fdlib record`` wrote: how they are packed, and how to read those that ship.

A launch's arrays are packed as text: int32, little-endian, three rows of one number per program (SM id, start and
end in nanoseconds since the timeline began), compressed with zlib, then base64.
"""

from __future__ import annotations

import base64
import functools
import zlib
from typing import Any

import numpy as np

from fdlib.gpus import GPUS, GpuSpec, get_gpu
from fdlib.recorded import load_recorded, recorded_names
from fdlib.shapes import AttentionShape
from fdlib.xray.schedule import LaunchSpans, Timeline

__all__ = [
    "CALLS",
    "SIZES",
    "pack_timeline",
    "recorded_timeline",
    "recorded_times",
    "unpack_timeline",
]

CALLS = ("flash_attention", "flash_decode")
SIZES = ("batch", "heads_q", "heads_kv", "len_kv", "head_dim")  # that a row states
# What `fdlib record` holds fixed, and its rows do not say: one query, two bytes an element.
_FIXED = {"len_q": 1, "element_bytes": 2}
_SUFFIX = "_timelines"


def pack_timeline(line: Timeline) -> dict[str, Any]:
    """What a record keeps of a timeline: its launches, packed, and two numbers to look at."""
    return {
        "makespan_us": round(line.makespan_ns / 1e3, 2),
        "utilisation": round(line.utilisation, 4),
        "launches": [
            {
                "kernel": each.kernel,
                "grid": list(each.grid),
                "bytes_moved": each.bytes_moved,
                "spans": _pack(np.stack([each.sm, each.start_ns, each.end_ns])),
            }
            for each in line.launches
        ],
    }


def unpack_timeline(packed: dict[str, Any], gpu: str, num_sms: int, where: str) -> Timeline:
    """The timeline that `pack_timeline` packed."""
    launches = []
    for each in packed["launches"]:
        sm, start, end = _unpack(each["spans"])
        launches.append(
            LaunchSpans(each["kernel"], tuple(each["grid"]), sm, start, end, each["bytes_moved"])
        )
    return Timeline(tuple(launches), gpu, num_sms, "measured", where)


def _pack(rows: np.ndarray) -> str:
    if rows.size and not -(2**31) <= int(rows.min()) <= int(rows.max()) < 2**31:
        raise ValueError("rows: got a time beyond 2.1 seconds, takes less")
    return base64.b64encode(zlib.compress(rows.astype("<i4").tobytes(), 9)).decode("ascii")


def _unpack(text: str) -> np.ndarray:
    data = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(data, dtype="<i4").reshape(3, -1).astype(np.int64)


def recorded_timeline(
    call: str, shape: AttentionShape, num_splits: int = 0, gpu: GpuSpec | str = "H200"
) -> Timeline | None:
    """The timeline that was measured on ``gpu`` for this call, or None if none was.

    ``call`` is ``'flash_attention'`` (``num_splits`` does not matter) or ``'flash_decode'``, whose
    ``num_splits=0`` is the count that `fdlib.plan.choose_num_splits` takes. One query was measured,
    and two bytes an element, float16 or bfloat16. ``gpu`` is a `GpuSpec` or a name. Raises
    `ValueError` for another ``call`` and for an unknown GPU.
    """
    name = _name(gpu)
    record = _record(name)
    row = _rows(name).get(_key(call, shape, _count(call, shape, num_splits, name)))
    if row is None or "timeline" not in row:
        return None
    where = f"measured on {record['gpu']}, {record['date']}"
    return unpack_timeline(row["timeline"], record["gpu_name"], record["num_sms"], where)


def recorded_times(
    call: str, shape: AttentionShape, gpu: GpuSpec | str = "H200"
) -> dict[int, float]:
    """Measured microseconds by split count, smallest first (`flash_attention`: 0); empty if there are none."""
    wanted = _key(call, shape, 0)[:-1]
    found = {
        key[-1]: row["time_us"] for key, row in _rows(_name(gpu)).items() if key[:-1] == wanted
    }
    return dict(sorted(found.items()))


def _name(gpu: GpuSpec | str) -> str:
    """The GPU's name in `GPUS`; none for a `GpuSpec` of your own: nothing was measured on it."""
    spec = get_gpu(gpu) if isinstance(gpu, str) else gpu
    if not isinstance(spec, GpuSpec):
        raise TypeError(f"gpu: got {type(gpu).__name__}, takes a GpuSpec or a name")
    return spec.name if GPUS.get(spec.name) == spec else ""


def _count(call: str, shape: AttentionShape, num_splits: int, gpu: str) -> int:
    if call == "flash_attention" or num_splits:
        return num_splits if call != "flash_attention" else 0
    wanted = _key(call, shape, 0)[:-1]
    own = (key[-1] for key, row in _rows(gpu).items() if key[:-1] == wanted and row.get("default"))
    return next(own, 0)


def _key(call: str, sizes: Any, num_splits: int) -> tuple[Any, ...]:
    if call not in CALLS:
        raise ValueError(f"call: got {call!r}, takes one of {', '.join(CALLS)}")
    get = (_FIXED | sizes).get if isinstance(sizes, dict) else functools.partial(getattr, sizes)
    return (call, *(get(name) for name in (*SIZES, *_FIXED)), num_splits)


@functools.cache
def _record(gpu: str) -> dict[str, Any]:
    name = f"{gpu.lower().replace(' ', '')}{_SUFFIX}"
    return load_recorded(name) if name in recorded_names() else {"rows": []}


@functools.cache
def _rows(gpu: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {_key(row["call"], row, row["num_splits"]): row for row in _record(gpu)["rows"]}
