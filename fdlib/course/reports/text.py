"""A verdict in words, as plain text. `scores.py` has the table."""

from __future__ import annotations

import re
from pathlib import Path

from fdlib.course.grading.verdict import CheckResult, Verdict

__all__ = ["render", "render_check"]

_OUTPUT_LINES = 15
_LINE_LENGTH = 200
_INDENT = "    "
_LABELS = {"passed": "ok", "failed": "WRONG", "error": "ERROR", "not run": "-"}
_NOT_RUN = {"not started", "missing", "does not import"}  # states in which no check was begun


def render(verdict: Verdict) -> str:
    """What a learner reads after a check."""
    lines = [
        f"Exercise {verdict.number:02}, {verdict.title}: {verdict.state}, "
        f"{verdict.points} of {verdict.max_points} points."
    ]
    lines += _state_lines(verdict)
    if verdict.state not in _NOT_RUN:
        for check in verdict.checks:
            lines.append(f"  {_LABELS[check.outcome]:<5}  {check.title}")
            if check.message != verdict.message and check is _first_alike(verdict, check):
                lines += _check_lines(check, _INDENT * 2)
                lines += [_INDENT * 2 + line for line in _same_lines(verdict, check)]
    failing = _failing(verdict)
    if len(failing) > 1:
        lines.append("Repair the first one first; the later ones often follow.")
    lines += _printed_lines(verdict, verdict.checks)
    return "\n".join(lines + _closing_lines(verdict, failing[0] if failing else None))


def render_check(verdict: Verdict, name: str) -> str:
    """What a learner reads about one check that did not pass."""
    check = verdict.result(name)
    lines = [check.title]
    first = _first_alike(verdict, check)
    if check.outcome == "not run":
        lines.append(f"Not run: the exercise is {_as_clause(verdict.state)}.")
        lines += _state_lines(verdict)
    elif check is not first:
        lines.append(f"The same as in the check {first.name!r}: {first.message.splitlines()[0]}")
        return "\n".join(lines)
    else:
        lines += _check_lines(check, "")
    lines += _printed_lines(verdict, (check,))
    return "\n".join(lines + _closing_lines(verdict, check))


def _failing(verdict: Verdict) -> list[CheckResult]:
    return [check for check in verdict.checks if check.outcome in {"failed", "error"}]


def _alike(verdict: Verdict, check: CheckResult) -> list[CheckResult]:
    """The checks that failed for the same reason, this one included, in order."""
    reason = (check.message, check.location)
    return [each for each in _failing(verdict) if (each.message, each.location) == reason]


def _first_alike(verdict: Verdict, check: CheckResult) -> CheckResult:
    return (_alike(verdict, check) or [check])[0] if check.message else check


def _same_lines(verdict: Verdict, check: CheckResult) -> list[str]:
    others = _alike(verdict, check)[1:] if check.message else []
    if not others:
        return []
    checks = f"{len(others)} more checks" if len(others) > 1 else "1 more check"
    return [f"The same in {checks}: " + " ".join(other.title for other in others)]


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


def _printed_lines(verdict: Verdict, checks: tuple[CheckResult, ...]) -> list[str]:
    """The first lines of what was printed, of a failing check first, and how much is not shown."""
    inside = sum(len(check.output) for check in verdict.checks)
    loading = verdict.output[: len(verdict.output) - inside]
    parts = [(f'in the check "{check.title}"', check.output) for check in checks]
    failing = [i for i, check in enumerate(checks) if check.outcome in {"failed", "error"}]
    first = [parts.pop(failing[0])] if failing else []
    parts = [*first, ("while it was loaded", loading), *parts]
    lines: list[str] = []
    left, total = _OUTPUT_LINES, 0
    for where, text in parts:
        if not text.strip():
            continue
        printed = text.rstrip().splitlines()
        total += len(printed)
        if left:
            lines += [f"It printed {where}:", *(_INDENT + _cut(line) for line in printed[:left])]
        left = max(0, left - len(printed))
    if total > _OUTPUT_LINES:
        lines.append(f"{_INDENT}({total - _OUTPUT_LINES} more lines)")
    kept = len(verdict.output.encode("utf-8", "replace"))
    if verdict.output_bytes > kept:
        cut = f"{verdict.output_bytes - kept:,} of {verdict.output_bytes:,}"
        lines.append(f"{_INDENT}(It printed too much to keep: the last {cut} bytes are gone.)")
    return lines


def _cut(line: str) -> str:
    cut = len(line) - _LINE_LENGTH
    return line if cut <= 0 else f"{line[:_LINE_LENGTH]} ({cut:,} more characters)"


def _closing_lines(verdict: Verdict, check: CheckResult | None) -> list[str]:
    lines = list(verdict.notes)
    if verdict.passed:
        return lines
    if check and check.region and check.outcome in {"failed", "error"}:
        lines.append(f'Look at the region "{check.region}".')
    lines.append(f"Read: {_where_to_read(verdict, check)}. File: {verdict.path}")
    if verdict.state not in _NOT_RUN:
        lines.append(f"Same inputs again: {_again(verdict)}")
    return lines


def _where_to_read(verdict: Verdict, check: CheckResult | None) -> str:
    if check is None or not check.read or verdict.state in _NOT_RUN:
        return f"notebooks/{verdict.notebook}.ipynb"
    match = re.fullmatch(r"(?:(\d\d): )?(.+)", check.read)
    assert match is not None
    return f'notebook {match[1] or verdict.notebook[:2]}, section "{match[2]}"'


def _again(verdict: Verdict) -> str:
    path = Path(verdict.path)
    if path.parent.name == "exercises":
        number, seed = verdict.number, verdict.seed
        again = f".venv/bin/fdlib check {number} --seed {seed}"
        return f"{again}, or check({number}, seed={seed}) in a notebook"
    return f".venv/bin/pytest -p fdlib.course.pytest_plugin {path} --seed {verdict.seed}"
