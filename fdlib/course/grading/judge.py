"""Turn what a worker left behind (results, a trace, an exit status) into a verdict."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from fdlib.course.expect.check import COMPILES
from fdlib.course.grading import process
from fdlib.course.grading.limits import size
from fdlib.course.grading.loader import location, still_empty
from fdlib.course.grading.printed import marker, split
from fdlib.course.grading.process import Ended
from fdlib.course.grading.steps import Run
from fdlib.course.grading.verdict import CheckResult, State, Verdict
from fdlib.course.regions import Region, RegionError, left_placeholder, regions

__all__ = ["cut_short", "growing", "judge", "place", "refusal"]

Events = list[dict[str, Any]]


def judge(verdict: Verdict, source: str, run: Run) -> Verdict:
    """The verdict, filled in from the worker's JSON lines, its trace and how it ended.

    Raises `RuntimeError` if the worker did not come to the point of reading the learner's file.
    """
    return place(_judge(verdict, source, run), source)


def growing(verdict: Verdict, source: str, events: Events) -> Verdict:
    """The verdict with what is known so far."""
    checks = tuple(_filled(check, events, {}) for check in verdict.checks)
    return place(replace(verdict, state="running", checks=checks), source)


def place(verdict: Verdict, source: str) -> Verdict:
    """The verdict, with the region that the line of each error is in."""
    try:
        found = regions(source)
    except RegionError:
        found = []
    return replace(verdict, checks=tuple(_placed(check, found) for check in verdict.checks))


def _placed(check: CheckResult, found: list[Region]) -> CheckResult:
    """A fault at a line with the region of that line, and with none if that one is to be written."""
    if check.outcome != "error" and (not check.location or check.mistake):
        return check
    for region in found:
        if check.message == still_empty(region.name):
            where = left_placeholder(region)
            message = (
                f"The region {region.name!r}: your code is there, but the placeholder line is "
                f"still {where} it: delete that line."
            )
            return replace(check, message=message if where else check.message, region="")
    match = re.match(r"[^:]+:(\d+): ", check.location)
    at = int(match[1]) if match else 0
    names = [region.name for region in found if region.start_line <= at <= region.end_line]
    return replace(check, region="".join(names))


def _judge(verdict: Verdict, source: str, run: Run) -> Verdict:
    events = run.events
    by_kind = {event["event"]: event for event in events}
    output, by_check = split(run.ended.output, run.request["mark"])
    verdict = replace(
        verdict,
        checks=tuple(_filled(check, events, by_check) for check in verdict.checks),
        notes=verdict.notes + _notes(run.ended),
        output=output,
        output_bytes=_printed_bytes(run, events),
        mode=by_kind.get("ready", {}).get("mode", ""),
        seconds=run.ended.seconds,
    )
    if reason := refusal(run):
        raise RuntimeError(f"{verdict.name} cannot be checked here. {reason}")
    if failed := by_kind.get("import failed"):
        message, where = failed["message"], failed["location"]
        return replace(verdict, state="does not import", message=message, location=where)
    if "done" in by_kind:
        values = [check for check in verdict.checks if check.name != COMPILES]
        if all(check.outcome == "passed" for check in values):
            # A placeholder may still stand there, where it is never reached.
            return replace(verdict, state="passed", empty=())
        return replace(verdict, state="unfinished" if verdict.empty else "failed")
    during = by_kind.get("begin", {}).get("name")
    message = f", in the check {during!r}." if during else ", while the file was loaded."
    return cut_short(verdict, source, run, during, message)


def refusal(run: Run) -> str:
    """Why the worker did not come to the learner's file, or could not go on; "" if it could."""
    by_kind = {event["event"]: event for event in run.events}
    if refused := by_kind.get("refused"):
        return refused["message"]
    if "ready" in by_kind:
        return ""
    if run.ended.limit == "set-up":
        return (
            "Importing what the checks need, torch most of all, took more than "
            f"{process.SETUP_LIMIT_S:g} s: this machine is busy or its disk slow. Try it again."
        )
    said = run.ended.trouble or run.ended.output.strip()[-1000:] or run.trace
    return said or _reason(run.ended)


def _filled(check: CheckResult, events: Events, output: dict[str, str]) -> CheckResult:
    check = replace(check, output=output.get(check.name, ""))
    for event in events:
        if event["event"] == "result" and event["name"] == check.name:
            result = {key: event[key] for key in event if key not in {"event", "name"}}
            check = replace(check, **result)
    return check


def _printed_bytes(run: Run, events: Events) -> int:
    begun = [event["name"] for event in events if event["event"] == "begin"]
    markers = sum(len(marker(run.request["mark"], name)) for name in begun)
    return max(0, run.ended.output_bytes - markers)


def _notes(ended: Ended) -> tuple[str, ...]:
    notes = []
    if ended.left_behind:
        notes.append("It left processes running; they were ended.")
    return tuple(notes)


def cut_short(
    verdict: Verdict, source: str, run: Run, during: str | None, where_it_was: str
) -> Verdict:
    """The process ended before it was done: at the limit, by a signal or by itself."""
    state: State
    if run.ended.limit == "time" or run.trace.startswith("Timeout ("):
        limit_s = run.request["time_limit_s"]
        state, message = "timed out", f"It was still running after {limit_s:g} s"
    else:
        state, message = "crashed", _reason(run.ended)
    message += where_it_was
    where = _line_in_trace(run.trace, Path(verdict.path), source)
    checks = tuple(
        replace(check, outcome="error", message=message, location=where)
        if check.name == during and check.outcome == "not run"
        else check
        for check in verdict.checks
    )
    return replace(verdict, state=state, message=message, location=where, checks=checks)


def _reason(ended: Ended) -> str:
    if ended.limit == "memory":
        most = size(ended.most_memory_mb)
        return (
            f"It took more than {most} of memory, with the processes that it started, and was ended"
        )
    if ended.limit == "processes":
        return f"It had more than {process.MOST_PROCESSES} processes running at a time and was ended with them"
    if ended.trouble:
        return f"The process that watches over it failed: {ended.trouble}"
    return f"The process ended: {_signal(ended.returncode)}"


def _signal(returncode: int) -> str:
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
