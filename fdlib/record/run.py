"""Measure shape by shape, and write what is there after each: an interrupted record keeps what it has."""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fdlib.attention import combine, flash_attention, flash_decoding
from fdlib.plan import plan_splits
from fdlib.record import grid, machine, part_of
from fdlib.record.calls import COLD_L2S, MAX_SETS, REPLAYS, Calls, Pool, supported_dtype
from fdlib.record.timing import Times
from fdlib.shapes import AttentionShape
from fdlib.xray.recorder import instrumenting
from fdlib.xray.recordings import SIZES, pack_timeline
from fdlib.xray.simulation.work import flash_attention_work, plan_works
from fdlib.xray.timeline import timeline

__all__ = ["measure_all", "write_record"]

REPEAT = 5  # runs of which a timeline is the median
MAX_BYTES = 2_900_000  # of the file; timelines are left out beyond it
_KERNELS = (
    flash_attention._flash_attention_kernel,
    flash_decoding._split_kernel,
    combine._combine_kernel,
)
PROTOCOL = (
    f"One query, head_dim 128. Times: a CUDA graph of calls on rotating buffers that together are {COLD_L2S} times the "
    f"L2 cache or more (at most {MAX_SETS} of them), microseconds of one call, median of {REPLAYS} replays; spread_us "
    "is the slowest minus the fastest replay. combine_us alone, its inputs in L2. Timelines: of single calls of "
    "instrumented copies of the kernels, other memory read before each, the one with the median makespan of "
    f"{REPEAT}. spans: int32, "
    "little-endian, rows SM id, start_ns, end_ns of the programs in order of the linear id, x fastest; zlib, "
    "base64. bytes_moved: each byte once."
)


def measure_all(path: Path, shapes: Sequence[AttentionShape]) -> dict[str, Any]:
    """Measure ``shapes``, write the record to ``path`` as it grows, and return it."""
    began, dtype = time.monotonic(), supported_dtype()
    record: dict[str, Any] = machine.facts()
    record["date"] = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    record["command"] = " ".join(["fdlib", *(Path(word).name for word in sys.argv[1:])])
    record |= {"protocol": PROTOCOL, "dtype": dtype, "complete": False}
    record["clocks_before"] = machine.clocks()
    pool = Pool(dtype, most_bytes=2 * max(shape.kv_bytes for shape in shapes))
    _measure_machine(record, pool)
    record["rows"] = []
    write_record(path, record)
    combines: dict[tuple[int, int, int], Times | None] = {}
    for i, shape in enumerate(shapes, 1):
        rows = _measure_shape(replace(shape, dtype=dtype), pool, combines, record)
        record["rows"] += rows
        write_record(path, record)
        _say(f"{i:3d} of {len(shapes)}  {_summary(shape, rows)}  {time.monotonic() - began:5.0f} s")
    record["kernels"] = machine.resources(*_KERNELS)
    record["clocks_after"] = machine.clocks()
    record |= {"complete": True, "seconds": round(time.monotonic() - began)}
    write_record(path, record)
    return record


def _measure_machine(record: dict[str, Any], pool: Pool) -> None:
    record["timer_tick_ns"] = machine.timer_tick_ns()
    record["floor"] = machine.floor(pool.memory)
    _say(f"timer step {record['timer_tick_ns']} ns; {record['floor']}")
    record["one_busy_sm"] = machine.one_busy_sm()
    percent = record["one_busy_sm"]["nvidia_smi_percent"]
    _say(f"one busy SM: nvidia-smi says {percent}%")
    record["clocks_busy"] = machine.clocks()
    shapes = [replace(shape, dtype=record["dtype"]) for shape in grid.FEW_SHAPES]
    record["notes_cost"] = [_cost(shape, record["num_sms"], pool) for shape in shapes]


def _cost(shape: AttentionShape, num_sms: int, pool: Pool) -> dict[str, Any]:
    """The same call with and without the notes that a timeline is made of."""
    calls = Calls(shape, pool.triples(shape))
    num_splits = plan_splits(shape, num_sms).num_splits
    plain = calls.times(num_splits)
    with instrumenting(capturing=True):
        noted = calls.times(num_splits)
    again = calls.times(num_splits)
    assert plain and noted and again
    row = {**_sizes(shape), "num_splits": num_splits, "plain_us": round(plain.median_us, 3)}
    row |= {"noted_us": round(noted.median_us, 3), "plain_again_us": round(again.median_us, 3)}
    _say(f"notes: {row}")
    return row


def _sizes(shape: AttentionShape) -> dict[str, int]:
    return {name: getattr(shape, name) for name in SIZES}


def _measure_shape(
    shape: AttentionShape, pool: Pool, combines: dict[Any, Times | None], record: dict[str, Any]
) -> list[dict[str, Any]]:
    calls = Calls(shape, pool.triples(shape))
    if not calls.triples:
        _say(f"left out, the memory is too small: {shape}")
        return []
    rows = []
    for num_splits in [0, *grid.split_counts(shape, record["num_sms"])]:
        times = calls.times(num_splits)
        if times is None:
            continue
        row: dict[str, Any] = {"call": "flash_decode" if num_splits else "flash_attention"}
        row |= {**_sizes(shape), "num_splits": num_splits, **_rounded(times)}
        if num_splits:
            row |= _parts(calls, num_splits, times, combines)
            row["default"] = num_splits == plan_splits(shape, record["num_sms"]).num_splits
        if _room(record) and grid.with_timelines(shape, record["num_sms"], num_splits):
            row["timeline"] = _packed_timeline(calls, num_splits, record["num_sms"])
        rows.append(row)
    return rows


def _rounded(times: Times) -> dict[str, float]:
    spread = times.most_us - times.least_us
    return {"time_us": round(times.median_us, 3), "spread_us": round(spread, 3)}


def _parts(
    calls: Calls, num_splits: int, times: Times, combines: dict[Any, Times | None]
) -> dict[str, float]:
    """The two kernels alone; one split has no combine."""
    if num_splits == 1:
        return {"split_us": round(times.median_us, 3), "combine_us": 0.0}
    split = calls.split_times(num_splits)
    key = (calls.shape.batch, calls.shape.heads_q, num_splits)
    if key not in combines:
        combines[key] = calls.combine_times(num_splits)
    merge = combines[key]
    assert split and merge
    return {"split_us": round(split.median_us, 3), "combine_us": round(merge.median_us, 3)}


def _packed_timeline(calls: Calls, num_splits: int, num_sms: int) -> dict[str, Any]:
    shape = calls.shape
    if num_splits:
        works = plan_works(plan_splits(shape, num_sms, num_splits))
    else:
        works = (flash_attention_work(shape),)
    counts = [int(work.hbm_bytes) for work in works]
    return pack_timeline(timeline(calls.call(num_splits), repeat=REPEAT, bytes_moved=counts))


def _room(record: dict[str, Any]) -> bool:
    return record.get("bytes", 0) < MAX_BYTES


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write the record in the place of what is there, whole or not at all; a row stands on a line."""
    rows = record.get("rows", [])
    head = json.dumps(
        {key: value for key, value in record.items() if key not in ("rows", "bytes")}, indent=1
    )
    lines = ",\n".join(f"  {json.dumps(row, separators=(',', ':'))}" for row in rows)
    text = f'{head[:-2]},\n "rows": [\n{lines}\n ]\n}}\n'
    part = part_of(path)
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
    record["bytes"] = len(text)


def _summary(shape: AttentionShape, rows: Sequence[dict[str, Any]]) -> str:
    kept = sum("timeline" in row for row in rows)
    fastest = min((row["time_us"] for row in rows if row["num_splits"]), default=float("nan"))
    alone = next((row["time_us"] for row in rows if not row["num_splits"]), float("nan"))
    heads = f"{shape.heads_q}/{shape.heads_kv}"
    return (
        f"batch {shape.batch:2d}  {heads:>5}  {shape.len_kv:7,d} keys  FlashAttention {alone:9.1f} us  "
        f"best split {fastest:8.1f} us  {len(rows):2d} times {kept:2d} timelines"
    )


def _say(text: str) -> None:
    print(text, flush=True)
