"""The table that `make gate` prints last: what the grader made of answers that are known to be right or wrong."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.gate)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line per kind of answer and exercise, and what was said to answers without a known mistake."""
    rows: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for reports in terminalreporter.stats.values():
        for report in reports:
            found = dict(getattr(report, "user_properties", ())).get("gate")
            if found and report.when == "call":
                rows[found["kind"], found["number"]].append({**found, "ok": report.passed})
    if not rows:
        return
    terminalreporter.section("the grader, proven")
    write = terminalreporter.write_line
    write(f"{'answers':<22} {'exercise':>8} {'number':>7} {'as due':>7} {'own words first':>16}")
    for (kind, number), found in sorted(rows.items()):
        due = sum(each["ok"] for each in found)
        named = sum(bool(each["named"]) for each in found)
        share = f"{named:>3} of {len(found)}" if "mistake" in kind or "wrong" in kind else ""
        write(f"{kind:<22} {number:>8} {len(found):>7} {due:>7} {share:>16}")
    for found in (each for key in sorted(rows) for each in rows[key]):
        if found["said"] and not found["named"]:
            write(f"\nexercise {found['number']}, {found['slug']}: {found['said']}")
