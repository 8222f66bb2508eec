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

from fdlib.recorded import load_recorded, recorded_names
from fdlib.shapes import AttentionShape
from fdlib.xray.schedule import LaunchSpans, Timeline

__all__ = [
    "CALLS",
    "pack_timeline",
    "recorded_gpus",
    "recorded_timeline",
    "recorded_times",
    "unpack_timeline",
]

CALLS = ("flash_attention", "flash_decode")
_SIZES = ("batch", "heads_q", "heads_kv", "len_kv", "head_dim")
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


def recorded_gpus() -> list[str]:
    """The GPUs of the records that ship, by their names in `fdlib.gpus.GPUS`."""
    names = [name.removesuffix(_SUFFIX) for name in recorded_names() if name.endswith(_SUFFIX)]
    return [_record(name)["gpu_name"] for name in names]


def recorded_timeline(
    call: str, shape: AttentionShape, num_splits: int = 0, gpu: str = "H200"
) -> Timeline | None:
    """The timeline that was measured on ``gpu`` for this call, or None if none was.

    ``call`` is ``'flash_attention'`` (``num_splits`` does not matter) or ``'flash_decode'``, whose
    ``num_splits=0`` is the count that `fdlib.plan.choose_num_splits` takes. The dtype of ``shape``
    does not matter either: two bytes an element were measured. Raises `ValueError` for another
    ``call``.
    """
    record = _record(gpu)
    row = _rows(gpu).get(_key(call, shape, _count(call, shape, num_splits, gpu)))
    if row is None or "timeline" not in row:
        return None
    where = f"measured on {record['gpu']}, {record['date']}"
    return unpack_timeline(row["timeline"], record["gpu_name"], record["num_sms"], where)


def recorded_times(call: str, shape: AttentionShape, gpu: str = "H200") -> dict[int, float]:
    """Measured microseconds by split count, smallest first (`flash_attention`: 0); empty if there are none."""
    wanted = _key(call, shape, 0)[:-1]
    found = {key[-1]: row["time_us"] for key, row in _rows(gpu).items() if key[:-1] == wanted}
    return dict(sorted(found.items()))


def _count(call: str, shape: AttentionShape, num_splits: int, gpu: str) -> int:
    if call == "flash_attention" or num_splits:
        return num_splits if call != "flash_attention" else 0
    wanted = _key(call, shape, 0)[:-1]
    own = (key[-1] for key, row in _rows(gpu).items() if key[:-1] == wanted and row.get("default"))
    return next(own, 0)


def _key(call: str, sizes: Any, num_splits: int) -> tuple[Any, ...]:
    if call not in CALLS:
        raise ValueError(f"call: got {call!r}, takes one of {', '.join(CALLS)}")
    get = sizes.get if isinstance(sizes, dict) else functools.partial(getattr, sizes)
    return (call, *(get(name) for name in _SIZES), num_splits)


@functools.cache
def _record(gpu: str) -> dict[str, Any]:
    name = f"{gpu.lower().replace(' ', '')}{_SUFFIX}"
    return load_recorded(name) if name in recorded_names() else {"rows": []}


@functools.cache
def _rows(gpu: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {_key(row["call"], row, row["num_splits"]): row for row in _record(gpu)["rows"]}
