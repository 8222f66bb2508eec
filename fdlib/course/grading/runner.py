"""Check one exercise in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from fdlib.course.catalogue import Exercise, exercise_path, find, find_by_path, solution_path
from fdlib.course.checks import load_checks
from fdlib.course.grading.judge import Run, judge
from fdlib.course.grading.loader import read_source
from fdlib.course.grading.process import run_group
from fdlib.course.grading.verdict import CheckResult, Verdict
from fdlib.course.mistakes import load_mistakes
from fdlib.course.regions import RegionError, empty_regions, is_not_started, regions

__all__ = ["check", "new_seed"]

_GRACE_S = 1.0  # the worker ends itself at the limit and says where it was; later it is killed


def new_seed() -> int:
    """A seed that nobody could know before, 0 to 2**31 - 1."""
    return secrets.randbelow(2**31)


def check(
    number_or_path: int | str | Path,
    *,
    path: str | Path | None = None,
    seed: int | None = None,
    time_limit_s: float = 60.0,
) -> Verdict:
    """Check an exercise, by its number or by a file named `exNN_*.py`; the file is only read.

    `path` is another file to check by the exercise's checks. `seed` is fresh if not given.
    `time_limit_s` holds for all checks of the exercise together. Whatever the file does, the answer
    is a `Verdict`. Raises `ValueError` for an unknown exercise, `RuntimeError` if this machine
    cannot run the checks.
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
            for c in load_checks(exercise)
        ),
        seed=seed,
    )
    try:
        source = read_source(file)
    except FileNotFoundError:
        return replace(verdict, message=f"{file} is not there; `fdlib exercises build` makes it.")
    except IsADirectoryError:
        return replace(verdict, message=f"{file} is a folder; a file is expected there.")
    except (OSError, ValueError) as error:
        return replace(verdict, state="does not import", message=str(error))
    verdict = replace(verdict, empty=empty_regions(source), notes=_damage(source))
    if is_not_started(source):
        return replace(verdict, state="not started", message="Nothing is written in it yet.")
    verdict = _run(verdict, exercise, source, time_limit_s)
    return replace(verdict, notes=verdict.notes + _changed(file, source))


def _resolve(number_or_path: int | str | Path, path: str | Path | None) -> tuple[Exercise, Path]:
    if isinstance(number_or_path, str) and number_or_path.isdecimal():
        number_or_path = int(number_or_path)
    if isinstance(number_or_path, int):
        exercise = find(number_or_path)
        return exercise, Path(path or exercise_path(number_or_path)).absolute()
    return find_by_path(Path(number_or_path)), Path(path or number_or_path).absolute()


def _damage(source: str) -> tuple[str, ...]:
    try:
        regions(source)
    except RegionError as error:
        return (f"The markers of the regions are damaged ({error}); the code was checked anyway.",)
    return ()


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


def _run(verdict: Verdict, exercise: Exercise, source: str, time_limit_s: float) -> Verdict:
    spec = importlib.util.find_spec(exercise.checks_module)
    assert spec is not None
    with tempfile.TemporaryDirectory(prefix="fdlib-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        request = {
            "module_name": exercise.module_name,
            "path": verdict.path,
            "source": source,
            "solution": _solution(exercise),
            "mistakes": [asdict(mistake) for mistake in load_mistakes(exercise)],
            "kind": exercise.kind,
            "checks_module": exercise.checks_module,
            "checks_path": spec.origin,
            "seed": verdict.seed,
            "time_limit_s": time_limit_s,
            "word": secrets.token_hex(8),
            "mark": secrets.token_hex(8),
            "results": str(scratch / "results.jsonl"),
            "trace": str(scratch / "trace.txt"),
        }
        (scratch / "request.json").write_text(json.dumps(request), encoding="utf-8")
        (scratch / "cwd").mkdir()  # an empty folder to work in: nothing there shadows a module
        ended = run_group(
            [
                sys.executable,
                "-u",
                "-m",
                "fdlib.course.grading.worker",
                str(scratch / "request.json"),
            ],
            cwd=scratch / "cwd",
            env=_environment(),
            time_limit_s=time_limit_s + _GRACE_S,
        )
        results = _read(scratch / "results.jsonl")
        trace = _read(scratch / "trace.txt")
    return judge(verdict, source, Run(request, results, trace, ended))


def _solution(exercise: Exercise) -> str:
    """The solution's text, in which the known mistakes are made; "" where there is none."""
    try:
        return solution_path(exercise.number).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _environment() -> dict[str, str]:
    """This process's environment, in which the worker finds the fdlib that runs now."""
    environment = dict(os.environ, PYTHONIOENCODING="utf-8:backslashreplace")
    package_parent = Path(__file__).resolve().parents[3]
    if package_parent.name not in {"site-packages", "dist-packages"}:
        paths = [str(package_parent), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return environment


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
