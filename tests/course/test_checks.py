from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fdlib.course.catalogue import EXERCISES, Exercise
from fdlib.course.checks import Check, CheckContext, load_checks, validate


def _nothing(module: object, context: CheckContext) -> None:
    pass


def test_a_check_repeats_with_its_seed_and_differs_from_its_neighbour() -> None:
    first = CheckContext(seed=7, name="shapes", mode="interpreter")
    again = CheckContext(seed=7, name="shapes", mode="interpreter")
    other = CheckContext(seed=7, name="ragged", mode="interpreter")
    assert first.random().random() == again.random().random() != other.random().random()
    assert first.generator().initial_seed() == again.generator().initial_seed()


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ((), "got none"),
        ((Check("two words", "A title.", 1, _nothing),), "takes a slug"),
        ((Check("a", "A title.", 1, _nothing),) * 2, "used only once"),
        ((Check("a", "A title.", 0, _nothing),), "takes 1 or more"),
    ],
)
def test_unusable_checks_are_refused(checks: tuple[Check, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validate(checks)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.module_name)
def test_checks_are_usable(exercise: Exercise) -> None:
    for check in load_checks(exercise):
        assert check.title.endswith(".")


def test_importing_all_checks_imports_no_torch() -> None:
    code = (
        "import sys; from fdlib.course.catalogue import EXERCISES;"
        "from fdlib.course.checks import load_checks;"
        "[load_checks(exercise) for exercise in EXERCISES];"
        "assert not {'torch', 'triton', 'numpy', 'matplotlib'} & set(sys.modules)"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True, timeout=60)
