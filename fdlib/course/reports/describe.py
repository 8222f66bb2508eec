"""What a learner is told about a verdict, as a document. Its order is the order of attention:

what came of the exercise; the first check to repair, with its cause, its values, its line and what
to read; what was printed; every check with its state; what the compiler said; what is next.
"""

from __future__ import annotations

import re
import shlex

from fdlib.course.catalogue import EXERCISES, is_own
from fdlib.course.expect.check import COMPILES
from fdlib.course.grading.verdict import CheckResult, Verdict
from fdlib.course.reports.alike import first_alike, same_in_others
from fdlib.course.reports.compile_table import describe_compiled
from fdlib.course.reports.document import Block, Group, Line, Role, State, shorten
from fdlib.course.reports.printed import describe_printed

__all__ = ["describe", "describe_check", "describe_progress"]

_WORDS: dict[str, State] = {"passed": "ok", "failed": "wrong", "error": "error"}
_NOT_RUN = {
    "not started",
    "not your own",
    "missing",
    "does not import",
}  # states in which no check was begun
_MESSAGE_LINES = 20
_FIRST = (
    "Repair this one first and check again. The others often follow; what is left is told in full."
)


def describe(verdict: Verdict) -> tuple[Block, ...]:
    """What a learner reads after a check."""
    score = f"{verdict.state}, {verdict.points} of {verdict.max_points} points."
    wrong, first = verdict.failing, verdict.to_repair
    told = verdict.message if first and first.message == verdict.message else ""
    blocks: list[Block] = [Line("heading", f"{_name(verdict)}: {score}"), *_state(verdict, told)]
    printed = describe_printed(verdict, verdict.checks)
    if first:
        blocks += [_first(verdict, first), *printed]
    if verdict.state not in _NOT_RUN:
        listed = tuple(_listed(verdict, check, first) for check in verdict.checks)
        blocks.append(Group("checks", Line("title", "The checks:"), listed))
    said = "".join(check.message for check in wrong if check.name == COMPILES)
    blocks += describe_compiled(verdict.compiled, told=said)
    if not first:
        blocks += printed
    return (*blocks, *_closing(verdict, first))


def describe_progress(verdict: Verdict) -> tuple[Block, ...]:
    """What is known while the checks still run: those without an outcome are to come."""
    done = sum(check.outcome != "not run" for check in verdict.checks)
    heading = f"{_name(verdict)}: {done} of {len(verdict.checks)} checks done."
    listed = []
    next_word: State = "running"
    for check in verdict.checks:
        word = _WORDS.get(check.outcome) or next_word
        next_word = "waiting" if word == "running" else next_word
        listed.append(Group("check", Line(word, check.title, word)))
    checks = Group("checks", Line("title", "The checks:"), tuple(listed))
    return (Line("heading", heading), checks, *describe_compiled(verdict.compiled, so_far=True))


def describe_check(verdict: Verdict, name: str) -> tuple[Block, ...]:
    """What a learner reads about one check that did not pass."""
    check = verdict.result(name)
    first = first_alike(verdict, check)
    if check.outcome == "not run":
        told: list[Block] = [
            Line("title", check.title),
            Line("sentence", f"Not run: the exercise is {_as_clause(verdict.state)}."),
            *_state(verdict),
        ]
    elif check is not first:
        reason = first.diagnosis if first.mistake else first.message
        what = "mistake as" if first.mistake else "as"
        same = f"The same {what} in the check {first.name!r}: {reason.partition(chr(10))[0]}"
        return Line("title", check.title), Line("sentence", shorten(same))
    else:
        blocks = _cause(check) + _help(verdict, check)
        told = [Group("first", Line("title", check.title), tuple(blocks))]
        return (*told, *describe_printed(verdict, (check,)), *_closing(verdict, check))
    return (*told, *describe_printed(verdict, (check,)), *_closing(verdict, None))


def _name(verdict: Verdict) -> str:
    return f"Exercise {verdict.number:02}, {verdict.title}"


def _as_clause(state: str) -> str:
    return {"does not import": "not importable", "crashed": "stopped by a crash"}.get(state, state)


def _state(verdict: Verdict, told: str = "") -> list[Line]:
    """What explains the state, unless the first check to repair says it."""
    lines: list[Line] = []
    if not told:
        lines = _lines("sentence", verdict.message) + _where(verdict.location)
    if verdict.empty:
        lines.append(Line("pointer", ", ".join(verdict.empty) + ".", "Still to write:"))
    return lines


def _first(verdict: Verdict, check: CheckResult) -> Group:
    """The check to repair first."""
    same = same_in_others(verdict, check)
    more = [Line("note", same)] if same else []
    if any(first_alike(verdict, other) is not check for other in verdict.failing):
        more.append(Line("note", _FIRST))
    blocks = (*_cause(check), *_help(verdict, check), *more)
    return Group("first", _state_line(check), blocks)


def _listed(verdict: Verdict, check: CheckResult, told: CheckResult | None) -> Group:
    """A check in the list: the first line of its cause too, unless that is told already."""
    blocks: list[Line] = []
    if check.failing and check is not told and check is first_alike(verdict, check):
        blocks = _headline(check, told=verdict.message)
        if same := same_in_others(verdict, check):
            blocks.append(Line("note", same))
    return Group("check", _state_line(check), tuple(blocks))


def _state_line(check: CheckResult) -> Line:
    word = _WORDS.get(check.outcome, "not run")
    return Line(word, check.title, word)


def _cause(check: CheckResult, told: str = "") -> list[Line]:
    """What is known about the cause, then the values, then the line; not what was `told`."""
    lines = _lines("sentence", check.diagnosis)
    if check.mistake and lines:
        lines[0] = Line("mistake", lines[0].text)
    if not check.message or check.message != told:
        lines += _lines("message", check.message) + _where(check.location)
    return lines


def _headline(check: CheckResult, told: str) -> list[Line]:
    """The first line of the cause, and where it is; not what was `told`."""
    first = [line for line in _cause(check, told) if line.role != "where"][:1]
    return first + _where(check.location) * bool(first)


def _lines(role: Role, text: str) -> list[Line]:
    found = [line for line in text.splitlines() if line.strip()]
    lines = [Line(role, shorten(line)) for line in found[:_MESSAGE_LINES]]
    more = len(found) - len(lines)
    return lines + [Line(role, f"({more} more lines)")] * bool(more)


def _where(location: str) -> list[Line]:
    return [Line("where", shorten(location, 200), "Your line:")] if location else []


def _help(verdict: Verdict, check: CheckResult) -> list[Line]:
    region = [Line("pointer", f'"{check.region}"', "Region:")] if check.region else []
    read = Line("pointer", _where_to_read(verdict, check), "Read:")
    return [*region, read, *_again(verdict)]


def _where_to_read(verdict: Verdict, check: CheckResult | None) -> str:
    if check is None or not check.read:
        return f"notebooks/{verdict.notebook}.ipynb"
    match = re.fullmatch(r"(?:(\d\d): )?(.+)", check.read)
    assert match is not None
    return f'notebook {match[1] or verdict.notebook[:2]}, section "{match[2]}"'


def _again(verdict: Verdict) -> list[Line]:
    label, number, seed = "Same inputs again:", verdict.number, verdict.seed
    if not is_own(number, verdict.path):
        path = shlex.quote(verdict.path)
        command = f"pytest -p fdlib.course.pytest_plugin {path} --seed {seed}"
        return [Line("command", command, label)]
    return [
        Line("command", f"fdlib check {number} --seed {seed}", label),
        Line("command", f"check({number}, seed={seed})", "Or in a notebook:"),
    ]


def _closing(verdict: Verdict, told: CheckResult | None) -> tuple[Block, ...]:
    """Notes, and where to go on; what to read, unless the check that was `told` says it."""
    lines = [Line("note", note) for note in verdict.notes]
    if verdict.passed:
        lines += _next(verdict)
    else:
        if told is None:
            lines.append(Line("pointer", _where_to_read(verdict, None), "Read:"))
            lines += _again(verdict) if verdict.state not in _NOT_RUN else []
        lines.append(Line("where", verdict.path, "File:"))
    return (Group("closing", None, tuple(lines)),) if lines else ()


def _next(verdict: Verdict) -> list[Line]:
    if not is_own(verdict.number, verdict.path):
        return []
    solution = f"fdlib solution {verdict.number}"
    lines = [Line("command", solution, "Compare with the worked solution:")]
    following = [each.notebook for each in EXERCISES if each.number == verdict.number + 1]
    return lines + [Line("pointer", f"notebooks/{name}.ipynb", "Next:") for name in following]
