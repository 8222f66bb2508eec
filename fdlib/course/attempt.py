"""Grade an exercise for its learner: one run, counted in the progress if the file is their own."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from fdlib.course.catalogue import file_of, is_own
from fdlib.course.files import file_digest, sentence
from fdlib.course.grading import runner
from fdlib.course.grading.verdict import OnProgress, Verdict
from fdlib.course.progress import record_verdict

__all__ = ["attempt", "attempt_shown"]


def attempt(
    number: int,
    *,
    path: str | Path | None = None,
    seed: int | None = None,
    on_progress: OnProgress | None = None,
) -> Verdict:
    """Check an exercise as `runner.check` does; a check of the learner's own file is counted."""
    file = file_of(number, path)
    check = partial(runner.check, number, path=path, seed=seed, on_progress=on_progress)
    if path is not None and not is_own(number, file):
        return check()
    digest = file_digest(file)
    verdict = check()
    record_verdict(verdict, digest)
    return verdict


def attempt_shown(
    number: int, *, path: str | Path | None = None, seed: int | None = None
) -> Verdict | None:
    """The same, shown as it goes, in a notebook or a terminal.

    None, and the reason in a sentence, if this machine cannot run the checks of this exercise.
    """
    from fdlib.course.reports.live import follow

    try:
        return follow(
            lambda on_progress: attempt(number, path=path, seed=seed, on_progress=on_progress)
        )
    except FileNotFoundError:  # no course is near: so it is for every exercise
        raise
    except (RuntimeError, OSError) as error:
        print(f"fdlib: {sentence(error)}", file=sys.stderr, flush=True)
        return None
