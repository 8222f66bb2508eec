"""Grade an exercise for its learner: one run, counted in the progress if the file is their own."""

from __future__ import annotations

import contextlib
import hashlib
from functools import partial
from pathlib import Path

from fdlib.course.catalogue import exercise_path
from fdlib.course.grading import runner
from fdlib.course.grading.loader import read_source
from fdlib.course.grading.verdict import Verdict
from fdlib.course.progress import record_verdict

__all__ = ["attempt", "attempt_shown", "text_digest"]


def attempt(
    number: int,
    *,
    path: str | Path | None = None,
    seed: int | None = None,
    on_progress: runner.OnProgress | None = None,
) -> Verdict:
    """Check an exercise as `runner.check` does; a check of the learner's own file is counted."""
    check = partial(runner.check, number, path=path, seed=seed, on_progress=on_progress)
    if path is not None and not _is_own(number, path):
        return check()
    digest = text_digest(exercise_path(number))
    verdict = check()
    record_verdict(verdict, digest)
    return verdict


def attempt_shown(
    number: int, *, path: str | Path | None = None, seed: int | None = None
) -> Verdict:
    """The same, shown as it goes, in a notebook or a terminal."""
    from fdlib.course.reports.live import follow

    return follow(
        lambda on_progress: attempt(number, path=path, seed=seed, on_progress=on_progress)
    )


def _is_own(number: int, path: str | Path) -> bool:
    try:
        return Path(path).resolve() == exercise_path(number).resolve()
    except FileNotFoundError:  # no folder of a course is near
        return False


def text_digest(path: Path) -> str:
    """A digest of a file's text; "" if it holds none that can be read."""
    with contextlib.suppress(OSError, ValueError):
        return hashlib.sha256(read_source(path).encode()).hexdigest()[:16]
    return ""
