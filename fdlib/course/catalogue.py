"""The list of exercises, and where their files lie."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = [
    "Exercise",
    "EXERCISES",
    "find",
    "find_by_path",
    "course_root",
    "exercise_path",
    "is_own",
    "records_folder",
    "solution_path",
]


@dataclass(frozen=True)
class Exercise:
    """One exercise; notebook, file and checks share its number."""

    number: int
    slug: str
    title: str
    notebook: str  # file name in notebooks/, without the suffix
    kind: Literal["torch", "triton", "python"]
    minutes: int  # for a first attempt
    difficulty: int  # 1 (easy) to 5

    @property
    def module_name(self) -> str:
        """The name of its file, without the suffix: `ex05_flash_decoding`."""
        return f"ex{self.number:02}_{self.slug}"

    @property
    def checks_module(self) -> str:
        """The module that holds its `CHECKS`."""
        return f"fdlib.course.checks.ex{self.number:02}"


EXERCISES: tuple[Exercise, ...] = (
    Exercise(
        1, "naive_attention", "Attention with a KV cache", "01_naive_attention", "torch", 25, 1
    ),
    Exercise(2, "online_softmax", "Softmax in one pass", "02_online_softmax", "torch", 30, 2),
    Exercise(
        3,
        "flash_attention",
        "The inner loop of FlashAttention",
        "03_flash_attention",
        "triton",
        50,
        4,
    ),
    Exercise(
        4, "decode_bottleneck", "Predict an idle GPU", "04_decode_bottleneck", "python", 25, 2
    ),
    Exercise(5, "flash_decoding", "The split-KV kernel", "05_flash_decoding", "triton", 60, 5),
    Exercise(6, "lse_combine", "The combine kernel", "06_lse_combine", "triton", 40, 3),
)


def find(number: int) -> Exercise:
    """The exercise with this number; raises `ValueError` if there is none."""
    for exercise in EXERCISES:
        if exercise.number == number:
            return exercise
    numbers = ", ".join(str(exercise.number) for exercise in EXERCISES)
    raise ValueError(f"exercise: got {number!r}, takes one of {numbers}")


def find_by_path(path: Path) -> Exercise:
    """The exercise that a file named `exNN_*.py` answers; raises `ValueError` for other names."""
    match = re.fullmatch(r"ex(\d+)_\w+\.py", path.name)
    if match is None:
        raise ValueError(f"path: got {path.name!r}, takes a file named like ex05_flash_decoding.py")
    return find(int(match[1]))


def course_root() -> Path:
    """The course's folder: at or above the working directory, else the one fdlib was installed from.

    It has `solutions/`, and `exercises/` or (where they are not made yet) `notebooks/`. Raises
    `FileNotFoundError` if there is none.
    """
    here = Path.cwd()
    checkout = Path(__file__).resolve().parents[2]
    for folder in (here, *here.parents, checkout):
        has_one = (folder / "exercises").is_dir() or (folder / "notebooks").is_dir()
        if has_one and (folder / "solutions").is_dir():
            return folder
    raise FileNotFoundError(
        f"the course's folder (with solutions/, and exercises/ or notebooks/) is not at or above "
        f"{here}, nor is it {checkout}; cd into your copy of the course"
    )


def exercise_path(number: int) -> Path:
    """The file in which the learner solves this exercise."""
    return course_root() / "exercises" / f"{find(number).module_name}.py"


def is_own(number: int, path: str | Path) -> bool:
    """Whether a file is the one in which the learner solves this exercise."""
    try:
        return os.path.realpath(path) == os.path.realpath(exercise_path(number))
    except FileNotFoundError:  # no folder of a course is near
        return False


def records_folder() -> Path:
    """Where progress and copies of replaced files are kept; raises `FileNotFoundError`."""
    return course_root() / ".fdlib"


def solution_path(number: int) -> Path:
    """The worked solution of this exercise."""
    return course_root() / "solutions" / f"{find(number).module_name}.py"
