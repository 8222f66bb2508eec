"""The part of the pytest plugin that keeps the scores of a run, shows them and writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fdlib.course.grading.verdict import Verdict

__all__ = ["Gradebook"]


class Gradebook:
    """Collects the verdict of each file from the reports of its checks; `file` is for programs."""

    def __init__(self, seed: Callable[[], int], file: Path | None) -> None:
        self._seed = seed
        self._file = file
        self._verdicts: dict[str, Verdict] = {}
        self._not_graded: dict[str, str] = {}
        self._problem = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if data := getattr(report, "fdlib_verdict", None):
            if data["path"] not in self._verdicts:
                self._verdicts[data["path"]] = Verdict.from_dict(data)
        elif found := getattr(report, "fdlib_not_graded", None):
            self._not_graded.setdefault(*found)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        from fdlib.course.reports.scores import scores, write_scores

        if self._file is None or session.config.option.collectonly:
            return
        data = scores(self._verdicts.values(), seed=self._seed(), not_graded=self._not_graded)
        ended = exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        try:
            write_scores(self._file, data | {"complete": ended})
        except OSError as error:
            self._problem = f"The scores were not written to {self._file}: {error.strerror}."
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from fdlib.course.reports.scores import score_table

        if self._verdicts:
            terminalreporter.section("scores")
            missing = [Path(path).stem for path in self._not_graded]
            table = score_table(self._verdicts.values(), not_graded=missing)
            terminalreporter.write_line(table)
            terminalreporter.write_line(f"Same inputs again: --seed {self._seed()}")
        if self._problem:
            terminalreporter.write_line(self._problem, red=True)
