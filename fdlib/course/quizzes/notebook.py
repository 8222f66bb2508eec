"""`quiz(3)` in a notebook: widgets where they run, and the same questions as text and HTML where not."""

from __future__ import annotations

import importlib.util
from typing import Any

from fdlib.course.quizzes import questions
from fdlib.course.quizzes.answers import pick
from fdlib.course.quizzes.static import quiz_html
from fdlib.course.quizzes.text import quiz_text
from fdlib.course.shell import in_notebook
from fdlib.xray.widgets.panel import VIEW

__all__ = ["quiz"]


def quiz(notebook: Any, *numbers: Any) -> None:
    """Show the quiz of a notebook, or only the questions with these numbers.

    Nothing is raised: a notebook or a question that is not there is told so.
    """
    try:
        numbers = numbers or tuple(range(1, len(questions(notebook)) + 1))
        for number in numbers:
            pick(notebook, number)
    except ValueError as error:
        print(error)
        return
    if in_notebook():
        _display(notebook, numbers)
    else:
        print(quiz_text(notebook, numbers))


def _display(notebook: int, numbers: tuple[int, ...]) -> None:
    """One output in up to three forms. A viewer takes the first that it can show."""
    from IPython.display import display

    forms: dict[str, Any] = {
        "text/plain": quiz_text(notebook, numbers),
        "text/html": quiz_html(notebook, numbers),
    }
    if importlib.util.find_spec("ipywidgets") is not None:
        from fdlib.course.quizzes.widgets import quiz_box

        model = quiz_box(notebook, numbers).model_id
        forms[VIEW] = {"version_major": 2, "version_minor": 0, "model_id": model}
    display(forms, raw=True)
