"""The same words in a notebook, in a terminal and as plain text, whatever a learner's file says."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from fdlib.course.grading.verdict import OnProgress, Verdict
from fdlib.course.reports import html, live, terminal, text
from fdlib.course.reports.describe import describe, describe_progress
from fdlib.course.reports.document import visible

from .verdicts import ALL, GROWING

DOCUMENTS = {name: describe(verdict) for name, verdict in ALL.items()}
DOCUMENTS["growing"] = describe_progress(GROWING)


class Screen(io.StringIO):
    """A terminal that keeps what is written to it."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _a_capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def _styled(document: object, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    screen = Screen()
    terminal.console_for(screen).print(terminal.styled(document))
    return screen.getvalue()


def _bare(styled: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", styled)


def _words_of_html(markup: str) -> list[str]:
    markup = re.sub(r"<style>.*?</style>", "", markup, flags=re.S)
    return unescape(re.sub(r"<[^>]*>", "", markup)).split()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_same_words_in_the_same_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = DOCUMENTS[name]
    words = text.plain(document).split()
    assert len(words) > 15
    assert _words_of_html(html.markup(document)) == words
    assert _bare(_styled(document, 4000, monkeypatch)).split() == words


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_wide_terminal_has_the_lines_of_the_plain_text(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = _bare(_styled(DOCUMENTS[name], 4000, monkeypatch)).splitlines()
    lines = text.plain(DOCUMENTS[name]).splitlines()
    assert [line.rstrip() for line in shown] == [line.rstrip() for line in lines]


@pytest.mark.parametrize("width", [100, 40, 20])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_narrow_terminal_loses_nothing(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = _bare(_styled(DOCUMENTS[name], width, monkeypatch))
    assert max(map(len, shown.splitlines())) <= width
    letters = re.sub(r"\s", "", text.plain(DOCUMENTS[name]))
    assert re.sub(r"\s", "", shown) == letters


def test_a_state_is_a_word_and_a_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    styled = _styled(DOCUMENTS["mistake"], 80, monkeypatch)
    assert "\x1b[32mok" in styled
    assert "\x1b[1;31mwrong" in styled
    assert '<span class="fdlib-badge fdlib-wrong">wrong</span>' in html.render(ALL["mistake"])
    assert '<span class="fdlib-badge fdlib-not-run">not run</span>' in html.render(ALL["timed out"])


@pytest.mark.parametrize(
    ("variable", "value", "styled"),
    [("NO_COLOR", "1", False), ("NO_COLOR", "", True), ("TERM", "dumb", False), ("A", "b", True)],
)
def test_a_terminal_gets_style_unless_it_cannot_or_should_not(
    variable: str, value: str, styled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    screen = Screen()
    terminal.show(ALL["mistake"], screen)
    assert ("\x1b[" in screen.getvalue()) == styled
    if not styled:
        assert screen.getvalue() == text.render(ALL["mistake"]) + "\n"


def test_a_pipe_gets_plain_text_in_what_it_can_encode() -> None:
    pipe = io.TextIOWrapper(raw := io.BytesIO(), encoding="ascii")
    terminal.show(ALL["hostile"], pipe)
    assert text.render(ALL["hostile"]).encode("ascii", "backslashreplace") in raw.getvalue()


class _Checker(HTMLParser):
    """Fails on anything that runs, loads or is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "img", "link", "iframe", "h1", "h2", "h3", "h4", "b", "i"}
        assert {name for name, _ in attrs} <= {"class", "dir", "role", "aria-level", "scope"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", DOCUMENTS)
def test_html_is_closed_and_brings_nothing_from_outside(name: str) -> None:
    markup = html.markup(DOCUMENTS[name])
    checker = _Checker()
    checker.feed(markup)
    checker.close()
    assert checker.open == []
    assert not re.search(r"url\(|@import|http", markup)


def test_a_table_has_a_caption_and_header_cells() -> None:
    markup = html.render(ALL["compiled"])
    assert "<caption>Compiled for these GPUs" in markup
    assert markup.count('scope="col"') == 6
    assert markup.count('scope="row"') == 4


def test_nothing_a_file_says_moves_the_cursor_or_turns_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = _bare(_styled(DOCUMENTS["hostile"], 4000, monkeypatch))
    for words in (text.plain(DOCUMENTS["hostile"]), html.markup(DOCUMENTS["hostile"]), shown):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", words)
        words.encode("utf-8")
        assert "red bell\\x07 nul\\x00 \\u202egnp.exe\\u200b back\\x08 \\udc80" in words
        assert len(words) < 15_000


def test_visible() -> None:
    assert visible("a\tb") == "a   b"
    assert visible("Q·Kᵀ, שלום, 你好") == "Q·Kᵀ, שלום, 你好"
    assert visible("\x1b[2J\x1b[1;31mx\x1b]8;;u\x1b\\y\x9b") == "xy\\x9b"


def _run(verdict: Verdict) -> Callable[[OnProgress], Verdict]:
    def run(show: OnProgress) -> Verdict:
        show(GROWING)
        return verdict

    return run


def test_a_pipe_gets_only_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert live.follow(_run(ALL["mistake"])) is ALL["mistake"]
    assert capsys.readouterr().out == text.render(ALL["mistake"]) + "\n"


def test_a_terminal_shows_the_checks_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    live.follow(_run(ALL["mistake"]))
    shown = _bare(screen.getvalue())
    assert shown.index("2 of 4 checks done") < shown.index("failed, 3 of 11 points")


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    """What a notebook would be sent."""
    pytest.importorskip("IPython")
    sent: list[tuple[str, dict[str, str]]] = []

    def display(bundle: dict[str, str], **_: object) -> SimpleNamespace:
        sent.append(("new", bundle))
        return SimpleNamespace(update=lambda bundle, raw: sent.append(("update", bundle)))

    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr("IPython.display.display", display)
    return sent


def test_a_notebook_has_one_output_that_is_updated(
    outputs: list[tuple[str, dict[str, str]]],
) -> None:
    live.follow(_run(ALL["mistake"]))
    assert [how for how, _ in outputs] == ["new", "update"]
    assert "2 of 4 checks done" in outputs[0][1]["text/html"]
    assert outputs[1][1]["text/plain"] == text.render(ALL["mistake"])
    assert outputs[1][1]["text/html"] == html.render(ALL["mistake"])


def test_a_check_that_is_interrupted_says_so(outputs: list[tuple[str, dict[str, str]]]) -> None:
    def run(show: OnProgress) -> Verdict:
        show(GROWING)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        live.follow(run)
    assert outputs[-1][1]["text/plain"] == "The check was stopped before its end."


def test_plain_reports_import_neither_rich_nor_ipython() -> None:
    code = (
        "import sys, fdlib.course.reports.live;"
        "assert not {'rich', 'IPython', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
