"""The quiz in plain text: printed questions, `answer()`, and a dialogue in a terminal."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from textwrap import fill
from typing import Any

from fdlib.course.quizzes import Number, OneOf, Question, questions, shown, task
from fdlib.course.quizzes.answers import Judgement, give
from fdlib.course.reports.document import TEXT_WIDTH

__all__ = ["answer", "call", "question_text", "quiz_text", "run_in_terminal", "words"]


class _Stop(Exception):
    """The learner leaves the quiz."""


def answer(notebook: Any, number: Any, value: Any) -> None:
    """Answer a question of a notebook's quiz: print whether it is right, and why.

    `value` is a letter ("b"), letters ("a c") or a number. Nothing is raised: an answer that cannot
    be read is told so.
    """
    try:
        print(words(give(notebook, number, value)))
    except ValueError as error:
        print(error)


def words(judgement: Judgement) -> str:
    """The verdict and its reasons, as lines."""
    return "\n".join(
        [judgement.verdict, *(fill(reason, TEXT_WIDTH) for reason in judgement.reasons)]
    )


def quiz_text(notebook: int, numbers: tuple[int, ...]) -> str:
    """The questions with these numbers, and how to answer each of them. No answers."""
    found = questions(notebook)
    blocks = []
    for number in numbers:
        question = found[number - 1]
        code, when = call(notebook, number, question)
        blocks.append(f"{question_text(number, question)}\n\nAnswer with  {code}  {when}")
    start = "from fdlib.course import answer"
    return "\n\n\n".join([*blocks, f"Before the first answer:  {start}"])


def question_text(number: int, question: Question) -> str:
    """One question with its choices."""
    lines = [f"Question {number}. {task(question)}", "", fill(question.text, TEXT_WIDTH)]
    if not isinstance(question, Number):
        lines.append("")
        for letter, choice in shown(question):
            lines.append(fill(f"{letter}) {choice.text}", TEXT_WIDTH, subsequent_indent="   "))
    return "\n".join(lines)


def call(notebook: int, number: int, question: Question) -> tuple[str, str]:
    """How to answer this question: code, and words that go on from it.

    The example says nothing about the right answer.
    """
    if isinstance(question, Number):
        return f"answer({notebook}, {number}, ...)", "and your number in place of the dots"
    example, chosen = ("a", "a") if isinstance(question, OneOf) else ("a b", "a and b")
    return f'answer({notebook}, {number}, "{example}")', f"if you choose {chosen}"


def run_in_terminal(
    notebook: int,
    input: Callable[[str], str] = builtins.input,
    print: Callable[[str], None] = builtins.print,
) -> bool:
    """Ask each question until it is answered rightly or left with an empty line.

    Returns whether all were answered rightly. Raises `ValueError` where there is no such notebook. A
    "q", or an end of the input, leaves the quiz.
    """
    results = []
    found = questions(notebook)
    try:
        for number, question in enumerate(found, start=1):
            print(f"{question_text(number, question)}\n")
            results.append(_ask(notebook, number, input, print))
    except (EOFError, _Stop):
        print("")
    print(f"Right: {sum(results)} of {len(found)}.")
    return sum(results) == len(found)


def _ask(
    notebook: int, number: int, input: Callable[[str], str], print: Callable[[str], None]
) -> bool:
    while given := input("Your answer (Enter: next question, q: stop): ").strip():
        if given.lower() == "q":
            raise _Stop
        try:
            judgement = give(notebook, number, given)
        except ValueError as error:
            print(f"{error}\n")
            continue
        print(f"{words(judgement)}\n")
        if judgement.right:
            return True
    return False
