"""The ``fdlib`` command. Each subcommand imports what it needs, when it runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fdlib import __version__

__all__ = ["main"]

_ONE: dict[str, Any] = {"type": int, "metavar": "N", "help": "the exercise's number"}
_SEVERAL: dict[str, Any] = {
    "type": int,
    "metavar": "N",
    "nargs": "*",
    "help": "numbers of exercises; default: all of them",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code: 0 well, 1 a failure that was reported, 2 a wrong command line."""
    _open_closed_streams()
    options = _parser().parse_args(argv)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except (RuntimeError, OSError, ValueError) as error:
        from fdlib.course.files import sentence

        print(f"fdlib: {sentence(error)}", file=sys.stderr)
        return 2 if isinstance(error, (FileNotFoundError, ValueError)) else 1


def _open_closed_streams() -> None:
    """Put nothing in the place of a stream that was closed (`>&-`).

    Python has None there, and the next file to be opened would take its descriptor, so that what
    another process prints ends up in that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest that is free: the stream's own
            os.set_inheritable(null, True)
            setattr(sys, name, os.fdopen(null, mode, errors="replace"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fdlib", description="Flash-Decoding from first principles"
    )
    parser.add_argument("--version", action="version", version=f"fdlib {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    doctor = commands.add_parser("doctor", help="what this machine can do, and how to repair it")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=_doctor)

    _add_learner_commands(commands)

    exercises = commands.add_parser("exercises", help="make exercises/ from solutions/")
    actions = exercises.add_subparsers(required=True, metavar="ACTION")
    build = actions.add_parser("build", help="write exercises/")
    build.add_argument("--check", action="store_true", help="only compare; exit 1 if they differ")
    build.set_defaults(run=_build)

    course = commands.add_parser("course", help="execute notebooks headless")
    course.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help="default: all of them")
    course.add_argument("--json", metavar="OUT", help="record results, GPU, versions and date here")
    course.set_defaults(run=_course)

    record = commands.add_parser("record", help="measure this machine's GPU; some minutes")
    record.add_argument("--out", metavar="FILE", help="default: GPU_timelines.json")
    record.add_argument("--quick", action="store_true", help="a handful of shapes")
    record.add_argument("--force", action="store_true", help="replace FILE if it exists")
    record.set_defaults(run=_record)
    return parser


def _add_learner_commands(commands: Any) -> None:
    check = commands.add_parser("check", help="grade exercises")
    check.add_argument("numbers", **_SEVERAL)
    check.add_argument("--seed", type=int, help="seed of the random inputs")
    check.set_defaults(run=_check)

    watch = commands.add_parser("watch", help="grade exercises each time you save; Ctrl-C ends")
    watch.add_argument("numbers", **_SEVERAL)
    watch.add_argument("--seed", type=int, help="seed of the random inputs")
    watch.set_defaults(run=_watch)

    status = commands.add_parser("status", help="where you stand, and what is next")
    status.set_defaults(run=_status)

    hint = commands.add_parser("hint", help="a hint; each call goes one step further")
    hint.add_argument("number", **_ONE)
    region = "a region's name, a part of it, or its number; default: the first that is empty"
    hint.add_argument("--region", metavar="NAME", help=region)
    hint.add_argument("--level", type=int, choices=(1, 2, 3), help="1 nudge, 2 idea, 3 pseudocode")
    hint.set_defaults(run=_hint)

    solution = commands.add_parser("solution", help="the solution of an exercise that has passed")
    solution.add_argument("number", **_ONE)
    solution.add_argument("--give-up", action="store_true", help="show it before you have passed")
    solution.add_argument("--whole", action="store_true", help="the whole file, not its regions")
    solution.set_defaults(run=_solution)

    reset = commands.add_parser("reset", help="begin an exercise anew; your file is kept")
    reset.add_argument("number", **_ONE)
    reset.set_defaults(run=_reset)

    quiz = commands.add_parser("quiz", help="the questions at the end of a notebook")
    quiz.add_argument("notebook", type=int, metavar="N", help="the notebook's number")
    quiz.set_defaults(run=_quiz)


def _doctor(options: argparse.Namespace) -> int:
    from fdlib.doctor import examine, render

    report = examine()
    print(report.to_json() if options.json else render(report))
    return 0 if report.usable else 1


def _check(options: argparse.Namespace) -> int:
    from fdlib.course.attempt import attempt_shown
    from fdlib.course.catalogue import find
    from fdlib.course.reports import scores

    numbers = _numbers(options)
    verdicts = {}
    for number in numbers:
        verdicts[number] = attempt_shown(number, seed=options.seed)
        print(end="\n" * (len(numbers) > 1), flush=True)
    graded = [verdict for verdict in verdicts.values() if verdict]
    if len(numbers) > 1:
        missing = [find(number).module_name for number in numbers if not verdicts[number]]
        print(scores.score_table(graded, not_graded=missing))
    return 0 if len(graded) == len(numbers) and all(each.passed for each in graded) else 1


def _numbers(options: argparse.Namespace) -> list[int]:
    """The exercises that are asked for, each once; all if none is."""
    from fdlib.course.catalogue import EXERCISES, find

    asked = options.numbers or [exercise.number for exercise in EXERCISES]
    return [find(number).number for number in dict.fromkeys(asked)]


def _watch(options: argparse.Namespace) -> int:
    from fdlib.course.watch import watch

    try:
        watch(_numbers(options), seed=options.seed)
    except KeyboardInterrupt:
        print()
    return 0


def _status(options: argparse.Namespace) -> int:
    from fdlib.course.overview import status_text

    print(status_text())
    return 0


def _hint(options: argparse.Namespace) -> int:
    from fdlib.course.coach import hint_text

    print(hint_text(options.number, options.region, options.level))
    return 0


def _solution(options: argparse.Namespace) -> int:
    from fdlib.course.coach import solution_text

    print(solution_text(options.number, give_up=options.give_up, whole=options.whole))
    return 0


def _reset(options: argparse.Namespace) -> int:
    from fdlib.course.fresh import write_fresh

    print(write_fresh(options.number))
    return 0


def _quiz(options: argparse.Namespace) -> int:
    from fdlib.course.quizzes.text import run_in_terminal

    return 0 if run_in_terminal(options.notebook) else 1


def _build(options: argparse.Namespace) -> int:
    from fdlib.course.build import build
    from fdlib.course.catalogue import course_root

    root = course_root()
    if (root / "exercises").exists() and not (root / "exercises").is_dir():
        raise NotADirectoryError(f"{root / 'exercises'} is a file; a folder is expected there")
    report = build(root / "exercises", source=root / "solutions", check=options.check)
    if not options.check:
        print(report)
        return 0
    for name in report.drifted:
        print(f"exercises/{name} differs from what solutions/ gives")
    return 1 if report.drifted else 0


def _course(options: argparse.Namespace) -> int:
    from fdlib.course.catalogue import course_root
    from fdlib.course.notebooks import record, run_course

    paths = [Path(name) for name in options.notebooks]
    paths = paths or sorted((course_root() / "notebooks").glob("*.ipynb"))
    if not paths:
        raise FileNotFoundError(f"no notebooks in {course_root() / 'notebooks'}")
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise FileNotFoundError(f"no such notebook: {', '.join(missing)}")
    results = run_course(paths)
    if options.json:
        record(results, options.json)
    return 0 if all(result.ok for result in results) else 1


def _record(options: argparse.Namespace) -> int:
    from fdlib.record import record_run

    path = record_run(options.out, quick=options.quick, force=options.force)
    print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
