"""Run the grid on this machine's GPU, print the largest errors, and record them as JSON.

    python tests/gpu/record_grid.py OUT.json [--jobs 8]
    python tests/gpu/record_grid.py OUT.json --few 24     # a subset, under compute-sanitizer

Exits with 1 if any case is over its budget, or compute-sanitizer reports anything.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "gpu")]

import grid  # noqa: E402  (found through the path above; imports fdlib before triton)
from timing import provenance  # noqa: E402

SANITIZER = ["compute-sanitizer", "--error-exitcode", "9", "--tool"]
TOOLS = ("memcheck", "initcheck", "racecheck")


def measured(entry: tuple[str, object]) -> dict:
    stage, case = entry
    try:
        errors = asdict(grid.run(stage, case))
    except Exception as error:
        worst = dict.fromkeys((field.name for field in fields(grid.Errors)), float("inf"))
        errors = {"error": repr(error), **worst}
    return {"stage": stage, "case": str(case), "dtype": case.dtype, **errors}


def run_all(entries: list, jobs: int) -> list[dict]:
    """Each process compiles what its cases need: a fresh machine spends nearly all the time on that."""
    if jobs == 1:
        return [measured(entry) for entry in entries]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        return list(pool.imap(measured, entries, chunksize=4))


def summary(rows: list[dict]) -> list[dict]:
    """Per dtype: how many cases, and their largest errors; `max_rel_out` is relative to sum_j weight_j |v_j|."""
    table = []
    for dtype in grid.DTYPES:
        own = [row for row in rows if row["dtype"] == dtype]
        table.append(
            {
                "dtype": dtype,
                "cases": len(own),
                "failed": sum(failed(row) for row in own),
                "max_abs_out": max((row["out_abs"] for row in own), default=0.0),
                "max_rel_out": max((row["out_rel"] for row in own), default=0.0),
                "max_abs_lse": max((row["lse_abs"] for row in own), default=0.0),
                "max_budget_used": max(
                    (max(row["out_share"], row["lse_share"]) for row in own), default=0.0
                ),
            }
        )
    return table


def failed(row: dict) -> bool:
    return not (row["out_share"] <= 1 and row["lse_share"] <= 1)


def print_table(table: list[dict]) -> None:
    columns = ["max abs out", "max rel out", "max abs lse", "budget used"]
    print(f"{'dtype':10}{'cases':>7}{'failed':>8}" + "".join(f"{name:>14}" for name in columns))
    for row in table:
        print(
            f"{row['dtype']:10}{row['cases']:7}{row['failed']:8}{row['max_abs_out']:14.2e}{row['max_rel_out']:14.2e}"
            f"{row['max_abs_lse']:14.2e}{row['max_budget_used']:14.2f}"
        )


def under_sanitizer(out: Path, few: int) -> int:
    """This script again, inside each tool of compute-sanitizer; what each said goes into the record.

    No caching allocator, so that every tensor has its own bounds.
    """
    if shutil.which(SANITIZER[0]) is None:
        print(f"{SANITIZER[0]} is not on PATH: --few needs it")
        return 2
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    verdicts = {}
    for tool in TOOLS:
        inner = [sys.executable, __file__, str(out), "--few", str(few), "--inside"]
        done = subprocess.run(
            [*SANITIZER, tool, *inner], env=environment, capture_output=True, text=True
        )
        said = re.findall(r"=+ (.*SUMMARY: .*)", done.stdout)
        verdicts[tool] = {"exit_code": done.returncode, "said": said}
        print(done.stdout[-700:], tool, verdicts[tool], sep="\n", flush=True)
    record = json.loads(out.read_text(encoding="utf-8"))
    record |= {"command": provenance()["command"], "compute_sanitizer": verdicts}
    out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return max(verdict["exit_code"] for verdict in verdicts.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument(
        "--few", type=int, help="so many short cases, one process, under compute-sanitizer"
    )
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.few and not options.inside:
        return under_sanitizer(options.out, options.few)
    entries = grid.few(options.few) if options.few else grid.GRID
    rows = run_all(entries, 1 if options.few else options.jobs)
    table = summary(rows)
    print_table(table)
    for row in filter(failed, rows):
        print("FAILED", row)
    record = {**provenance(), "cases": len(rows), "summary": table, "rows": rows}
    options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(any(map(failed, rows)))


if __name__ == "__main__":
    sys.exit(main())
