"""The Makefile's targets, what they refuse, and that README, CI and Makefile speak of the same commands."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = {"help", "lab", "test", "gate", "course", "lint", "bench-course", "exercises", "clean"}
VARIABLES = {"PYTHON", "PORT", "BROWSER", "PIP_ARGS", "PYTEST_ARGS"}

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run make as from a fresh terminal: the make that runs these tests hands its variables down."""
    ours = {*VARIABLES, "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL"}
    environment = {k: v for k, v in os.environ.items() if k not in ours}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def small_copy(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def stand_in(path: Path, script: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def commands_in(text: str) -> list[str]:
    """`make ...` inside code: fenced blocks and backticks."""
    code = re.findall(r"```.*?```|`[^`\n]+`", text, flags=re.DOTALL)
    return [c.strip() for part in code for c in re.findall(r"\bmake (?!-C)[^`\n#&|;]*", part)]


def test_targets_exist():
    assert set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, flags=re.MULTILINE)) == TARGETS
    phony = re.search(r"^\.PHONY: (help .*)$", MAKEFILE, flags=re.MULTILINE).group(1)
    assert set(phony.split()) == TARGETS


@needs_make
def test_help_names_every_target_and_variable():
    printed = make("help").stdout
    assert all(f"make {target}" in printed for target in TARGETS)
    assert all(f"{variable}=" in printed for variable in VARIABLES)


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", ".ci/run", ".github/workflows/ci.yml"]
)
def test_commands_that_are_named_exist(name):
    text = (ROOT / name).read_text()
    commands = commands_in(text) if name.endswith(".md") else re.findall(r"\bmake [a-z-]+", text)
    assert commands
    for command in commands:
        _, *words = shlex.split(command)
        assert {word for word in words if "=" not in word} <= TARGETS, command
        assert {word.split("=")[0] for word in words if "=" in word} <= VARIABLES, command


def test_readme_opens_with_the_two_commands():
    first = [command.split()[1] for command in commands_in((ROOT / "README.md").read_text())[:2]]
    assert first == ["lab", "test"]


@needs_make
def test_lab_command():
    printed = make("-n", "lab", "BROWSER=0", "PORT=8899").stdout
    lab = [line for line in printed.splitlines() if "jupyterlab" in line][-1]
    assert "--no-browser" in lab
    assert "--ServerApp.port=8899" in lab
    assert "--ServerApp.port_retries=0" in lab
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in lab
    assert f'--ServerApp.root_dir="{ROOT}"' in lab
    plain = make("-n", "lab").stdout
    assert "--no-browser" not in plain
    assert "port_retries" not in plain
    assert printed.index("fdlib doctor") < printed.index("-m jupyterlab")


@needs_make
def test_lab_s_own_terminals_find_the_environment():
    lab = next(s for s in make("-n", "lab").stdout.splitlines() if "-m jupyterlab" in s)
    assert lab.startswith(f'PATH="{ROOT}/.venv/bin:$PATH" ')


@needs_make
def test_lab_s_settings_are_json_that_turns_the_news_off(tmp_path):
    venv = tmp_path / "venv"
    target = "share/jupyter/lab/settings/overrides.d/fdlib.json"
    done = make("-o", f"{venv}/.ready", f"VENV={venv}", f"{venv}/{target}")
    assert done.returncode == 0, done.stderr
    settings = json.loads((venv / target).read_text())
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


@needs_make
@pytest.mark.parametrize("port", ["99999", "65536", "0", "-1", "", "abc", "80.5"])
def test_a_port_that_cannot_be(tmp_path, port):
    done = make("lab", f"PORT={port}", folder=small_copy(tmp_path))
    assert done.returncode != 0
    assert f"PORT: got '{port}', takes a number from 1 to 65535" in done.stderr
    assert len((done.stdout + done.stderr).splitlines()) == 1
    assert not (tmp_path / ".venv").exists()


@needs_make
@pytest.mark.parametrize("port", ["1", "8888", "65535"])
def test_a_port_that_can_be(port):
    assert f"--ServerApp.port={port} " in make("-n", "lab", f"PORT={port}").stdout


PRETEND = "import sys; sys.version_info = (3, 14, 0); exec(sys.argv[1])"
NO_PYTHONS = {
    "too new": f'case "$1" in -c) shift; exec {sys.executable} -c \'{PRETEND}\' "$@";; esac',
    "says nothing": "exit 0",
    "fails": "exit 1",
    "a shim of nothing": 'echo "pyenv: python3.9: command not found" >&2; echo "Try"; exit 127',
    "none": None,
    "empty": None,
}


@needs_make
@pytest.mark.parametrize("case", NO_PYTHONS)
@pytest.mark.parametrize("made", [True, False])
def test_python_that_does_not_fit(tmp_path, case, made):
    """A Python out of range, or none: one sentence, and nothing is made or lost."""
    folder = small_copy(tmp_path)
    python = {"none": "no-such-python", "empty": ""}.get(case)
    if python is None:
        python = stand_in(tmp_path / "a folder" / "python", NO_PYTHONS[case])
    if made:
        stand_in(folder / ".venv" / "bin" / "python", 'echo "Python 3.12.1"')
        (folder / ".venv" / ".ready").touch()
    done = make("test", f"PYTHON={python}", folder=folder)
    assert done.returncode != 0
    said = [
        line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("make")
    ]
    assert len(said) == 1, said
    assert "3.10 to 3.13" in said[0]
    assert (folder / ".venv" / ".ready").exists() is made


@pytest.fixture
def fake_install(tmp_path):
    """A copy in which `python` only notes what it was asked; `broken` in the folder makes pip fail."""
    folder = small_copy(tmp_path)
    log = folder / "log"
    python = folder / "python"
    stand_in(
        python,
        f'echo "$@" >> "{log}"\n'
        'case "$1 $2" in\n'
        '-V*) echo "Python 3.12.1";;\n'
        "-c*) echo fits;;\n"
        '"-m venv") shift 2; [ "$1" = --clear ] && shift; rm -rf "$1"; mkdir -p "$1/bin"; '
        f'cp "{python}" "$1/bin/python";;\n'
        f'"-m pip") [ ! -e "{folder}/broken" ] || exit 1;;\n'
        "esac",
    )
    stamp = folder / ".venv" / ".ready"

    def install():
        log.write_text("")
        done = make(".venv/.ready", f"PYTHON={python}", folder=folder)
        lines = log.read_text().splitlines()
        asked = {
            "venv": any(line.startswith("-m venv") for line in lines),
            "pip": any("-m pip" in line and " install " in line for line in lines),
        }
        return done, asked, stamp.exists()

    return folder, install


@needs_make
def test_install_once_and_again_when_the_pins_change(fake_install):
    folder, install = fake_install
    done, asked, ready = install()
    assert (done.returncode, ready) == (0, True), done.stderr
    assert asked == {"venv": True, "pip": True}
    assert [line for line in done.stdout.splitlines() if "minutes" in line] == [done.stdout.strip()]
    assert install()[1] == {"venv": False, "pip": False}
    newer = (folder / ".venv" / ".ready").stat().st_mtime + 10
    os.utime(folder / "constraints.txt", (newer, newer))
    assert install()[1] == {"venv": False, "pip": True}


@needs_make
def test_an_interrupted_install_starts_again_from_nothing(fake_install):
    folder, install = fake_install
    (folder / "broken").touch()
    (folder / ".venv" / "bin").mkdir(parents=True)
    done, _, ready = install()
    assert done.returncode != 0
    assert not ready
    (folder / "broken").unlink()
    done, asked, ready = install()
    assert (done.returncode, ready) == (0, True)
    assert asked == {"venv": True, "pip": True}
    assert "anew" in done.stdout


@needs_make
def test_a_venv_whose_python_is_gone_is_made_again(fake_install):
    folder, install = fake_install
    install()
    (folder / ".venv" / "bin" / "python").unlink()
    done, asked, ready = install()
    assert (done.returncode, ready, asked["venv"]) == (0, True, True)


def test_constraints_are_always_used_and_no_host_is_named():
    assert "--constraint constraints.txt" in MAKEFILE
    for name in ("Makefile", ".ci/run", "environment.yml", "constraints.txt", "pyproject.toml"):
        assert not re.search(r"https?://", (ROOT / name).read_text()), name
