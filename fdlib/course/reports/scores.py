"""The scores of many exercises: a table as plain text, and a file for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fdlib
from fdlib.course.files import Refused, must_be_writable, write_atomically
from fdlib.course.grading.verdict import Verdict

__all__ = ["expect_writable", "score_table", "scores", "write_scores"]


def score_table(verdicts: Iterable[Verdict], *, not_graded: Iterable[str] = ()) -> str:
    """One line per exercise with points, state and seconds, and the sum.

    `not_graded` are the names of exercises that this machine could not check.
    """
    verdicts = _in_order(verdicts)
    rows: list[tuple[str, str, str, str]] = [
        (v.name, f"{v.points}/{v.max_points}", v.state, f"{v.seconds:.1f}") for v in verdicts
    ]
    points = sum(v.points for v in verdicts)
    max_points = sum(v.max_points for v in verdicts)
    seconds = sum(v.seconds for v in verdicts)
    rows += [(name, "-", "not graded", "-") for name in sorted(not_graded)]
    rows.insert(0, ("exercise", "points", "state", "seconds"))
    rows.append(("total", f"{points}/{max_points}", "", f"{seconds:.1f}"))
    width = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        f"{name:<{width[0]}}  {score:>{width[1]}}  {state:<{width[2]}}  {time:>{width[3]}}"
        for name, score, state, time in rows
    )


def scores(
    verdicts: Iterable[Verdict], *, seed: int, not_graded: Mapping[str, str]
) -> dict[str, Any]:
    """The same for programs, with each check; `not_graded` says why, by the path of a file."""
    verdicts = _in_order(verdicts)
    return {
        "fdlib": fdlib.__version__,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seed": seed,
        "points": sum(verdict.points for verdict in verdicts),
        "max_points": sum(verdict.max_points for verdict in verdicts),
        "seconds": round(sum(verdict.seconds for verdict in verdicts), 3),
        "exercises": [_exercise(verdict) for verdict in verdicts],
        "not_graded": [{"path": path, "message": why} for path, why in sorted(not_graded.items())],
    }


def _in_order(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda verdict: (verdict.number, verdict.path))


def _exercise(verdict: Verdict) -> dict[str, Any]:
    return {
        "number": verdict.number,
        "name": verdict.name,
        "path": verdict.path,
        "state": verdict.state,
        "message": verdict.message,
        "points": verdict.points,
        "max_points": verdict.max_points,
        "seconds": round(verdict.seconds, 3),
        "seed": verdict.seed,
        "checks": [
            {
                "name": check.name,
                "outcome": check.outcome,
                "points": check.points if check.outcome == "passed" else 0,
                "max_points": check.points,
                "mistake": check.mistake,
            }
            for check in verdict.checks
        ],
    }


def write_scores(path: Path, data: Mapping[str, Any]) -> None:
    """Write scores as JSON, whole or not at all."""
    write_atomically(path, json.dumps(data, indent=2, ensure_ascii=True) + "\n")


def expect_writable(path: Path) -> None:
    """Raise `ValueError` unless a file can be written here."""
    if not path.parent.is_dir():
        raise ValueError(f"the folder {path.parent} is not there; make it first")
    probe = path.with_name(f".{path.name}.probe")
    try:
        must_be_writable(path)
        probe.touch()
        probe.unlink()
    except Refused as refusal:
        raise ValueError(str(refusal)) from None
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from None
