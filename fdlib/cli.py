"""The ``fdlib`` command: doctor, check, exercises, course. Each subcommand imports what it needs, when it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fdlib import __version__

__all__ = ["main", "repository"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code: 0 well, 1 a failure that was reported, 2 a wrong command line."""
    options = _parser().parse_args(argv)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except (FileNotFoundError, ValueError) as error:
        print(f"fdlib: {error}", file=sys.stderr)
        return 2
    except (RuntimeError, OSError) as error:
        print(f"fdlib: {_sentence(error)}", file=sys.stderr)
        return 1


def repository() -> Path:
    """Return the course's folder: the working directory or one above it, else the one that fdlib was installed from.

    Raises ``FileNotFoundError`` when none of them holds notebooks and solutions.
    """
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parent.parent):
        if (folder / "notebooks").is_dir() and (folder / "solutions").is_dir():
            return folder
    raise FileNotFoundError(
        "the course's folder (with notebooks/ and solutions/) was not found: cd into it"
    )


def _sentence(error: Exception) -> str:
    """One line: the system's errors without their number, any other as it stands."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fdlib", description="Flash-Decoding from first principles"
    )
    parser.add_argument("--version", action="version", version=f"fdlib {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    doctor = commands.add_parser("doctor", help="what this machine can do, and how to repair it")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.set_defaults(run=_doctor)

    check = commands.add_parser("check", help="grade one exercise")
    check.add_argument("number", type=int, metavar="N", help="the exercise's number")
    check.add_argument("--seed", type=int, help="seed of the random inputs")
    check.set_defaults(run=_check)

    exercises = commands.add_parser("exercises", help="make exercises/ from solutions/")
    actions = exercises.add_subparsers(required=True, metavar="ACTION")
    build = actions.add_parser("build", help="write exercises/")
    build.add_argument("--check", action="store_true", help="only compare; exit 1 if they differ")
    build.set_defaults(run=_build)

    course = commands.add_parser("course", help="execute notebooks headless")
    course.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help="default: all of them")
    course.add_argument("--json", metavar="OUT", help="record results, GPU, versions and date here")
    course.set_defaults(run=_course)
    return parser


def _doctor(options: argparse.Namespace) -> int:
    from fdlib.doctor import examine, render

    report = examine()
    print(report.to_json() if options.json else render(report))
    return 0 if report.usable else 1


def _check(options: argparse.Namespace) -> int:
    from fdlib.course.grading import runner
    from fdlib.course.reports import text

    seed = {} if options.seed is None else {"seed": options.seed}
    verdict = runner.check(options.number, **seed)
    print(text.render(verdict))
    return 0 if verdict.passed else 1


def _build(options: argparse.Namespace) -> int:
    from fdlib.course.build import build

    root = repository()
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
    from fdlib.course.notebooks import record, run_course

    paths = [Path(name) for name in options.notebooks]
    paths = paths or sorted((repository() / "notebooks").glob("*.ipynb"))
    if not paths:
        raise FileNotFoundError(f"no notebooks in {repository() / 'notebooks'}")
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise FileNotFoundError(f"no such notebook: {', '.join(missing)}")
    results = run_course(paths)
    if options.json:
        record(results, options.json)
    return 0 if all(result.ok for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
