"""pyproject.toml, constraints.txt, environment.yml, CI and README speak of the same versions."""

from __future__ import annotations

import re
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from fdlib import versions

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
PAIR = {"torch": "2.13.0", "triton": "3.7.1"}


def constraints() -> dict[str, Requirement]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    found = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    return {requirement.name: requirement for requirement in found}


def declared() -> dict[str, Requirement]:
    """What the package asks for, extras included."""
    return {r.name: r for r in map(Requirement, requires("fdlib")) if r.name != "fdlib"}


def pip_part() -> list[str]:
    return next(part["pip"] for part in ENVIRONMENT["dependencies"] if isinstance(part, dict))


def test_the_default_pair_is_pinned():
    for name, pinned in PAIR.items():
        assert str(constraints()[name].specifier) == f"=={pinned}"


@pytest.mark.parametrize("name", sorted(constraints()))
def test_constraints_lie_within_what_the_package_takes(name):
    assert name in declared(), f"{name} is constrained and nothing asks for it"
    lowest = re.search(r"[>=]=([\d.]+)", str(constraints()[name].specifier)).group(1)
    assert declared()[name].specifier.contains(lowest)


@pytest.mark.parametrize("name", sorted(declared()))
def test_every_requirement_has_a_constraint(name):
    assert name in constraints()


def test_colab_satisfies_the_package():
    for name, installed in (
        ("torch", "2.11.0"),
        ("triton", "3.6.0"),
        ("numpy", "2.1.3"),
        ("ipywidgets", "7.7.1"),
    ):
        assert declared()[name].specifier.contains(installed), name


def test_triton_is_asked_for_on_linux_only():
    marker = declared()["triton"].marker
    assert marker.evaluate({"sys_platform": "linux"})
    assert not marker.evaluate({"sys_platform": "darwin"})
    assert not marker.evaluate({"sys_platform": "win32"})


def test_conda_installs_what_make_installs():
    install = re.search(
        r"-m pip .*install (--constraint.*)", (ROOT / "Makefile").read_text()
    ).group(1)
    words = install.replace("$(PIP_ARGS)", "").replace("'", "").split()
    assert " ".join(pip_part()).split() == words
    names = [
        re.split("[=<>]", part)[0] for part in ENVIRONMENT["dependencies"] if isinstance(part, str)
    ]
    assert names == ["python", "pip"]


def test_conda_python_is_one_that_was_tried():
    python = next(p for p in ENVIRONMENT["dependencies"] if str(p).startswith("python="))
    found = tuple(int(part) for part in python.split("=")[1].split("."))
    assert versions.PYTHON_OLDEST <= found <= versions.PYTHON_NEWEST


def test_python_range_is_the_same_everywhere():
    oldest, newest = (
        ".".join(map(str, v)) for v in (versions.PYTHON_OLDEST, versions.PYTHON_NEWEST)
    )
    project = (ROOT / "pyproject.toml").read_text()
    assert f'requires-python = ">={oldest}"' in project
    classifiers = re.findall(r"Python :: (3\.\d+)", project)
    assert (classifiers[0], classifiers[-1]) == (oldest, newest)
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == classifiers
    checked = re.search(r"\((3, \d+)\) <= found <= \((3, \d+)\)", (ROOT / "Makefile").read_text())
    assert [tuple(map(int, group.split(","))) for group in checked.groups()] == [
        versions.PYTHON_OLDEST,
        versions.PYTHON_NEWEST,
    ]


@pytest.mark.parametrize("said", ["environment.yml", "constraints.txt", *PAIR.values()])
def test_readme_names_the_environment_and_the_pair(said):
    assert said in (ROOT / "README.md").read_text()


def test_this_environment_is_the_default_one_when_made_by_make():
    if not Path(sys.prefix, ".ready").exists():
        pytest.skip("this environment was not made by make")
    for name in constraints():
        if name == "triton" and sys.platform != "linux":
            continue
        assert SpecifierSet(str(constraints()[name].specifier)).contains(version(name)), name
