"""The steps after right values: kernels compile for GPUs that need not be here, and run on the one that is."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from fdlib.course.expect.check import COMPILED_FOR, COMPILES
from fdlib.course.grading.judge import cut_short, judge, place, refusal
from fdlib.course.grading.steps import Run
from fdlib.course.grading.verdict import CheckResult, Compiled, Verdict
from fdlib.device import choose_mode
from fdlib.gpus import GPUS
from fdlib.versions import bad_pair

__all__ = [
    "COMPILE_LIMIT_S",
    "compile_environment",
    "growing_compiled",
    "judge_compiled",
    "judge_gpu",
    "values_environment",
]

COMPILE_LIMIT_S = 45.0  # for all GPUs; a kernel of the course takes 1 to 2 s for each
_FIELDS = {field.name for field in fields(Compiled)}


def values_environment(kind: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """(what the process that looks at values needs in its environment, notes for the verdict).

    Values and memory are looked at under the interpreter, also where there is a GPU, unless it is
    known to fail with the numpy that is here.
    """
    if kind != "triton":
        return {}, ()
    pair = bad_pair(_version("triton"), _version("numpy"), interpreting=True)
    if pair is None or choose_mode() != "gpu":
        return {"TRITON_INTERPRET": "1"}, ()
    note = f"{pair[0]} So the values were checked on the GPU. For all checks: {pair[1]}"
    return {"TRITON_INTERPRET": "0"}, (note,)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def compile_environment() -> dict[str, str]:
    """What the compiling process needs in its environment, where no GPU is in sight.

    Triton's own cache is used: what was compiled before takes no time. Where it cannot be written,
    the process's temporary folder is.
    """
    environment = {"TRITON_INTERPRET": "0", "CUDA_VISIBLE_DEVICES": ""}
    home = Path(os.environ.get("TRITON_HOME") or Path.home())
    cache = Path(os.environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")
    there = next((folder for folder in (cache, *cache.parents) if folder.exists()), cache)
    if not (there.is_dir() and os.access(there, os.W_OK)):
        environment["TRITON_CACHE_DIR"] = "triton-cache"  # in the working directory, which goes
    return environment


def growing_compiled(verdict: Verdict, events: Iterable[dict[str, Any]]) -> Verdict:
    """The verdict with what is compiled so far."""
    rows = [event for event in events if event["event"] == "compiled"]
    compiled = [Compiled(**{key: row[key] for key in row if key in _FIELDS}) for row in rows]
    order = {name: place for place, name in enumerate(GPUS)}
    order |= {name: place for place, name in enumerate(COMPILED_FOR)}
    compiled.sort(key=lambda each: order[each.gpu])
    return replace(verdict, compiled=tuple(compiled))


def judge_compiled(verdict: Verdict, source: str, run: Run) -> Verdict:
    """The verdict on right values, with what compiling said, or why nothing can be compiled here."""
    events = run.events
    by_kind = {event["event"]: event for event in events}
    verdict = growing_compiled(verdict, events)
    verdict = replace(verdict, seconds=verdict.seconds + run.ended.seconds)
    if reason := refusal(run):  # this machine is the matter, not the answer
        message = f"Its values are right, but it cannot be compiled here. {reason}"
        return replace(verdict, state="unfinished", message=message, compiled=())
    if failed := by_kind.get("import failed"):
        message = f"Without the interpreter the file does not load. {failed['message']}"
        return _with_check(verdict, source, "error", message, failed["location"])
    if crashed := [event["gpu"] for event in events if event["event"] == "crashed"]:
        message = f"Triton's compiler crashed for: {', '.join(crashed)}."
        return _with_check(verdict, source, "error", message, "")
    if run.ended.limit == "time" and verdict.compiled:
        return _judge_rows(_with_slow(verdict, events, run), source, events)
    if "done" not in by_kind:
        during = ", ".join(_unfinished(events)) or "no GPU yet"
        return cut_short(verdict, source, run, COMPILES, f", compiling for: {during}.")
    return _judge_rows(verdict, source, events)


def _with_slow(verdict: Verdict, events: list[dict[str, Any]], run: Run) -> Verdict:
    """The verdict with a warning for each GPU for which the compiler did not end in time."""
    ended = {event["gpu"] for event in events if event["event"] == "end"}
    warning = (
        f"Not known: the compiler had not ended after {run.request['time_limit_s']:g} s. On a GPU "
        "the first launch would wait as long. Fewer and smaller tensors in the kernel, and tl.dot for "
        "products, compile faster."
    )
    slow = [
        Compiled(name, GPUS[name].compute_capability, "", warning=warning)
        for name in COMPILED_FOR
        if name not in ended
    ]
    known = [each for each in verdict.compiled if each.gpu in ended]
    return replace(verdict, compiled=(*known, *slow))


def _unfinished(events: Iterable[dict[str, Any]]) -> list[str]:
    begun: dict[str, None] = {}
    for event in events:
        if event["event"] == "begin":
            begun[event["gpu"]] = None
        elif event["event"] == "end":
            begun.pop(event["gpu"], None)
    return list(begun)


def _judge_rows(verdict: Verdict, source: str, events: list[dict[str, Any]]) -> Verdict:
    rows = [event for event in events if event["event"] == "compiled"]
    bad = [row for row in rows if row.get("error") or row.get("fails")]
    if not bad:
        return _with_check(verdict, source, "passed", "", "")
    first = next(row for name in COMPILED_FOR for row in bad if row["gpu"] == name)
    message = first.get("error") or first["warning"]
    alike = {row["gpu"] for row in bad if message == (row.get("error") or row.get("warning"))}
    if alike != {row["gpu"] for row in rows}:
        names = ", ".join(name for name in COMPILED_FOR if name in alike)
        message += f"\nSo it is for: {names}. The other GPUs do not object."
    outcome = "error" if first.get("error") else "failed"
    return _with_check(verdict, source, outcome, message, first["location"], first.get("read", ""))


def _with_check(
    verdict: Verdict, source: str, outcome: Any, message: str, where: str, read: str = ""
) -> Verdict:
    check = verdict.result(COMPILES)
    check = replace(
        check, outcome=outcome, message=message, location=where, read=read or check.read
    )
    checks = tuple(check if each.name == COMPILES else each for each in verdict.checks)
    state: Any = "passed" if outcome == "passed" else "failed"
    return place(replace(verdict, state=state, checks=checks), source)


def judge_gpu(verdict: Verdict, source: str, run: Run) -> Verdict:
    """The verdict with a result `gpu`: the checks of the values once more, compiled, on this machine's GPU.

    It is worth no points, but an exercise that fails there is not passed.
    """
    waiting = tuple(
        replace(check, outcome="not run", message="", location="")
        for check in verdict.checks
        if check.name != COMPILES
    )
    seconds = verdict.seconds + run.ended.seconds
    try:
        there = judge(replace(verdict, checks=waiting), source, run)
    except RuntimeError as error:  # the GPU is the matter, not the answer
        note = f"It was not run on the GPU of this machine. {error}"
        return replace(verdict, notes=(*verdict.notes, note), seconds=seconds)
    name = next(event["gpu"] for event in run.events if event["event"] == "ready")
    result = CheckResult("gpu", f"It runs on the GPU of this machine, {name}.", 0, "passed")
    wrong = next(iter(there.failing), None)
    if wrong:
        result = replace(wrong, name="gpu", title=result.title, points=0)
        result = replace(result, message=f"{wrong.title}\n{wrong.message}")
    elif not there.passed:
        result = replace(result, outcome="error", message=there.message, location=there.location)
    state = there.state if result.failing else verdict.state
    checks = (*verdict.checks, result)
    return replace(verdict, state=state, checks=checks, seconds=seconds)
