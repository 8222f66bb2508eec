from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fdlib.course import magic
from fdlib.course.build import generate
from fdlib.course.catalogue import exercise_path
from fdlib.course.progress import load

from .toy import ADD, SOLUTION, TOY_NAME

pytest.importorskip("IPython")
FRESH = generate(SOLUTION, TOY_NAME)
CUT = SOLUTION[: SOLUTION.index("    # >>> write: divide")]
WRONG = SOLUTION.replace(ADD, "        result -= value\n")


class Notebook:
    """An IPython shell; `run` gives a cell's text and prints what `%exercise` puts into the cell."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        self.shell = InteractiveShell.instance()
        self.shell.get_parent = lambda: {
            "metadata": {"cellId": self.cell},
            "content": {"code": self.code},
        }
        self.shell.set_next_input = self.set_next_input
        self.cell: str | None = "a"
        self.text = self.code = ""

    def set_next_input(self, text: str, replace: bool = False) -> None:
        assert replace
        self.text = text

    def run(self, text: str, cell: str | None = "a") -> None:
        self.cell, self.code = cell, text
        assert self.shell.run_cell(text).success


@pytest.fixture
def notebook(course: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setattr(magic, "_came_from", {})
    monkeypatch.setattr(magic, "_saved", set())
    notebook = Notebook()
    notebook.run("%load_ext fdlib.course")
    yield notebook
    type(notebook.shell).clear_instance()


@pytest.fixture
def backups(course: Path) -> Callable[[], list[str]]:
    folder = course / ".fdlib" / "backups"
    return lambda: sorted(path.read_text() for path in folder.glob("*"))


def test_the_cell_is_the_file(notebook: Notebook, capsys, backups) -> None:
    notebook.run("%exercise 91")
    assert notebook.text == f"%%exercise 91\n{FRESH.rstrip()}"
    before = exercise_path(91).stat().st_mtime_ns
    notebook.run(notebook.text)
    assert exercise_path(91).stat().st_mtime_ns == before
    said = capsys.readouterr().out
    assert "not started" in said
    assert "Saved" not in said
    notebook.run(f"%%exercise 91 --seed 7\n{WRONG}")
    said = capsys.readouterr().out
    assert f"Saved to exercises/{TOY_NAME}.\n" in said
    assert "failed, 1 of 6" in said
    assert "--seed 7" in said
    notebook.run(f"%%exercise 91\n{SOLUTION}\n\n")
    assert "passed, 6 of 6" in capsys.readouterr().out
    assert exercise_path(91).read_bytes() == SOLUTION.encode()
    assert backups() == []
    assert load().exercise(91).attempts == 2


def test_the_seed_travels_into_the_cell(notebook: Notebook) -> None:
    notebook.run("%exercise 91 --seed=7")
    assert notebook.text.startswith("%%exercise 91 --seed=7\n")


@pytest.mark.parametrize(
    "cell",
    [
        "x = 1\n%exercise 91",
        "%exercise 91\nprint(x)",
        "# my notes\n%exercise 91",
        "shown = %exercise 91",
        "for n in [91]:\n    get_ipython().run_line_magic('exercise', '91')",
    ],
)
def test_what_else_the_cell_holds_is_not_replaced(notebook: Notebook, capsys, cell: str) -> None:
    notebook.run("x = 1")
    notebook.run(cell)
    assert notebook.text == ""
    assert capsys.readouterr().out.startswith("Put `%exercise 91` alone in a cell")


@pytest.mark.parametrize("cell", ["\n %exercise 91\n\n", "exercise 91"])
def test_blank_lines_may_stand_around_it(notebook: Notebook, cell: str) -> None:
    notebook.run(cell)
    assert notebook.text.startswith("%%exercise 91\n")


def test_where_the_cell_is_not_known_nothing_is_replaced(notebook: Notebook, backups) -> None:
    shown = []
    notebook.shell.get_parent = lambda: {"metadata": {"cellId": "a"}}
    notebook.shell.set_next_input = lambda text, replace=False: shown.append((text, replace))
    exercise_path(91).write_text(WRONG)
    notebook.run("%exercise 91")
    assert shown == [(f"%%exercise 91\n{WRONG.rstrip()}", False)]
    notebook.run(f"%%exercise 91\n{SOLUTION}")
    assert backups() == [WRONG]  # this cell never showed it


def test_windows_line_ends_are_the_same_text(notebook: Notebook, capsys) -> None:
    exercise_path(91).write_bytes(SOLUTION.replace("\n", "\r\n").encode())
    notebook.run(f"%%exercise 91\n{SOLUTION}")
    assert "Saved" not in capsys.readouterr().out
    notebook.shell.run_cell_magic("exercise", "91", WRONG.replace("\n", "\r\n"))
    assert exercise_path(91).read_bytes() == WRONG.encode()


def test_an_edit_from_elsewhere_is_kept(notebook: Notebook, capsys, backups) -> None:
    notebook.run("%exercise 91")
    exercise_path(91).write_text(WRONG + "# mine\n")
    notebook.run(f"%%exercise 91\n{SOLUTION}")
    said = capsys.readouterr().out
    assert "held something that this cell does not come from. It is kept in .fdlib/backups/" in said
    assert backups() == [WRONG + "# mine\n"]
    assert exercise_path(91).read_text() == SOLUTION


@pytest.mark.parametrize("cells", [("a", "b"), (None, None)])
def test_what_another_cell_saved_is_kept(notebook: Notebook, cells, backups) -> None:
    notebook.run(f"%%exercise 91\n{WRONG}", cells[0])
    notebook.run(f"%%exercise 91\n{SOLUTION}", cells[1])
    assert backups() == [WRONG]


def test_a_new_kernel_keeps_what_it_finds(notebook: Notebook, monkeypatch, backups) -> None:
    notebook.run(f"%%exercise 91\n{WRONG}")
    monkeypatch.setattr(magic, "_came_from", {})
    notebook.run(f"%%exercise 91\n{WRONG}")
    assert backups() == []
    monkeypatch.setattr(magic, "_came_from", {})
    notebook.run(f"%%exercise 91\n{SOLUTION}")
    assert backups() == [WRONG]


def test_the_first_save_of_a_session_keeps_what_was_there(
    notebook: Notebook, capsys, backups
) -> None:
    exercise_path(91).write_text(WRONG)
    notebook.run("%exercise 91")
    for i in range(3):
        notebook.run("%%exercise 91\n" + WRONG.replace("-= value", f"-= {i}"))
    assert backups() == [WRONG]
    assert "your work from before this session. It is kept in" in capsys.readouterr().out


@pytest.mark.parametrize(
    "cut",
    [
        SOLUTION[: SOLUTION.rindex("    return total")],  # within the last region
        SOLUTION.replace(ADD, '        raise NotImplementedError("write: add the value")\n'),
        SOLUTION.replace(ADD, ""),
        SOLUTION.replace("    return result\n", ""),
        SOLUTION.replace("    # <<<\n", "", 1),
    ],
)
def test_what_a_known_cell_takes_away_is_kept(notebook: Notebook, cut: str, backups) -> None:
    notebook.run(f"%%exercise 91\n{SOLUTION}")
    notebook.run(f"%%exercise 91\n{cut}")
    assert exercise_path(91).read_text().strip() == cut.strip()
    assert backups() == [SOLUTION]


@pytest.mark.parametrize(
    ("line", "cell", "message"),
    [
        ("91", " \n\n", "This cell is empty and was not saved. `%exercise 91` shows"),
        ("91", "print(1)\n", '"# >>> write: add the value", "# >>> write: divide" of exercise'),
        ("91", CUT, 'This cell was not saved: it lacks "# >>> write: divide" of exercise 91.'),
        (
            "91",
            SOLUTION.replace("# >>> write: d", "# >>> write:  d"),
            'lacks "# >>> write: divide"',
        ),
        ("91", SOLUTION + "#" * 1_000_001, "longer than 1,000,000 bytes"),
        ("91", SOLUTION + "# \ud800", "it is no UTF-8 text"),
        ("92", SOLUTION, "exercise: got 92, takes one of 91"),
        ("", SOLUTION, "takes a number, as in `%exercise 5 --seed 7`"),
        ("91 --sed 3", SOLUTION, "takes a number, as in `%exercise 5 --seed 7`"),
    ],
)
def test_what_is_refused_is_saved_nowhere(
    notebook: Notebook, capsys, backups, line: str, cell: str, message: str
) -> None:
    exercise_path(91).write_text(WRONG)
    notebook.shell.run_cell_magic("exercise", line, cell)
    said = capsys.readouterr().out
    assert message in said
    assert said.count("\n") == 1
    assert exercise_path(91).read_text() == WRONG
    assert backups() == []


def test_a_cell_with_damaged_markers_is_still_the_learner_s(notebook: Notebook) -> None:
    damaged = SOLUTION.replace("    # <<<\n", "", 1)
    notebook.run(f"%%exercise 91\n{damaged}")
    assert exercise_path(91).read_text() == damaged


def test_outside_ipython_nothing_is_registered_or_imported() -> None:
    code = (
        "import sys, fdlib.course; assert not {'IPython', 'fdlib.course.magic'} & set(sys.modules)"
    )
    code += "; import IPython; import importlib; importlib.reload(fdlib.course)"
    code += "; assert 'fdlib.course.magic' not in sys.modules"
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True, timeout=60)


def test_importing_the_course_inside_ipython_registers_it() -> None:
    code = "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance()\n"
    code += "s.run_cell('from fdlib.course import check, hint, solution, status, reset')\n"
    code += "import sys; assert s.find_line_magic('exercise') and s.find_cell_magic('exercise')\n"
    code += "assert 'torch' not in sys.modules"
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True, timeout=60)
