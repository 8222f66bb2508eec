"""Each notebook: clean in git, small cells, and it runs from top to bottom. What is committed is tested."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import committed
import nbformat
import pytest
from committed import code_cells, read

from fdlib.course.notebooks import run_notebook

MAX_CODE_LINES = 15
# All that JupyterLab writes when it opens and saves a notebook, but for the version of the reader's own Python.
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}
TEXTS = committed.notebooks()
WITHOUT_TRITON = (
    "00_start_here",
    "01_naive_attention",
    "02_online_softmax",
    "04_decode_bottleneck",
)
# A sitecustomize.py that hides an installed triton, as on macOS.
NO_TRITON = """
import sys
from importlib.machinery import PathFinder
class NoTriton(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] == "triton" else PathFinder.find_spec(name, path, target)
sys.meta_path = [NoTriton if finder is PathFinder else finder for finder in sys.meta_path]
"""

each_notebook = pytest.mark.parametrize("name", TEXTS, ids=lambda name: Path(name).stem)


def code_lines(source: str) -> list[str]:
    """Lines of code: neither blank nor comment only."""
    return [
        line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]


def test_numbers_follow_one_another():
    if not committed.as_files() and committed.committed_files("notebooks/") is None:
        pytest.skip("not a git checkout: some of the notebooks may have been run")
    assert [int(name[:2]) for name in TEXTS] == list(range(len(TEXTS)))
    assert min(TEXTS) == "00_start_here.ipynb"


@each_notebook
def test_valid(name):
    notebook = read(TEXTS[name], nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor >= 5) == (4, True)


@each_notebook
def test_no_outputs_and_no_counts(name):
    for cell in code_cells(TEXTS[name]):
        assert not cell.outputs, cell.source
        assert cell.execution_count is None, cell.source


@each_notebook
def test_metadata_is_what_lab_writes(name):
    """Opened and saved, not run, a notebook changes by no more than the version of the reader's Python."""
    assert read(TEXTS[name]).metadata == METADATA


@each_notebook
def test_cell_ids_are_unique(name):
    notebook = read(TEXTS[name], nbformat.NO_CONVERT)
    ids = [cell.get("id") for cell in notebook.cells]
    assert all(ids)
    assert len(set(ids)) == len(ids)


@each_notebook
def test_cells_are_small(name):
    for cell in code_cells(TEXTS[name]):
        assert len(code_lines(cell.source)) <= MAX_CODE_LINES, cell.source


@each_notebook
def test_no_kernel_is_defined_in_a_cell(name):
    for cell in code_cells(TEXTS[name]):
        assert not re.search(r"^\s*@(triton\.)?(jit|autotune)\b", cell.source, re.MULTILINE), (
            cell.source
        )


@each_notebook
def test_no_picture_is_embedded(name):
    for cell in read(TEXTS[name]).cells:
        assert not cell.get("attachments"), cell.source
        assert "data:image" not in cell.source, cell.source[:80]


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    return committed.write_course(tmp_path_factory.mktemp("course"))


@pytest.mark.notebook
@pytest.mark.timeout(600)
@each_notebook
def test_runs_to_its_end(course, name):
    path = course / "notebooks" / name
    before = path.read_bytes()
    result = run_notebook(path)
    assert result.ok, result.error
    assert result.cells == len([cell for cell in code_cells(before) if cell.source.strip()])
    assert not result.stderr, f"a learner would see this:\n{result.stderr}"
    assert path.read_bytes() == before


@pytest.mark.notebook
@pytest.mark.timeout(600)
@pytest.mark.parametrize("stem", WITHOUT_TRITON)
def test_runs_without_triton(course, tmp_path, monkeypatch, stem):
    if f"{stem}.ipynb" not in TEXTS:
        pytest.skip("not a git checkout, and this notebook was run")
    (tmp_path / "sitecustomize.py").write_text(NO_TRITON)
    paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    result = run_notebook(course / "notebooks" / f"{stem}.ipynb")
    assert result.ok, result.error


@pytest.fixture
def checkout(tmp_path):
    """A repository with one notebook; what commits it; what a learner then does: run it, save it, add another."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    path = tmp_path / "notebooks" / "00_start_here.ipynb"
    path.parent.mkdir()
    nbformat.write(notebook, path)
    clean = path.read_bytes()

    def commit() -> None:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
        for words in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "course")):
            subprocess.run(["git", "-C", tmp_path, *words], check=True)

    def learn() -> None:
        notebook.cells[0].execution_count = 1
        notebook.cells[0].source = "1 / 0"
        nbformat.write(notebook, path)
        nbformat.write(notebook, path.with_name("01_mine.ipynb"))

    return tmp_path, clean, commit, learn


def test_a_learner_s_notebooks_are_not_tested(checkout, monkeypatch):
    monkeypatch.delenv("NOTEBOOKS", raising=False)
    folder, clean, commit, learn = checkout
    commit()
    learn()
    assert committed.notebooks(folder) == {"00_start_here.ipynb": clean}


def test_without_git_a_notebook_that_was_run_is_not_tested(checkout, monkeypatch):
    monkeypatch.delenv("NOTEBOOKS", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(checkout[0].parent))
    folder, clean, _, learn = checkout
    assert committed.notebooks(folder) == {"00_start_here.ipynb": clean}
    learn()
    assert committed.notebooks(folder) == {}


def test_a_writer_s_files_are_tested_when_asked_for(checkout, monkeypatch):
    monkeypatch.setenv("NOTEBOOKS", "files")
    folder, clean, commit, learn = checkout
    commit()
    learn()
    assert committed.notebooks(folder)["00_start_here.ipynb"] != clean
