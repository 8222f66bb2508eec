"""The process that runs a learner's code, seen from inside."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from fdlib.course.expect.check import Check
from fdlib.course.expect.compare import expect_equal
from fdlib.course.grading import worker
from fdlib.course.grading.diagnose import Diagnosis
from fdlib.course.grading.events import Results, read_events
from fdlib.course.grading.judge import judge
from fdlib.course.grading.process import Ended
from fdlib.course.grading.steps import Run
from fdlib.course.grading.verdict import CheckResult, Verdict

SOURCE = "def one(): return 2\ndef two(): return 2\n"
CHECKS = tuple(
    Check(name, f"{name}.", 1, run)
    for name, run in (
        ("one", lambda module, _: expect_equal(module.one(), 1, what="one", case="none")),
        ("two", lambda module, _: expect_equal(module.two(), 2, what="two", case="none")),
    )
)


def test_no_outcome_waits_for_a_cause(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """At the limit while a cause is looked for, every check has its outcome all the same."""
    told = tmp_path / "results"

    def explain(*_: object) -> Diagnosis:
        seen = [event["event"] for event in read_events(told.read_text(), "w")]
        assert seen == ["begin", "result", "begin", "result", "done"]
        return Diagnosis(("It is one too many.",), "one too many")

    request = {"path": str(tmp_path / "ex91.py"), "module_name": "ex91", "source": SOURCE}
    request |= {"mark": "m", "seed": 1, "word": "w", "time_limit_s": 5.0}
    diagnoser = SimpleNamespace(explain=explain)
    worker._grade(request, Results(str(told), "w"), CHECKS, "interpreter", diagnoser)
    ready = '{"event": "ready", "mode": "interpreter", "word": "w"}\n'
    results = ready + told.read_text()
    checks = tuple(CheckResult(each.name, each.title, 1) for each in CHECKS)
    asked = Verdict(91, "ex91", "T", "91", request["path"], "running", checks, seed=1)
    ended = Ended(1, "", 0, "", 6144, False, 5.0)
    whole = judge(asked, SOURCE, Run(request, results, "", ended))
    assert whole.result("one").diagnosis == "It is one too many."
    until_done = results[: results.index("done")] + 'done", "word": "w"}\n'
    cut = judge(asked, SOURCE, Run(request, until_done, "Timeout (0:00:05)!", ended))
    assert (cut.state, [each.outcome for each in cut.checks]) == ("failed", ["failed", "passed"])
