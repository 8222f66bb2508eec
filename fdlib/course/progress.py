"""What a learner did: `.fdlib/progress.json` in the course's folder.

It counts what `fdlib check`, `check()`, `fdlib watch` and the notebook's magic graded, of the
learner's own files only. It is for the learner; no mark depends on it. If it cannot be kept,
grading goes on and says so once.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from fdlib.course.catalogue import records_folder
from fdlib.course.files import dated, locked, write_atomically
from fdlib.course.grading.verdict import Verdict
from fdlib.course.hints import LEVELS
from fdlib.course.reading import is_special

__all__ = [
    "ExerciseProgress",
    "Progress",
    "QuizAnswer",
    "load",
    "record_hint",
    "record_quiz",
    "record_solution",
    "record_verdict",
]

_VERSION = 1
_said: set[str] = set()  # sentences that this process has said


@dataclass
class ExerciseProgress:
    """What was done with one exercise."""

    attempts: int = 0  # checks of a file in which something is written
    best: int = 0  # points
    passed: str = ""  # date of the first time
    passed_digest: str = ""  # of the text that passed last
    state: str = ""  # of the last check, as are the next five
    points: int = 0
    max_points: int = 0
    check: str = ""  # name of the first that failed
    region: str = ""  # that this check names
    date: str = ""
    hints: dict[str, list[int]] = field(default_factory=dict)  # region -> levels that were shown
    solution: str = ""  # date on which it was shown first
    gave_up: bool = False  # it was shown before the exercise had passed


@dataclass
class QuizAnswer:
    """What was answered to one question; once right, it stays right."""

    right: bool = False
    tries: int = 0  # up to the first right one


@dataclass
class Progress:
    """All that was done."""

    exercises: dict[int, ExerciseProgress] = field(default_factory=dict)
    quizzes: dict[int, dict[str, QuizAnswer]] = field(default_factory=dict)

    def exercise(self, number: int) -> ExerciseProgress:
        """What was done with an exercise; what is changed in it belongs to this progress."""
        return self.exercises.setdefault(number, ExerciseProgress())

    def quiz(self, notebook: int) -> dict[str, QuizAnswer]:
        """The answers to a notebook's quiz, by question."""
        return self.quizzes.setdefault(notebook, {})


def load() -> Progress:
    """What was done up to now; an empty progress if nothing was, or if it cannot be read."""
    try:
        home = records_folder()
        try:
            return _read(home)
        except ValueError:
            with locked(home):
                return _read_or_set_aside(home)
    except FileNotFoundError:
        return Progress()
    except OSError as error:
        _cannot_be_kept(error)
        return Progress()


def record_verdict(verdict: Verdict, digest: str) -> None:
    """Count a check of the learner's own file, whose text has this digest."""
    if verdict.state in {"missing", "not started"}:
        return

    def change(progress: Progress) -> None:
        mine = progress.exercise(verdict.number)
        mine.attempts += 1
        mine.best = max(mine.best, verdict.points)
        mine.state, mine.points = verdict.state, verdict.points
        mine.max_points, mine.date = verdict.max_points, _today()
        first = verdict.to_repair
        mine.check, mine.region = (first.name, first.region) if first else ("", "")
        if verdict.passed:
            mine.passed = mine.passed or _today()
            mine.passed_digest = digest

    _update(change)


def record_hint(number: int, region: str, level: int) -> bool:
    """Note that a hint was shown; returns whether that could be kept."""

    def change(progress: Progress) -> None:
        levels = progress.exercise(number).hints.setdefault(region, [])
        levels[:] = sorted({*levels, level})

    return _update(change)


def record_solution(number: int) -> None:
    """Note that the solution was shown, and whether the exercise had passed by then."""

    def change(progress: Progress) -> None:
        mine = progress.exercise(number)
        if not mine.solution:
            mine.solution, mine.gave_up = _today(), not mine.passed

    _update(change)


def record_quiz(notebook: int, question: str, right: bool) -> None:
    """Note one answer to a question of a notebook's quiz."""

    def change(progress: Progress) -> None:
        answer = progress.quiz(notebook).setdefault(question, QuizAnswer())
        if not answer.right:
            answer.right, answer.tries = right, answer.tries + 1

    _update(change)


def _today() -> str:
    return date.today().isoformat()


def _update(change: Callable[[Progress], None]) -> bool:
    """Whether the change is kept."""
    try:
        home = records_folder()
        with locked(home):
            progress = _read_or_set_aside(home)
            change(progress)
            data = {"version": _VERSION, **asdict(progress)}
            write_atomically(home / "progress.json", json.dumps(data, indent=1) + "\n")
        return True
    except OSError as error:
        _cannot_be_kept(error)
        return False


def _read_or_set_aside(home: Path) -> Progress:
    """The progress; a file that holds none is renamed, which is said. Call it with the lock held."""
    try:
        return _read(home)
    except FileNotFoundError:
        return Progress()
    except ValueError as error:
        aside = dated(home / "progress.json")
        os.replace(home / "progress.json", aside)
        _say(f"The progress could not be read ({error}). It is kept as {aside}; a new one begins.")
        return Progress()


def _read(home: Path) -> Progress:
    """Raises `FileNotFoundError`, or `ValueError` if the file holds no progress."""
    if is_special(home / "progress.json"):
        raise ValueError("it is a pipe or a device")
    try:
        data = json.loads((home / "progress.json").read_bytes())
        if data["version"] != _VERSION:
            raise ValueError(f"version {data['version']!r}")
        return Progress(
            {int(n): _fill(ExerciseProgress(), e) for n, e in data["exercises"].items()},
            {
                int(n): {str(name): _fill(QuizAnswer(), answer) for name, answer in quiz.items()}
                for n, quiz in data["quizzes"].items()
            },
        )
    except IsADirectoryError:
        raise ValueError("it is a folder") from None
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _fill(record: Any, data: dict[str, Any]) -> Any:
    """The record with these values; raises `ValueError` for one that no record can have."""
    for name, value in data.items():
        if not _fits(value, getattr(record, name)):
            raise ValueError(f"{name}: {value!r}")
        setattr(record, name, value)
    if isinstance(record, ExerciseProgress):
        for region, levels in record.hints.items():
            if not isinstance(levels, list) or not all(_is_level(each) for each in levels):
                raise ValueError(f"hints of {region!r}: {levels!r}")
        record.hints = {region: levels for region, levels in record.hints.items() if levels}
        record.best = min(record.best, record.max_points)  # which another edition may have changed
    return record


def _fits(value: Any, default: Any) -> bool:
    if type(value) is not type(default):
        return False
    if isinstance(value, str):
        return value.isprintable()
    return not isinstance(value, int) or value >= 0


def _is_level(value: Any) -> bool:
    return type(value) is int and 1 <= value <= len(LEVELS)


def _cannot_be_kept(error: OSError) -> None:
    reason = error.strerror or str(error)
    if error.errno == errno.EINVAL:
        reason = f"{reason}: {error.filename}"
    _say(f"Progress cannot be kept ({reason}). Grading works all the same.")


def _say(sentence: str) -> None:
    if sentence not in _said:
        _said.add(sentence)
        print(f"fdlib: {sentence}", file=sys.stderr)
