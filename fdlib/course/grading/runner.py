"""Check one exercise, each step in a process of its own: values and memory, compiling, the GPU."""

from __future__ import annotations

import contextlib
import importlib.util
import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fdlib.course.catalogue import Exercise, file_of, find, find_by_path, solution_path
from fdlib.course.checks import all_checks, load_compilations
from fdlib.course.expect.check import COMPILED_FOR
from fdlib.course.grading.compiling import (
    COMPILE_LIMIT_S,
    compile_environment,
    growing_compiled,
    judge_compiled,
    judge_gpu,
    values_environment,
)
from fdlib.course.grading.honest import borrowed
from fdlib.course.grading.judge import growing, judge
from fdlib.course.grading.limits import MEMORY_LIMIT_MB
from fdlib.course.grading.loader import location
from fdlib.course.grading.sections import follow_regions
from fdlib.course.grading.steps import run_step
from fdlib.course.grading.verdict import CheckResult, OnProgress, Verdict
from fdlib.course.mistakes import load_mistakes
from fdlib.course.reading import read_source
from fdlib.course.regions import RegionError, empty_regions, is_not_started, regions
from fdlib.device import choose_mode

__all__ = ["check", "new_seed"]

Request = dict[str, Any]


def new_seed() -> int:
    """A seed that nobody could know before, 0 to 2**31 - 1."""
    return secrets.randbelow(2**31)


def check(
    number_or_path: int | str | Path,
    *,
    path: str | Path | None = None,
    seed: int | None = None,
    time_limit_s: float = 60.0,
    memory_limit_mb: int = MEMORY_LIMIT_MB,
    on_progress: OnProgress | None = None,
) -> Verdict:
    """Check an exercise, by its number or by a file named `exNN_*.py`; the file is only read.

    `path` is another file to check by the exercise's checks. `seed` is fresh if not given.
    `time_limit_s` holds for all checks of the exercise together, once torch is imported, and once
    more for the GPU; compiling gets at most `COMPILE_LIMIT_S`; `memory_limit_mb` is what its code
    may take (see `limits.py`).
    `on_progress` gets the verdict so far (its state is "running") each time that more is known.
    Whatever the file does, the answer is a `Verdict`. Raises `ValueError` for an unknown exercise,
    `RuntimeError` if this machine cannot run the checks.
    """
    exercise, file = _resolve(number_or_path, path)
    seed = new_seed() if seed is None else seed
    verdict = Verdict(
        number=exercise.number,
        name=exercise.module_name,
        title=exercise.title,
        notebook=exercise.notebook,
        path=str(file),
        state="missing",
        checks=tuple(
            CheckResult(c.name, c.title, c.points, read=c.read, region=c.region)
            for c in all_checks(exercise)
        ),
        seed=seed,
    )
    try:
        source = read_source(file)
    except FileNotFoundError:
        return replace(verdict, message=_missing(exercise, file))
    except IsADirectoryError:
        return replace(verdict, message=f"{file} is a folder; move it away and put a file there.")
    except (OSError, ValueError) as error:
        return replace(verdict, state="does not import", message=str(error))
    verdict = replace(verdict, empty=empty_regions(source), notes=_damage(source))
    if is_not_started(source):
        return replace(verdict, state="not started", message="Nothing is written in it yet.")
    solution = _solution(exercise)
    if found := borrowed(source, solution):
        return _not_your_own(verdict, source, *found)
    request = _request(verdict, exercise, source, solution)
    request |= {"time_limit_s": time_limit_s, "memory_limit_mb": memory_limit_mb}
    asked = verdict.checks
    verdict = _run(verdict, exercise, source, request, _shown(on_progress))
    verdict = follow_regions(verdict, asked, load_mistakes(exercise), solution)
    return replace(verdict, notes=verdict.notes + _changed(file, source))


def _resolve(number_or_path: int | str | Path, path: str | Path | None) -> tuple[Exercise, Path]:
    if isinstance(number_or_path, str) and number_or_path.isdecimal():
        number_or_path = int(number_or_path)
    if isinstance(number_or_path, (str, Path)):
        exercise = find_by_path(Path(number_or_path))
        return exercise, file_of(exercise.number, number_or_path if path is None else path)
    return find(number_or_path), file_of(number_or_path, path)


def _missing(exercise: Exercise, file: Path) -> str:
    if file.is_symlink():
        return f"{file} is a link to a file that is not there; remove it."
    makes = f"`fdlib reset {exercise.number}` writes a fresh one."
    others = sorted(file.parent.glob(f"ex{exercise.number:02}*.py"))
    if others:
        return f"{file} is not there. Is it {others[0].name}? Then rename that. If not, {makes}"
    return f"{file} is not there; {makes}"


def _damage(source: str) -> tuple[str, ...]:
    try:
        regions(source)
    except RegionError as error:
        return (f"The markers of the regions are damaged ({error}); the code was checked anyway.",)
    return ()


def _not_your_own(verdict: Verdict, source: str, what: str, line_number: int) -> Verdict:
    message = (
        f"It uses {what}. That may well be right, but this exercise is about writing it: "
        "take it out and write the step yourself. Nothing was run."
    )
    where = location(Path(verdict.path), line_number, source)
    return replace(verdict, state="not your own", message=message, location=where)


def _changed(file: Path, source: str) -> tuple[str, ...]:
    try:
        if read_source(file) == source:
            return ()
        what = "changed"
    except FileNotFoundError:
        what = "deleted"
    except (OSError, ValueError):
        what = "changed so that it cannot be read"
    by = "by its own code, or by a save from elsewhere. What it held before was checked."
    return (f"The file was {what} during the check: {by}",)


def _run(
    verdict: Verdict, exercise: Exercise, source: str, request: Request, show: OnProgress
) -> Verdict:
    """The three steps, as far as each lets the next one be taken."""
    verdict, sees_gpu = _values(verdict, exercise, source, request, show)
    if not verdict.passed or not load_compilations(exercise):
        return verdict
    verdict = _compiled(replace(verdict, state="running"), source, request, show)
    if not verdict.passed or not sees_gpu or verdict.mode == "gpu" or choose_mode() != "gpu":
        return verdict
    show(replace(verdict, state="running"))
    return _on_gpu(verdict, source, request)


def _values(
    verdict: Verdict, exercise: Exercise, source: str, request: Request, show: OnProgress
) -> tuple[Verdict, bool]:
    """(the verdict on the values, whether the worker saw a GPU)."""
    environment, notes = values_environment(exercise.kind)
    verdict = replace(verdict, notes=verdict.notes + notes)
    run = run_step(
        f"{__package__}.worker",
        request,
        environment,
        lambda events: show(growing(verdict, source, events)),
    )
    sees_gpu = any(event.get("gpu") for event in run.events if event["event"] == "ready")
    return judge(verdict, source, run), sees_gpu


def _compiled(verdict: Verdict, source: str, request: Request, show: OnProgress) -> Verdict:
    limit_s = min(request["time_limit_s"], COMPILE_LIMIT_S)
    run = run_step(
        f"{__package__}.compile_worker",
        {**request, "gpus": COMPILED_FOR, "time_limit_s": limit_s},
        compile_environment(),
        lambda events: show(growing_compiled(verdict, events)),
    )
    return judge_compiled(verdict, source, run)


def _on_gpu(verdict: Verdict, source: str, request: Request) -> Verdict:
    unexplained = {"mistakes": [], "solution": ""}  # they are compared under the interpreter
    run = run_step(f"{__package__}.worker", {**request, **unexplained}, {"TRITON_INTERPRET": "0"})
    return judge_gpu(verdict, source, run)


def _shown(on_progress: OnProgress | None) -> OnProgress:
    def show(verdict: Verdict) -> None:
        if on_progress is not None:
            with contextlib.suppress(Exception):  # who shows it must not change the verdict
                on_progress(verdict)

    return show


def _request(verdict: Verdict, exercise: Exercise, source: str, solution: str) -> Request:
    spec = importlib.util.find_spec(exercise.checks_module)
    assert spec is not None
    return {
        "module_name": exercise.module_name,
        "path": verdict.path,
        "source": source,
        "solution": solution,
        "mistakes": [asdict(mistake) for mistake in load_mistakes(exercise)],
        "kind": exercise.kind,
        "checks_module": exercise.checks_module,
        "checks_path": spec.origin,
        "seed": verdict.seed,
    }


def _solution(exercise: Exercise) -> str:
    """The solution's text, in which the known mistakes are made; "" where there is none."""
    try:
        return read_source(solution_path(exercise.number))
    except (OSError, ValueError):
        return ""
