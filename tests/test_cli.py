"""The `fdlib` command: exit codes, and that each subcommand does what it says."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from fdlib import cli
from fdlib.course import notebooks
from fdlib.course.catalogue import course_root


def write_notebook(path: Path, *sources: str) -> Path:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_markdown_cell("# Title")]
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(notebook, path)
    return path


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["check", "five"], ["exercises"]])
def test_wrong_command_line(argv, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(argv)
    assert stopped.value.code == 2
    assert "usage: fdlib" in capsys.readouterr().err


def test_help_needs_no_torch():
    code = (
        "import sys; from fdlib.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    )
    code += "assert not {'torch', 'triton', 'nbformat'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(
        word in done.stdout for word in ("doctor", "check", "hint", "reset", "exercises", "course")
    )


@pytest.mark.parametrize("usable", [True, False])
def test_doctor_s_exit_code(monkeypatch, capsys, usable):
    report = SimpleNamespace(usable=usable, to_json=lambda: "{}")
    monkeypatch.setattr("fdlib.doctor.examine", lambda: report)
    monkeypatch.setattr("fdlib.doctor.render", lambda _: "text")
    assert cli.main(["doctor"]) == (0 if usable else 1)
    assert cli.main(["doctor", "--json"]) == (0 if usable else 1)
    assert capsys.readouterr().out == "text\n{}\n"


def test_check_of_an_unknown_exercise(capsys):
    assert cli.main(["check", "99"]) == 2
    assert "99" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("the checks\ndo not run here"), "fdlib: the checks do not run here\n"),
        (PermissionError(13, "Permission denied", "/a/b"), "fdlib: /a/b: Permission denied\n"),
        (OSError(28, "No space left on device"), "fdlib: No space left on device\n"),
        (RuntimeError(), "fdlib: RuntimeError\n"),
    ],
)
@pytest.mark.parametrize(
    ("argv", "function"),
    [
        (["check", "5"], "fdlib.course.grading.runner.check"),
        (["exercises", "build"], "fdlib.course.build.build"),
        (["course"], "fdlib.course.notebooks.run_course"),
        (["doctor"], "fdlib.doctor.examine"),
    ],
)
def test_a_fault_of_the_machine_is_one_sentence(monkeypatch, capsys, argv, function, error, said):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(function, fail)
    assert cli.main(argv) == 1
    assert capsys.readouterr().err == said


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes them")
@pytest.mark.parametrize(
    ("closed", "streams"),
    [(">&-", "err"), ("2>&-", "out"), ("<&-", "out err"), ("<&- >&- 2>&-", "")],
)
def test_a_closed_stream_stands_nobody_in_the_way(tmp_path, closed, streams):
    """What a worker prints must not end up in a file that took the place of the closed stream."""
    for folder in ("solutions", "exercises"):
        (tmp_path / folder).mkdir()
        source = (course_root() / "solutions/ex04_decode_bottleneck.py").read_bytes()
        (tmp_path / folder / "ex04_decode_bottleneck.py").write_bytes(b"print('hello')\n" + source)
    command = f'"{sys.executable}" -m fdlib check 4 --seed 1 {closed}'
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])}
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ("passed, 10 of 10" in done.stdout) == ("out" in streams)
    progress = json.loads((tmp_path / ".fdlib/progress.json").read_text())
    assert progress["exercises"]["4"]["best"] == 10
    assert (tmp_path / ".fdlib/lock").read_bytes() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the folder")
@pytest.mark.parametrize("command", ["check", "reset", "hint", "solution", "watch"])
def test_a_working_directory_that_is_gone(tmp_path, monkeypatch, capsys, command):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert cli.main([command, "4"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("fdlib: the folder that you are in is not there any more; cd into")
    assert said.count("\n") == 1


@pytest.mark.parametrize("action", [["build"], ["build", "--check"]])
def test_a_file_in_the_place_of_exercises(tmp_path, monkeypatch, capsys, action):
    for name in ("solutions", "notebooks"):
        (tmp_path / name).mkdir()
    (tmp_path / "solutions" / "ex04_decode_bottleneck.py").touch()
    (tmp_path / "exercises").write_text("mine")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["exercises", *action]) == 1
    said = capsys.readouterr().err
    assert said == f"fdlib: {tmp_path / 'exercises'} is a file; a folder is expected there\n"
    assert (tmp_path / "exercises").read_text() == "mine"


def test_exercises_build_then_check_then_drift(tmp_path, monkeypatch, capsys):
    source = course_root() / "solutions"
    copy = tmp_path / "solutions"
    copy.mkdir()
    (tmp_path / "notebooks").mkdir()
    for path in source.glob("ex*.py"):
        (copy / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert cli.main(["exercises", "build", "--check"]) == 1
    assert cli.main(["exercises", "build"]) == 0
    assert cli.main(["exercises", "build", "--check"]) == 0
    edited = sorted((tmp_path / "exercises").glob("ex*.py"))[0]
    edited.write_text(edited.read_text() + "# mine\n")
    capsys.readouterr()
    assert cli.main(["exercises", "build", "--check"]) == 1
    assert edited.name in capsys.readouterr().out
    assert cli.main(["exercises", "build"]) == 0
    assert edited.read_text().endswith("# mine\n")


def test_course_without_the_notebook(capsys):
    assert cli.main(["course", "no/such.ipynb"]) == 2
    assert "no/such.ipynb" in capsys.readouterr().err


def test_course_reports_the_failing_notebook(tmp_path, capsys):
    good = write_notebook(
        tmp_path / "00_good.ipynb", "import pathlib", "print(pathlib.Path.cwd().name)", ""
    )
    bad = write_notebook(
        tmp_path / "01_bad.ipynb", "1 + 1", "raise ValueError('on purpose')", "2 + 2"
    )
    before = [path.read_bytes() for path in (good, bad)]
    out = tmp_path / "record.json"
    assert cli.main(["course", str(good), str(bad), "--json", str(out)]) == 1
    printed = capsys.readouterr().out
    assert "[1/2] 00_good" in printed
    assert "no: ValueError: on purpose" in printed
    recorded = json.loads(out.read_text())
    assert [(r["notebook"], r["cells"], r["ok"]) for r in recorded["notebooks"]] == [
        ("00_good.ipynb", 2, True),
        ("01_bad.ipynb", 2, False),
    ]
    assert {"platform", "gpu", "driver", "torch", "triton"} <= set(recorded)
    assert recorded["date"]
    assert [path.read_bytes() for path in (good, bad)] == before


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import os; os._exit(3)", "DeadKernelError"),
        ("import time; time.sleep(60)", "CellTimeoutError"),
    ],
)
def test_a_notebook_that_kills_or_hangs(tmp_path, source, error):
    path = write_notebook(tmp_path / "00_bad.ipynb", source)
    result = notebooks.run_notebook(path, cell_time_limit_s=10)
    assert not result.ok
    assert error in result.error


def test_unreadable_notebook(tmp_path):
    path = tmp_path / "00.ipynb"
    path.write_text("not json")
    assert not notebooks.run_notebook(path).ok


def test_progress_on_a_terminal_rewrites_its_line():
    out = io.StringIO()
    out.isatty = lambda: True
    on_cell = notebooks._progress("[1/1] 00", out)
    on_cell(1, 2)
    assert out.getvalue() == "\r\033[K[1/1] 00: cell 1 of 2"
