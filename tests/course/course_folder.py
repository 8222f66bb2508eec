"""A folder laid out like the course with one toy exercise, and pytest in a fresh process there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fdlib.course.build import build

from .toy import CHECKS, DIVIDE, SOLUTION, TOY_NAME

CONFTEST = """
from pathlib import Path
import fdlib.course.checks
from fdlib.course import catalogue

fdlib.course.checks.__path__.append(str(Path(__file__).parent / "toy_checks"))
catalogue.EXERCISES = (
    catalogue.Exercise(91, "toy_sum", "Add and average", "91_toy", "python", 5, 1),
)
"""


@pytest.fixture
def toy_course(tmp_path: Path) -> Path:
    files = {
        "pytest.ini": "[pytest]\ntestpaths = tests solutions\naddopts = -p no:cacheprovider\n",
        "conftest.py": CONFTEST,
        "toy_checks/ex91.py": CHECKS,
        f"solutions/{TOY_NAME}": SOLUTION,
        "tests/test_ordinary.py": "def test_ordinary():\n    pass\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    build(tmp_path / "exercises", source=tmp_path / "solutions")
    return tmp_path


def run_pytest(course: Path, *arguments: str) -> tuple[int, str]:
    paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = dict(
        os.environ,
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",  # the same whatever else is installed
        PYTHONPATH=os.pathsep.join(filter(None, paths)),
    )
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-p", "fdlib.course.pytest_plugin", *arguments]
    done = subprocess.run(
        command, cwd=course, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def solve(course: Path, divide: str = DIVIDE, name: str = f"exercises/{TOY_NAME}") -> None:
    (course / name).parent.mkdir(exist_ok=True)
    (course / name).write_text(SOLUTION.replace(DIVIDE, divide))
