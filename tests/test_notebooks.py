"""Each notebook: clean in git, small cells, and it runs from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from fdlib.course.notebooks import run_notebook

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
MAX_CODE_LINES = 15

each_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def code_cells(path: Path) -> list:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def code_lines(source: str) -> list[str]:
    """Lines of code: neither blank nor comment only."""
    return [
        line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]


def test_numbers_follow_one_another():
    numbers = [int(path.name[:2]) for path in PATHS]
    assert numbers == list(range(len(PATHS)))
    assert PATHS[0].stem == "00_start_here"


@each_notebook
def test_valid(path):
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor >= 5) == (4, True)


@each_notebook
def test_no_outputs_and_no_counts(path):
    for cell in code_cells(path):
        assert not cell.outputs, cell.source
        assert cell.execution_count is None, cell.source


@each_notebook
def test_kernel_is_the_environment_s(path):
    metadata = nbformat.read(path, as_version=4).metadata
    assert metadata.kernelspec.name == "python3"
    assert "widgets" not in metadata  # saved widget state is output


@each_notebook
def test_cell_ids_are_unique(path):
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    ids = [cell.get("id") for cell in notebook.cells]
    assert all(ids)
    assert len(set(ids)) == len(ids)


@each_notebook
def test_cells_are_small(path):
    for cell in code_cells(path):
        assert len(code_lines(cell.source)) <= MAX_CODE_LINES, cell.source


@each_notebook
def test_no_kernel_is_defined_in_a_cell(path):
    for cell in code_cells(path):
        assert not re.search(r"^\s*@(triton\.)?(jit|autotune)\b", cell.source, re.MULTILINE), (
            cell.source
        )


@each_notebook
def test_no_picture_is_embedded(path):
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("attachments"), cell.source
        assert "data:image" not in cell.source, cell.source[:80]


@pytest.mark.notebook
@pytest.mark.timeout(600)
@each_notebook
def test_runs_to_its_end(path):
    before = path.read_bytes()
    result = run_notebook(path)
    assert result.ok, result.error
    assert result.cells == len([cell for cell in code_cells(path) if cell.source.strip()])
    assert not result.stderr, f"a learner would see this:\n{result.stderr}"
    assert path.read_bytes() == before
