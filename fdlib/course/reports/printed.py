"""What a learner's file printed, in a report: the first lines of it, and how much is not shown."""

from __future__ import annotations

from fdlib.course.grading.verdict import CheckResult, Verdict
from fdlib.course.reports.document import Group, Line, shorten

__all__ = ["describe_printed"]

_LINES = 15
_LINE_LENGTH = 200


def describe_printed(verdict: Verdict, checks: tuple[CheckResult, ...]) -> list[Group]:
    """What was printed in these checks, in a failing one first, and while the file was loaded."""
    shown: list[tuple[str, list[Line]]] = []
    left, total = _LINES, 0
    for where, text in _parts(verdict, checks):
        printed = text.rstrip().splitlines()
        total += len(printed)
        if printed and left:
            lines = [Line("printed", shorten(line, _LINE_LENGTH)) for line in printed[:left]]
            shown.append((f"It printed {where}:", lines))
        left = max(0, left - len(printed))
    if shown:
        shown[-1][1].extend(_not_shown(verdict, total - _LINES))
    return [Group("printed", Line("title", title), tuple(lines)) for title, lines in shown]


def _not_shown(verdict: Verdict, more_lines: int) -> list[Line]:
    lines = [Line("note", f"({more_lines} more lines)")] if more_lines > 0 else []
    kept = len(verdict.output.encode("utf-8", "replace"))
    if verdict.output_bytes > kept:
        cut = f"{verdict.output_bytes - kept:,} of {verdict.output_bytes:,}"
        text = f"(It printed too much to keep: the last {cut} bytes are gone.)"
        lines.append(Line("note", text))
    return lines


def _parts(verdict: Verdict, checks: tuple[CheckResult, ...]) -> list[tuple[str, str]]:
    inside = sum(len(check.output) for check in verdict.checks)
    loading = verdict.output[: len(verdict.output) - inside]
    parts = [(f'in the check "{check.title}"', check.output) for check in checks]
    failing = [i for i, check in enumerate(checks) if check.failing]
    first = [parts.pop(failing[0])] if failing else []
    return [*first, ("while it was loaded", loading), *parts]
