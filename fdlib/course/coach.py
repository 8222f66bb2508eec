"""Hints, each of which goes further than the last, and the solution for those who have passed."""

from __future__ import annotations

import textwrap

from fdlib.course.catalogue import exercise_path, find
from fdlib.course.files import Refused, read_solution
from fdlib.course.hints import LEVELS, load_hints
from fdlib.course.progress import load, record_hint, record_solution
from fdlib.course.reading import read_source
from fdlib.course.regions import Region, empty_regions, regions
from fdlib.course.reports.document import TEXT_WIDTH

__all__ = ["hint_text", "solution_text"]


def hint_text(number: int, region: str | int | None = None, level: int | None = None) -> str:
    """The next hint for a region of an exercise, and note that it was shown.

    `region` is a name, a part of one, or its number in the file. Without it: the first that is
    still empty, else the one of the check that failed last, else the first. `level` is 1, 2 or 3.
    Raises `ValueError` for a region or level that there is not, `Refused` if there are no hints.
    """
    exercise = find(number)
    if level is not None and level not in range(1, len(LEVELS) + 1):
        raise ValueError(f"level: got {level!r}, takes 1, 2 or 3")
    hints = load_hints(exercise)
    if not hints:
        raise Refused(f"Exercise {number} has no hints; read notebooks/{exercise.notebook}.ipynb.")
    names = [each.name for each in regions(read_solution(number))]
    name = _choose(number, names) if region is None else _find(str(region), names)
    last = max(load().exercise(number).hints.get(name, [0]))
    shown = level or min(last + 1, len(LEVELS))
    kept = record_hint(number, name, shown)
    place = names.index(name) + 1
    return "\n".join(
        [
            f"Exercise {number:02}, region {place} of {len(names)}: {name}",
            f"Hint {shown} of {len(LEVELS)} ({LEVELS[shown - 1]}):",
            *_indented(hints[name].level(shown)),
            _what_next(number, shown, place if region is not None else 0, kept),
        ]
    )


def _choose(number: int, names: list[str]) -> str:
    try:
        empty = empty_regions(read_source(exercise_path(number)))
    except (OSError, ValueError):  # `fdlib check` says what is wrong with it
        empty = ()
    wanted = [name for name in names if name in empty]
    return [*wanted, *(name for name in names if name == load().exercise(number).region), *names][0]


def _find(wanted: str, names: list[str]) -> str:
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    if wanted in names:
        return wanted
    alike = [name for name in names if wanted.lower() in name.lower()]
    if len(alike) == 1 and wanted:
        return alike[0]
    listed = ", ".join(f"{i} ({name})" for i, name in enumerate(names, 1))
    raise ValueError(f"region: got {wanted!r}, takes one of {listed}")


def _indented(text: str) -> list[str]:
    lines = []
    for line in text.strip("\n").split("\n"):
        indent = " " * (4 + len(line) - len(line.lstrip()))
        lines += textwrap.wrap(
            line.strip(), TEXT_WIDTH, initial_indent=indent, subsequent_indent=indent
        ) or [""]
    return lines


def _what_next(number: int, shown: int, region: int, kept: bool) -> str:
    if shown == len(LEVELS):
        return (
            f"That is the last hint for this region. `fdlib hint {number} --region NAME` is for "
            f"another; `fdlib solution {number}` shows the solution once yours has passed."
        )
    command, arguments, why = f"fdlib hint {number}", f"{number}", ""
    if region:
        command, arguments = f"{command} --region {region}", f"{arguments}, {region}"
    if not kept:
        command, arguments = f"{command} --level {shown + 1}", f"{arguments}, level={shown + 1}"
        why = " The level has to be named, as it cannot be kept which hints you have seen."
    return (
        f"Not enough? `{command}`, or hint({arguments}) in a notebook, goes one step further.{why}"
    )


def solution_text(number: int, *, give_up: bool = False, whole: bool = False) -> str:
    """The solution's regions, or all of it, and note that it was shown.

    Raises `Refused` if the exercise has not passed and `give_up` is not set.
    """
    exercise = find(number)
    source = read_solution(number)
    mine = load().exercise(number)
    if not (mine.passed or mine.solution or give_up):
        raise Refused(
            f"Exercise {number} has not passed yet. Once you have read its solution you can no longer find "
            f"one yourself. `fdlib hint {number}` helps with one step. To see it all the same: "
            f"`fdlib solution {number} --give-up`, or solution({number}, give_up=True) in a notebook."
        )
    record_solution(number)
    title = f"Exercise {number:02}, {exercise.title}: solution"
    if whole:
        return f"{title}\n\n{source}"
    found = regions(source)
    parts = [_part(i, region, len(found)) for i, region in enumerate(found, 1)]
    return "\n\n".join([f"{title} (solutions/{exercise.module_name}.py)", *parts])


def _part(number: int, region: Region, of: int) -> str:
    code = textwrap.indent(textwrap.dedent(region.body.strip("\n")), "    ")
    return f"Region {number} of {of}: {region.name}\n{code}"
