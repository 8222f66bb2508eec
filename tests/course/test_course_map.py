"""The map says what the notebooks say of themselves."""

from __future__ import annotations

import re

import committed
import pytest

from fdlib.course.catalogue import EXERCISES
from fdlib.course.course_map import NOTEBOOKS, Notebook, course_map

TEXTS = committed.notebooks()

each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)


def first_cell(notebook: Notebook) -> str:
    name = f"{notebook.name}.ipynb"
    if name not in TEXTS:
        pytest.skip("not a git checkout, and this notebook was run")
    return committed.read(TEXTS[name]).cells[0].source


def test_every_notebook_is_on_the_map():
    assert set(TEXTS) <= {f"{notebook.name}.ipynb" for notebook in NOTEBOOKS}


@each_notebook
def test_the_question_is_the_first_heading(notebook):
    assert first_cell(notebook).splitlines()[0] == f"# {notebook.name[:2]}  {notebook.question}"


@each_notebook
def test_the_minutes_are_those_of_the_first_cell(notebook):
    """The cell gives reading and exercise, or both together."""
    time = re.search(r"Time: (.*?)\. Difficulty", first_cell(notebook), re.DOTALL)
    assert time, "no line `Time: ... Difficulty: ...`"
    said = [int(number) for number in re.findall(r"\b[1-9]\d+\b", time[1])]
    exercise = sum(e.minutes for e in EXERCISES if e.notebook == notebook.name)
    assert said in ([notebook.minutes, *filter(None, [exercise])], [notebook.minutes + exercise])


def test_a_row_links_the_notebook_and_adds_the_exercise():
    rows = course_map().splitlines()
    assert len(rows) == 2 + len(NOTEBOOKS)
    assert rows[2].endswith("| none | 20 |")
    assert rows[3] == (
        "| [01_naive_attention](01_naive_attention.ipynb) | Why is reading fast and writing slow? "
        "| 01 Attention with a KV cache | 40 + 25 |"
    )
