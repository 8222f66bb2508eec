"""Whole-process figures: `make bench-course`. It prints medians and asserts nothing.

Import and grading are repeated; the notebooks are executed once.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

from fdlib.course.catalogue import EXERCISES, solution_path

ROOT = Path(__file__).resolve().parents[1]
# Prints the state, and after how many seconds all values were known; compiling comes after that.
GRADE = """
import sys, time
started = time.perf_counter()
from fdlib.course.expect.check import COMPILES
from fdlib.course.grading.runner import check
known = []
def note(verdict):
    if all(c.outcome != "not run" for c in verdict.checks if c.name != COMPILES):
        known.append(time.perf_counter() - started)
verdict = check(int(sys.argv[1]), path=sys.argv[2], on_progress=note)
print(f"{verdict.state}, values after {known[0] if known else time.perf_counter() - started:.1f} s")
"""


def seconds(*arguments: str) -> tuple[float, str]:
    """Wall time of this Python with these arguments, from a fresh process, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    taken = time.perf_counter() - start
    return taken, done.stdout.strip() if done.returncode == 0 else f"exit code {done.returncode}"


def say(name: str, runs: list[float], note: str = "") -> None:
    spread = f"{min(runs):.3f} to {max(runs):.3f}"
    print(f"{name:<36}{statistics.median(runs):>9.3f} s   {spread:<20}{note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="repetitions of import and grading")
    parser.add_argument("--no-notebooks", action="store_true")
    options = parser.parse_args()
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} CPUs\n")
    print(f"{'':<36}{'median':>9}     spread")
    bare = [seconds("-c", "")[0] for _ in range(10)]
    fdlib = [seconds("-c", "import fdlib")[0] for _ in range(10)]
    say("python alone", bare)
    say("import fdlib (process)", fdlib)
    print(
        f"{'import fdlib (difference)':<36}{statistics.median(fdlib) - statistics.median(bare):>9.3f} s"
    )
    for exercise in EXERCISES:
        path = str(solution_path(exercise.number))
        runs = [seconds("-c", GRADE, str(exercise.number), path) for _ in range(options.runs)]
        say(f"grade {exercise.module_name}", [taken for taken, _ in runs], runs[-1][1])
    if not options.no_notebooks:
        taken, printed = seconds("-m", "fdlib", "course")
        print("\n" + printed)
        say("make course", [taken])


if __name__ == "__main__":
    main()
