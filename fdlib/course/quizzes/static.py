"""The quiz as HTML without any program: for viewers that run no widgets. It shows no answers."""

from __future__ import annotations

from html import escape

from fdlib.course.quizzes import Number, Question, questions, shown, task
from fdlib.course.quizzes.text import call

__all__ = ["quiz_html"]


def quiz_html(notebook: int, numbers: tuple[int, ...]) -> str:
    """The questions with these numbers as HTML, and how to answer each of them."""
    found = questions(notebook)
    parts = [_question(notebook, number, found[number - 1]) for number in numbers]
    start = "from fdlib.course import answer"
    end = f"<p>Before the first answer, run <code>{start}</code> in a cell.</p>"
    return "\n".join(['<section aria-label="Quiz">', *parts, end, "</section>"])


def _question(notebook: int, number: int, question: Question) -> str:
    lines = [
        f"<p><b>Question {number}.</b> {task(question)}</p>",
        f"<p>{escape(question.text)}</p>",
    ]
    if not isinstance(question, Number):
        # letters are written out: a viewer may drop the type of a list
        rows = [f"{letter}) {escape(choice.text)}" for letter, choice in shown(question)]
        lines.append("<p>" + "<br>\n".join(rows) + "</p>")
    code, rest = call(notebook, number, question)
    lines.append(f"<p>To answer, run <code>{escape(code)}</code> {escape(rest)}.</p>")
    return "\n".join(lines)
