"""Kill -9 at random moments what writes a learner's files, and look at the files after each kill.

Run by test_kill.py: `python kill_loop.py ROOT SEED KILLS`. Each victim is a fork of this process:
nothing is imported anew, so that hundreds take seconds. Torch is not needed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import fdlib.course.learner
from fdlib.course.attempt import attempt
from fdlib.course.build import generate
from fdlib.course.catalogue import exercise_path, solution_path
from fdlib.course.fresh import write_fresh
from fdlib.course.magic import exercise
from fdlib.course.progress import load, record_quiz

NUMBER = 4
SOLUTION = solution_path(NUMBER).read_text(encoding="utf-8")
FRESH = generate(SOLUTION, solution_path(NUMBER).name)


def learner_text(version: int) -> str:
    return f"{SOLUTION}# version {version}\n"


def save_cell(version: int) -> None:
    fdlib.course.learner.check = lambda *_, **__: None  # the save alone
    exercise(str(NUMBER), learner_text(version))


def answer_questions(version: int) -> None:
    for i in range(5):
        record_quiz(NUMBER, f"{version}-{i}", True)


seen: set[Path] = set()  # copies that were looked at
VICTIMS: dict[str, Callable[[int], object]] = {
    "reset": lambda version: write_fresh(NUMBER),
    "save": save_cell,
    "quiz": answer_questions,
    "check": lambda version: attempt(NUMBER),
}


def fork(work: Callable[[int], object], version: int) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        work(version)
        status = 0
    finally:
        os._exit(status)


def seconds_of(work: Callable[[int], object]) -> float:
    started = time.monotonic()
    assert os.waitpid(fork(work, 0), 0)[1] == 0
    return time.monotonic() - started


def kill_once(work: Callable[[int], object], version: int, delay_s: float) -> bool:
    """Whether it was killed before it had ended; what ended by itself ended well."""
    child = fork(work, version)
    time.sleep(delay_s)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def look(before: str, after: str, learners: str, answered: int) -> None:
    """The file is the old or the new text, the learner's is kept, the progress is whole."""
    now = exercise_path(NUMBER).read_bytes().decode("utf-8")
    assert now in (before, after), "the file is neither the old text nor the new"
    new = set(Path(".fdlib/backups").glob("ex*.py")) - seen
    kept = [path.read_text(encoding="utf-8") for path in new]
    seen.update(new)
    assert learners in (now, *kept), "the learner's text is lost"
    assert {*kept} <= {learners}, "a copy is not whole"
    if Path(".fdlib/progress.json").exists():
        json.loads(Path(".fdlib/progress.json").read_text(encoding="utf-8"))
    assert answers() >= answered, "an answer is lost"
    for folder in ("exercises", ".fdlib", ".fdlib/backups"):
        assert len(list(Path(folder).glob(".*.fdlib.tmp"))) <= 1, "temporary files pile up"


def answers() -> int:
    return len(load().quiz(NUMBER))


def main(root: str, seed: int, kills: int) -> None:
    os.chdir(root)
    chance = random.Random(seed)
    lasts = {name: seconds_of(work) for name, work in VICTIMS.items()}
    seen.update(Path(".fdlib/backups").glob("ex*.py"))
    killed = dict.fromkeys(VICTIMS, 0)
    version = 0
    while sum(killed.values()) < kills:
        version += 1
        learners = learner_text(version)
        exercise_path(NUMBER).write_text(learners, encoding="utf-8")
        name = chance.choices(list(VICTIMS), weights=(10, 10, 5, 1))[0]
        after = {"reset": FRESH, "save": learner_text(version + 5_000)}.get(name, learners)
        answered = answers()
        delay_s = chance.uniform(0, 1.1 * lasts[name])
        killed[name] += kill_once(VICTIMS[name], version + 5_000, delay_s)
        look(learners, after, learners, answered)
    for work in VICTIMS.values():  # after all this, each command works
        seconds_of(work)
    print(json.dumps(killed))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
