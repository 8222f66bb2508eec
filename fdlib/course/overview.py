"""Where a learner stands: a table of the exercises, the quizzes, and what to do next."""

from __future__ import annotations

from fdlib.course import catalogue
from fdlib.course.attempt import text_digest
from fdlib.course.catalogue import Exercise, exercise_path
from fdlib.course.grading.loader import read_source
from fdlib.course.progress import ExerciseProgress, Progress, load
from fdlib.course.regions import RegionError, empty_regions, is_not_started, regions

__all__ = ["status_text"]


def status_text() -> str:
    """The table, the quizzes, and the next step."""
    progress = load()
    rows: list[tuple[str, ...]] = [("exercise", "now", "best", "attempts", "hints", "solution")]
    rows += [_row(exercise, progress.exercise(exercise.number)) for exercise in catalogue.EXERCISES]
    width = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(map(str.ljust, row, width)).rstrip() for row in rows]
    lines += [*_quizzes(progress), "", _next(progress)]
    return "\n".join(lines)


def _row(exercise: Exercise, mine: ExerciseProgress) -> tuple[str, ...]:
    best = f"{mine.best} of {mine.max_points}" if mine.attempts else "-"
    hints = sum(map(len, mine.hints.values()))
    solution = "given up" if mine.gave_up else "seen" if mine.solution else "-"
    name = f"{exercise.number:02} {exercise.slug.replace('_', ' ')}"
    state = _state(exercise, mine)
    return (name, state, best, str(mine.attempts or "-"), str(hints or "-"), solution)


def _state(exercise: Exercise, mine: ExerciseProgress) -> str:
    """What the file is now, without running it."""
    path = exercise_path(exercise.number)
    before = ", has passed before" if mine.passed else ""
    try:
        source = read_source(path)
    except FileNotFoundError:
        return f"no file{before}"
    except (OSError, ValueError):
        return f"not readable{before}"
    if is_not_started(source):
        return f"not started{before}"
    if mine.passed and text_digest(path) == mine.passed_digest:
        return f"passed {mine.passed}"
    if mine.passed:
        return "changed since it passed"
    try:
        of = len(regions(source))
    except RegionError:
        return "in work, markers damaged"
    return f"in work, {of - len(empty_regions(source))} of {of} written"


def _quizzes(progress: Progress) -> list[str]:
    lines = []
    for notebook, answers in sorted(progress.quizzes.items()):
        right = sum(answer.right for answer in answers.values())
        tries = sum(answer.tries for answer in answers.values())
        lines.append(
            f"quiz {notebook:02}: {right} right of {len(answers)} answered, in {tries} tries"
        )
    return [""] * bool(lines) + lines


def _next(progress: Progress) -> str:
    states = {each: _state(each, progress.exercise(each.number)) for each in catalogue.EXERCISES}
    new = [each for each in catalogue.EXERCISES if not progress.exercise(each.number).passed]
    changed = [each for each in catalogue.EXERCISES if states[each].startswith("changed")]
    for exercise in new + changed:
        return "Next: " + _step(exercise, progress.exercise(exercise.number), states[exercise])
    return "All exercises have passed."


def _step(exercise: Exercise, mine: ExerciseProgress, state: str) -> str:
    number = exercise.number
    if state.startswith("no file"):
        return f"`fdlib reset {number}` writes the file of exercise {number}."
    if state.startswith("not started"):
        return (
            f"exercise {number}. Read notebooks/{exercise.notebook}.ipynb, write in "
            f"exercises/{exercise.module_name}.py, then `fdlib check {number}`."
        )
    where = f', in the region "{mine.region}"' if mine.region and mine.state != "passed" else ""
    last = f" The last check: {mine.state}{where}." if mine.attempts else ""
    return f"exercise {number}, `fdlib check {number}`.{last} Stuck? `fdlib hint {number}`."
