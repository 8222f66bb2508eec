"""The process that runs a learner's file: `python -m fdlib.course.grading.worker REQUEST.json`.

Started by `runner.py`. Results are JSON lines, each written as soon as it is known, so that a crash
loses none that came before. The learner's text comes with the request; their file is not opened.
What compares and what is right are bound before the learner's text runs, the request is gone by
then, and each line of the results carries a word from it.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from fdlib.course.checks.inputs import bind_oracle
from fdlib.course.expect.check import Check, CheckContext
from fdlib.course.expect.compare import Mismatch
from fdlib.course.expect.observe import Sight, look
from fdlib.course.grading.deadline import end_at
from fdlib.course.grading.diagnose import Diagnoser, Diagnosis, cause
from fdlib.course.grading.events import Results
from fdlib.course.grading.limits import hold_down, make_room
from fdlib.course.grading.loader import explain, location, printable
from fdlib.course.grading.opening import checks_of, load_answer, opened, setting_up
from fdlib.course.grading.originals import remember
from fdlib.course.grading.printed import mark
from fdlib.course.mistakes import Mistake
from fdlib.versions import bad_pair
from fdlib.xray.causes import causes

__all__ = ["main"]

_REPLACED = (
    "It put a function of its own in the place of {}, which the check computes with too; nothing can "
    "be said then. Give your function another name."
)


def main(request_path: str) -> None:
    """Answer one request, then end the process without waiting for threads or exit handlers."""
    request, results = opened(request_path)
    # After a crash or at the limit, the interpreter writes where each thread was.
    with open(request["trace"], "w", encoding="utf-8") as trace:
        faulthandler.enable(trace)
        with setting_up(results):
            mode = _prepare(request["kind"])
            checks = checks_of(request).CHECKS
            diagnoser = Diagnoser(_mistakes(request), request.pop("solution"))
            gpu = _gpu(request["kind"], mode)
        results.add("ready", mode=mode, gpu=gpu)
        end_at(request["time_limit_s"], trace)
        hold_down(request["memory_limit_mb"], on_gpu=request["kind"] == "triton" and mode == "gpu")
        _grade(request, results, checks, mode, diagnoser)
    os._exit(0)


def _prepare(kind: str) -> str:
    from fdlib import device

    mode = device.choose_mode()  # before anything imports triton
    if kind == "triton":
        device.require_triton()  # looks again, with torch
        device.kernel_device()  # refuses if kernels can run nowhere
        mode = "interpreter" if device.interpreting() else "gpu"
        _refuse_bad_pair(mode)
        # NumPy's, about values that a kernel may well compute on the way: log(0), inf - inf.
        name = r"triton\.runtime\.interpreter|numpy\..*"
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=name)
    if kind in {"torch", "triton"}:
        bind_oracle()
    return mode


def _refuse_bad_pair(mode: str) -> None:
    """A pair of Triton and numpy that is known to fail must not look like the learner's fault."""
    import numpy
    import triton

    pair = bad_pair(triton.__version__, numpy.__version__, interpreting=mode == "interpreter")
    if pair:
        raise RuntimeError(f"{pair[0]} Repair: {pair[1]}")


def _gpu(kind: str, mode: str) -> str:
    """The GPU that kernels can run on here, by its name where they do; "" if there is none."""
    if kind != "triton":
        return ""
    import torch

    if not torch.cuda.is_available():
        return ""
    return torch.cuda.get_device_name() if mode == "gpu" else "a GPU"


def _mistakes(request: dict[str, Any]) -> tuple[Mistake, ...]:
    """The known mistakes, out of the request and out of JSON."""
    rows = request.pop("mistakes")
    return tuple(Mistake(**{**row, "edits": tuple(map(tuple, row["edits"]))}) for row in rows)


def _grade(
    request: dict[str, Any],
    results: Results,
    checks: tuple[Check, ...],
    mode: str,
    diagnoser: Diagnoser,
) -> None:
    path = Path(request["path"])
    replaced = remember()
    module = load_answer(request, results)
    if module is None:
        return
    to_explain: list[tuple[Check, CheckContext, Sight]] = []
    for check in checks:
        results.add("begin", name=check.name)
        mark(request["mark"], check.name)
        started = time.monotonic()
        context = CheckContext(seed=request["seed"], name=check.name, mode=mode)
        sight = look(check.run, module, context)
        make_room(causes(sight.ended))
        outcome, message, where = _outcome(sight, path)
        if outcome != "error" and (name := replaced()):
            outcome, message, where = "error", _REPLACED.format(name), ""
        results.add(
            "result",
            name=check.name,
            outcome=outcome,
            message=message,
            location=where,
            seconds=time.monotonic() - started,
        )
        if outcome == "failed":
            to_explain.append((check, context, sight))
    results.add("done")
    for check, context, sight in to_explain:  # last: if time runs out, no outcome is lost
        if not replaced():
            found = _diagnosis(diagnoser.explain(check, context, sight))
            results.add("result", name=check.name, **found)


def _outcome(sight: Sight, path: Path) -> tuple[str, str, str]:
    """(outcome, message, the learner's line) of a check; the first thing that went wrong counts."""
    first = sight.first_wrong
    if first is not None and (error := sight.seen[first].error):
        at = getattr(error, "line_number", 0)
        return "failed", printable(error), location(path, at) if at else ""
    if sight.ended is None:
        return "passed", "", ""
    mismatch = cause(sight.ended)
    if isinstance(mismatch, Mismatch):
        return "failed", printable(mismatch), explain(sight.ended, path)[1]
    return "error", *explain(sight.ended, path)


def _diagnosis(found: Diagnosis) -> dict[str, str]:
    """The fields of a `CheckResult` that a diagnosis changes."""
    fields = {"mistake": found.mistake, "read": found.read, "region": found.region}
    kept = {key: value for key, value in fields.items() if value}
    return {"diagnosis": "\n".join(found.sentences), **kept}


if __name__ == "__main__":
    main(sys.argv[1])
