"""The list of exercises, and where their files lie."""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

__all__ = [
    "Exercise",
    "EXERCISES",
    "find",
    "find_by_path",
    "module_of",
    "course_root",
    "exercise_path",
    "file_of",
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
        if exercise.number == number and type(number) is int:  # True equals 1, and 4.0 equals 4
            return exercise
    numbers = ", ".join(str(exercise.number) for exercise in EXERCISES)
    raise ValueError(f"exercise: got {number!r}, takes one of {numbers}")


def find_by_path(path: Path) -> Exercise:
    """The exercise that a file named `exNN_*.py` answers; raises `ValueError` for other names."""
    match = re.fullmatch(r"ex(\d+)_\w+\.py", path.name)
    if match is None:
        raise ValueError(f"path: got {path.name!r}, takes a file named like ex05_flash_decoding.py")
    return find(int(match[1]))


def module_of(exercise: Exercise, room: str) -> ModuleType | None:
    """The exercise's module in `fdlib.course.ROOM`, as its hints; None if there is none.

    What such a module raises passes through: one that is broken is not one that is not there.
    """
    name = f"fdlib.course.{room}.ex{exercise.number:02}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None


def course_root() -> Path:
    """The course's folder: at or above the working directory, else the one fdlib was installed from.

    It has `solutions/`, and `exercises/` or (where they are not made yet) `notebooks/`, and in one of
    them a file of the course: other projects have such folders too. Raises `FileNotFoundError` if
    there is none.
    """
    here = _here()
    checkout = Path(__file__).resolve().parents[2]
    for folder in (here, *here.parents, checkout):
        if _is_course(folder):
            return folder
    raise FileNotFoundError(
        f"the course's folder (with solutions/{EXERCISES[0].module_name}.py and the others, and "
        f"exercises/ or notebooks/) is not at or above {here}, nor is it {checkout}; cd into your "
        "copy of the course"
    )


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise FileNotFoundError(
            "the folder that you are in is not there any more; cd into your copy of the course"
        ) from None


def _is_course(folder: Path) -> bool:
    beside = (folder / "exercises").is_dir() or (folder / "notebooks").is_dir()
    if not beside or not (folder / "solutions").is_dir():
        return False
    names = [f"solutions/{each.module_name}.py" for each in EXERCISES]
    names += [f"exercises/{each.module_name}.py" for each in EXERCISES]
    names += [f"notebooks/{each.notebook}.ipynb" for each in EXERCISES]
    return any(os.path.lexists(folder / name) for name in names)


def exercise_path(number: int) -> Path:
    """The file in which the learner solves this exercise."""
    return course_root() / "exercises" / f"{find(number).module_name}.py"


def file_of(number: int, path: str | Path | None) -> Path:
    """The file to use for an exercise: this one, or without one the learner's own.

    Raises `ValueError` for an unknown exercise, or if the file's name says that it is another's.
    """
    find(number)
    if path is None:
        return exercise_path(number)
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ValueError(f"path: got {path!r}, takes the name of a file")
    file = _here() / path
    try:
        named = find_by_path(file).number
    except ValueError:  # any other name may be checked
        return file
    if named != number:
        raise ValueError(
            f"path: got {file.name}, a file of exercise {named}, for exercise {number}; "
            f"ask for exercise {named}, or rename the file"
        )
    return file


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
