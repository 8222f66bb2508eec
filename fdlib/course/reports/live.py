"""Show a check as it goes, where it was called: in a notebook, in a terminal, or as plain text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fdlib.course.grading.verdict import OnProgress, Verdict
from fdlib.course.reports import html, terminal, text
from fdlib.course.reports.describe import describe, describe_progress
from fdlib.course.reports.document import Block, Line
from fdlib.course.shell import in_notebook

__all__ = ["follow"]

_STOPPED = (Line("sentence", "The check was stopped before its end."),)


def follow(run: Callable[[OnProgress], Verdict]) -> Verdict:
    """Run a check, show what is known each time it says so, and in the end its verdict."""
    if in_notebook():
        return _in_one_output(run)
    if terminal.is_styled(sys.stdout):
        return _in_terminal(run)
    verdict = run(lambda _: None)
    terminal.show(verdict)
    return verdict


def _in_one_output(run: Callable[[OnProgress], Verdict]) -> Verdict:
    """One output of a cell, which each report replaces."""
    from IPython.display import display

    shown: list[Any] = []

    def put(document: tuple[Block, ...]) -> None:
        bundle = {"text/html": html.markup(document), "text/plain": text.plain(document)}
        if shown:
            shown[0].update(bundle, raw=True)
        else:
            shown.append(display(bundle, raw=True, display_id=True))

    try:
        verdict = run(lambda growing: put(describe_progress(growing)))
    except BaseException:
        if shown:
            put(_STOPPED)
        raise
    put(describe(verdict))
    return verdict


def _in_terminal(run: Callable[[OnProgress], Verdict]) -> Verdict:
    """Lines that are drawn anew while it runs, and give way to the verdict."""
    from rich.live import Live

    console = terminal.console_for(sys.stdout)
    with Live(console=console, transient=True, auto_refresh=False) as live:
        verdict = run(
            lambda growing: live.update(terminal.styled(describe_progress(growing)), refresh=True)
        )
    terminal.show(verdict)
    return verdict
