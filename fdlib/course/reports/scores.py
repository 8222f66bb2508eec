"""The table of scores, as plain text."""

from __future__ import annotations

from collections.abc import Iterable

from fdlib.course.grading.verdict import Verdict

__all__ = ["score_table"]


def score_table(verdicts: Iterable[Verdict]) -> str:
    """One line per exercise with points, state and seconds, and the sum."""
    verdicts = sorted(verdicts, key=lambda verdict: (verdict.number, verdict.path))
    rows: list[tuple[str, str, str, str]] = [
        (v.name, f"{v.points}/{v.max_points}", v.state, f"{v.seconds:.1f}") for v in verdicts
    ]
    points = sum(v.points for v in verdicts)
    max_points = sum(v.max_points for v in verdicts)
    seconds = sum(v.seconds for v in verdicts)
    rows.insert(0, ("exercise", "points", "state", "seconds"))
    rows.append(("total", f"{points}/{max_points}", "", f"{seconds:.1f}"))
    width = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        f"{name:<{width[0]}}  {score:>{width[1]}}  {state:<{width[2]}}  {time:>{width[3]}}"
        for name, score, state, time in rows
    )
