"""Turn what a worker left behind (results, a trace, an exit status) into a verdict."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from fdlib.course.loader import location
from fdlib.course.process import OUTPUT_KEPT_BYTES, Ended
from fdlib.course.verdict import CheckResult, State, Verdict

__all__ = ["judge"]


def judge(
    verdict: Verdict, source: str, results: str, trace: str, ended: Ended, time_limit_s: float
) -> Verdict:
    """The verdict, filled in from the worker's JSON lines, its trace and how it ended.

    Raises `RuntimeError` if the worker did not come to the point of reading the learner's file.
    """
    events = list(_events(results))
    by_kind = {event["event"]: event for event in events}
    by_check = {event["name"]: event for event in events if event["event"] == "result"}
    verdict = replace(
        verdict,
        checks=tuple(_filled(check, by_check.get(check.name)) for check in verdict.checks),
        notes=verdict.notes + _notes(ended),
        output=ended.output,
        mode=by_kind.get("ready", {}).get("mode", ""),
        seconds=ended.seconds,
    )
    if "ready" not in by_kind:
        reason = by_kind.get("refused", {}).get("message") or ended.output.strip()[-1000:]
        raise RuntimeError(f"{verdict.name} cannot be checked here. {reason or trace}")
    if failed := by_kind.get("import failed"):
        message, where = failed["message"], failed["location"]
        return replace(verdict, state="does not import", message=message, location=where)
    if "done" in by_kind:
        all_passed = all(check.outcome == "passed" for check in verdict.checks)
        state: State = "passed" if all_passed else "failed"
        return replace(verdict, state="unfinished" if verdict.empty else state)
    return _cut_short(verdict, source, by_kind, trace, ended, time_limit_s)


def _events(results: str) -> Iterator[dict[str, Any]]:
    for line in results.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return  # the process ended while it wrote this line


def _filled(check: CheckResult, result: dict[str, Any] | None) -> CheckResult:
    if result is None:
        return check
    return replace(check, **{k: v for k, v in result.items() if k not in {"event", "name"}})


def _notes(ended: Ended) -> tuple[str, ...]:
    notes = []
    if ended.left_behind:
        notes.append("It left processes running; they were ended.")
    if ended.output_bytes > OUTPUT_KEPT_BYTES:
        notes.append(f"It printed {ended.output_bytes:,} bytes; only the first are kept.")
    return tuple(notes)


def _cut_short(
    verdict: Verdict,
    source: str,
    by_kind: dict[str, dict[str, Any]],
    trace: str,
    ended: Ended,
    time_limit_s: float,
) -> Verdict:
    """The process ended before the last check did: at the limit, by a signal or by itself."""
    during = by_kind.get("begin", {}).get("name")
    state: State
    if ended.timed_out or trace.startswith("Timeout ("):
        state, message = "timed out", f"It was still running after {time_limit_s:g} s"
    else:
        state, message = "crashed", f"The process ended: {_reason(ended.returncode)}"
    message += f", in the check {during!r}." if during else ", while the file was loaded."
    where = _line_in_trace(trace, Path(verdict.path), source)
    checks = tuple(
        replace(check, outcome="error", message=message, location=where)
        if check.name == during and check.outcome == "not run"
        else check
        for check in verdict.checks
    )
    return replace(verdict, state=state, message=message, location=where, checks=checks)


def _reason(returncode: int) -> str:
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    hints = {
        "SIGSEGV": " (a load or store far outside a tensor does this)",
        "SIGKILL": " (it was killed, or the memory ran out)",
    }
    return name + hints.get(name, "")


def _line_in_trace(trace: str, path: Path, source: str) -> str:
    name = str(path).encode("ascii", "backslashreplace").decode()  # as faulthandler writes it
    match = re.search(rf'File "{re.escape(name)}", line (\d+)', trace)
    return location(path, int(match[1]), source) if match else ""
