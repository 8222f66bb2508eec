"""A verdict in words, and the table of scores, as plain text."""

from __future__ import annotations

from collections.abc import Iterable

from fdlib.course.verdict import CheckResult, Verdict

__all__ = ["render", "render_check", "score_table"]

_OUTPUT_LINES = 15
_INDENT = "    "
_LABELS = {"passed": "ok", "failed": "WRONG", "error": "ERROR", "not run": "-"}


def render(verdict: Verdict) -> str:
    """What a learner reads after a check."""
    lines = [
        f"Exercise {verdict.number:02}, {verdict.title}: {verdict.state}, "
        f"{verdict.points} of {verdict.max_points} points."
    ]
    lines += _state_lines(verdict)
    if verdict.state not in {"not started", "missing", "does not import"}:
        for check in verdict.checks:
            lines.append(f"  {_LABELS[check.outcome]:<5}  {check.title}")
            if check.message != verdict.message:
                lines += _check_lines(check, _INDENT * 2)
    lines += _closing_lines(verdict)
    return "\n".join(lines)


def render_check(verdict: Verdict, name: str) -> str:
    """What a learner reads about one check that did not pass."""
    check = verdict.result(name)
    lines = [check.title]
    if check.outcome == "not run":
        lines.append(f"Not run: the exercise is {_as_clause(verdict.state)}.")
        lines += _state_lines(verdict)
    else:
        lines += _check_lines(check, "")
    return "\n".join(lines + _closing_lines(verdict))


def _as_clause(state: str) -> str:
    return {"does not import": "not importable", "crashed": "stopped by a crash"}.get(state, state)


def _state_lines(verdict: Verdict) -> list[str]:
    lines = []
    if verdict.message:
        lines.append(_INDENT + verdict.message)
    if verdict.location:
        lines.append(_INDENT + verdict.location)
    if verdict.empty:
        lines.append(_INDENT + "Still to write: " + ", ".join(verdict.empty) + ".")
    return lines


def _check_lines(check: CheckResult, indent: str) -> list[str]:
    lines = [indent + line for line in check.message.splitlines()]
    return lines + [indent + check.location] * bool(check.location)


def _closing_lines(verdict: Verdict) -> list[str]:
    lines = list(verdict.notes)
    if verdict.output.strip() and not verdict.passed:
        lines += ["It printed:", *_shortened(verdict.output)]
    if verdict.passed:
        return lines
    lines.append(f"Read: notebooks/{verdict.notebook}.ipynb. File: {verdict.path}")
    if verdict.state not in {"not started", "missing", "does not import"}:
        lines.append(f"Same inputs again: --seed {verdict.seed}")
    return lines


def _shortened(output: str) -> list[str]:
    lines = output.rstrip().splitlines()
    shown = [_INDENT + line[:200] for line in lines[:_OUTPUT_LINES]]
    return shown + [f"{_INDENT}({len(lines) - len(shown)} more lines)"] * (len(lines) > len(shown))


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
