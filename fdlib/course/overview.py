"""Where a learner stands: a table of the exercises, the quizzes, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from fdlib.course import catalogue
from fdlib.course.catalogue import Exercise, exercise_path
from fdlib.course.files import text_digest
from fdlib.course.progress import ExerciseProgress, Progress, load
from fdlib.course.reading import read_source
from fdlib.course.regions import RegionError, empty_regions, is_not_started, regions

__all__ = ["status_text"]


class _State(Enum):
    """What an exercise's file is now, without running it."""

    NO_FILE = auto()
    NOT_READABLE = auto()
    NOT_STARTED = auto()
    IN_WORK = auto()
    PASSED = auto()
    CHANGED = auto()  # since it passed


@dataclass(frozen=True)
class _Standing:
    """Where the learner stands with one exercise."""

    exercise: Exercise
    mine: ExerciseProgress
    state: _State
    written: str = ""  # how much, where work has begun: "1 of 2 written"


def status_text() -> str:
    """The table, the quizzes, and the next step; `FileNotFoundError` where there is no course."""
    catalogue.course_root()
    progress = load()
    standings = [_standing(each, progress.exercise(each.number)) for each in catalogue.EXERCISES]
    rows: list[tuple[str, ...]] = [("exercise", "now", "best", "attempts", "hints", "solution")]
    rows += map(_row, standings)
    width = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(map(str.ljust, row, width)).rstrip() for row in rows]
    lines += [*_quizzes(progress), "", _next(standings)]
    return "\n".join(lines)


def _standing(exercise: Exercise, mine: ExerciseProgress) -> _Standing:
    try:
        source = read_source(exercise_path(exercise.number))
    except FileNotFoundError:
        return _Standing(exercise, mine, _State.NO_FILE)
    except (OSError, ValueError):
        return _Standing(exercise, mine, _State.NOT_READABLE)
    if is_not_started(source):
        return _Standing(exercise, mine, _State.NOT_STARTED)
    if mine.passed:
        same = text_digest(source) == mine.passed_digest
        return _Standing(exercise, mine, _State.PASSED if same else _State.CHANGED)
    return _Standing(exercise, mine, _State.IN_WORK, _written(source))


def _written(source: str) -> str:
    try:
        of = len(regions(source))
    except RegionError:
        return "markers damaged"
    return f"{of - len(empty_regions(source))} of {of} written"


def _row(standing: _Standing) -> tuple[str, ...]:
    exercise, mine = standing.exercise, standing.mine
    best = f"{mine.best} of {mine.max_points}" if mine.attempts else "-"
    hints = sum(map(len, mine.hints.values()))
    solution = "given up" if mine.gave_up else "seen" if mine.solution else "-"
    name = f"{exercise.number:02} {exercise.slug.replace('_', ' ')}"
    now = _in_words(standing)
    return (name, now, best, str(mine.attempts or "-"), str(hints or "-"), solution)


def _in_words(standing: _Standing) -> str:
    before = ", has passed before" if standing.mine.passed else ""
    return {
        _State.NO_FILE: f"no file{before}",
        _State.NOT_READABLE: f"not readable{before}",
        _State.NOT_STARTED: f"not started{before}",
        _State.IN_WORK: f"in work, {standing.written}",
        _State.PASSED: f"passed {standing.mine.passed}",
        _State.CHANGED: "changed since it passed",
    }[standing.state]


def _quizzes(progress: Progress) -> list[str]:
    lines = []
    for notebook, answers in sorted(progress.quizzes.items()):
        right = sum(answer.right for answer in answers.values())
        tries = sum(answer.tries for answer in answers.values())
        lines.append(
            f"quiz {notebook:02}: {right} right of {len(answers)} answered, in {tries} tries"
        )
    return [""] * bool(lines) + lines


def _next(standings: list[_Standing]) -> str:
    new = [each for each in standings if not each.mine.passed]
    changed = [each for each in standings if each.state is _State.CHANGED]
    for standing in new + changed:
        return "Next: " + _step(standing)
    return "All exercises have passed."


def _step(standing: _Standing) -> str:
    exercise, mine = standing.exercise, standing.mine
    number = exercise.number
    if standing.state is _State.NO_FILE:
        return f"`fdlib reset {number}` writes the file of exercise {number}."
    if standing.state is _State.NOT_STARTED:
        return (
            f"exercise {number}. Read notebooks/{exercise.notebook}.ipynb, write in "
            f"exercises/{exercise.module_name}.py, then `fdlib check {number}`."
        )
    where = f', in the region "{mine.region}"' if mine.region and mine.state != "passed" else ""
    last = f" The last check: {mine.state}{where}." if mine.attempts else ""
    return f"exercise {number}, `fdlib check {number}`.{last} Stuck? `fdlib hint {number}`."
