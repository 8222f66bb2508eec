"""Grade exercises with pytest: `pytest exercises/`, `pytest exercises/ex05_flash_decoding.py`.

One item per check. The first item of a file runs the whole exercise once, in a process of its own;
the learner's file is never imported by pytest. An exercise whose file is gone from exercises/ is an
item too, and fails. `--scores FILE` writes all scores as JSON. This repository's pyproject.toml
loads the plugin; for files elsewhere it is `pytest -p fdlib.course.pytest_plugin FOLDER`. Nothing
heavy is imported before a file of an exercise is met.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fdlib.course.catalogue import Exercise
    from fdlib.course.grading.verdict import Verdict

__all__ = ["CheckFailed", "ExercisesFolder", "ExerciseFile", "CheckItem", "MissingFile"]

_FOLDERS = {"exercises", "solutions"}
_VERDICTS = pytest.StashKey[dict[str, "Verdict"]]()  # of this process, by path
_REFUSED = pytest.StashKey[dict[str, str]]()  # why this machine cannot check it, by path
_SEED = pytest.StashKey[int]()


class CheckFailed(Exception):
    """A check did not pass; the message is the report."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fdlib", "Flash-Decoding exercises")
    text = "repeat the exercises' checks with the inputs of this seed"
    group.addoption("--seed", type=int, dest="fdlib_seed", help=text)
    text = "write the scores of the exercises to this file, as JSON"
    group.addoption("--scores", metavar="FILE", dest="fdlib_scores", help=text)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_VERDICTS], config.stash[_REFUSED] = {}, {}
    if hasattr(config, "workerinput"):  # a process of pytest-xdist; its controller keeps the scores
        return
    from fdlib.course.gradebook import Gradebook

    book = Gradebook(lambda: _seed(config), _scores_file(config))
    config.pluginmanager.register(book, "fdlib-gradebook")


def _scores_file(config: pytest.Config) -> Path | None:
    from fdlib.course.reports.scores import expect_writable

    if config.option.fdlib_scores is None:
        return None
    path = config.invocation_params.dir / config.option.fdlib_scores
    try:
        expect_writable(path)
    except ValueError as error:
        raise pytest.UsageError(f"--scores: {error}") from None
    return path


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give each process of pytest-xdist the seed of the whole run."""
    node.workerinput["fdlib_seed"] = _seed(node.config)


def _seed(config: pytest.Config) -> int:
    from fdlib.course.grading.runner import new_seed

    if _SEED not in config.stash:
        given = getattr(config, "workerinput", {}).get("fdlib_seed", config.option.fdlib_seed)
        config.stash[_SEED] = new_seed() if given is None else given
    return config.stash[_SEED]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect an exercise's file as one, instead of as a Python module with tests."""
    collected = yield
    exercise = _exercise_of(file_path, parent)
    if exercise is None:
        return collected
    return [ExerciseFile.from_parent(parent, path=file_path, exercise=exercise)]


@pytest.hookimpl(wrapper=True)
def pytest_collect_directory(
    path: Path, parent: pytest.Collector
) -> Generator[None, pytest.Collector | None, pytest.Collector | None]:
    """Collect the learner's folder as one that knows which files must be in it."""
    collected = yield
    if collected is None or path.name != "exercises" or not (path.parent / "solutions").is_dir():
        return collected
    return ExercisesFolder.from_parent(parent, path=path)


class ExercisesFolder(pytest.Dir):
    """exercises/, with an item for each exercise of the catalogue whose file is not there."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        from fdlib.course.catalogue import EXERCISES

        yield from super().collect()
        for exercise in EXERCISES:
            path = self.path / f"{exercise.module_name}.py"
            if not path.is_file():
                yield MissingFile.from_parent(self, path=path, exercise=exercise)


def _exercise_of(path: Path, parent: pytest.Collector) -> Exercise | None:
    if path.suffix != ".py" or not path.name.startswith("ex"):
        return None
    from fdlib.course.catalogue import find_by_path

    try:
        exercise = find_by_path(path)
    except ValueError:
        return None
    if parent.session.isinitpath(path):
        return exercise
    at_home = path.parent.name in _FOLDERS or _is_below_an_argument(path, parent)
    return exercise if at_home and path.stem.startswith(exercise.module_name) else None


def _is_below_an_argument(path: Path, parent: pytest.Collector) -> bool:
    return any(parent.session.isinitpath(folder) for folder in path.parents)


class ExerciseFile(pytest.File):
    """A learner's file; its items are known without reading it."""

    def __init__(self, *, exercise: Exercise, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.exercise = exercise

    def collect(self) -> Iterable[pytest.Item]:
        from fdlib.course.checks import all_checks

        for check in all_checks(self.exercise):
            item = CheckItem.from_parent(self, name=check.name)
            if self.config.pluginmanager.hasplugin("xdist"):
                item.add_marker(pytest.mark.xdist_group(self.exercise.module_name))
            yield item

    def verdict(self) -> Verdict:
        """The verdict on this file, from one run of it in this process of pytest."""
        from fdlib.course.grading.runner import check

        verdicts, refused = self.config.stash[_VERDICTS], self.config.stash[_REFUSED]
        key = str(self.path)
        if key not in verdicts and key not in refused:
            number = self.exercise.number
            try:
                verdicts[key] = check(number, path=self.path, seed=_seed(self.config))
            except RuntimeError as error:  # not the learner's fault: this machine cannot run it
                refused[key] = str(error)
        if key in refused:
            raise CheckFailed(refused[key])
        return verdicts[key]

    def is_explained_by_none(self, verdict: Verdict, name: str) -> bool:
        """Whether no item fails, though the exercise does, on a GPU say; asked of the last item."""
        from fdlib.course.checks import all_checks

        names = [check.name for check in all_checks(self.exercise)]
        return name == names[-1] and all(verdict.result(n).outcome == "passed" for n in names)


class MissingFile(ExerciseFile):
    """The place of a file that is not there, or is a folder: one item."""

    def collect(self) -> Iterable[pytest.Item]:
        yield CheckItem.from_parent(self, name="file")


class CheckItem(pytest.Item):
    """One check of one file."""

    parent: ExerciseFile

    def runtest(self) -> None:
        from fdlib.course.reports.text import render, render_check

        verdict = self.parent.verdict()
        if isinstance(self.parent, MissingFile):
            if not verdict.passed:
                raise CheckFailed(render(verdict))
            return
        if verdict.state == "not started":
            raise CheckFailed(f"{verdict.name} is not started: write in {verdict.path}")
        if verdict.result(self.name).outcome != "passed":
            raise CheckFailed(render_check(verdict, self.name))
        if not verdict.passed and self.parent.is_explained_by_none(verdict, self.name):
            raise CheckFailed(render(verdict))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, CheckFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name}::{self.name}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the verdict travel with the report, from a process of pytest-xdist to the controller."""
    verdict = item.config.stash[_VERDICTS].get(str(item.path))
    if isinstance(item, CheckItem) and call.when == "call" and verdict:
        item.user_properties += _properties(verdict, item.name)  # for --junit-xml
    report = yield
    if isinstance(item, CheckItem) and call.when == "call":
        report.fdlib_verdict = verdict.to_dict() if verdict else None
        if verdict is None and call.excinfo:
            report.fdlib_not_graded = (str(item.path), str(call.excinfo.value))
    return report


def _properties(verdict: Verdict, name: str) -> list[tuple[str, object]]:
    """What a report says besides passed and failed; of the whole exercise for a missing file."""
    results = [check for check in verdict.checks if check.name == name] or verdict.checks
    return [
        ("exercise", verdict.name),
        ("state", verdict.state),
        ("points", sum(check.points for check in results if check.outcome == "passed")),
        ("max_points", sum(check.points for check in results)),
        ("mistake", "".join(check.mistake for check in results[:1])),
        ("seed", verdict.seed),
    ]


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count what is not started by itself: it fails the run without a report for each check."""
    verdict = getattr(report, "fdlib_verdict", None)
    if verdict and verdict["state"] == "not started":
        return "not started", "n", "NOT STARTED"
    return None
