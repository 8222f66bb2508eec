"""The quizzes: what a question is, and the questions of each notebook.

The questions stand in the modules nb00, nb01, ... as plain data. `answers` judges an answer; `text`,
`static` and `widgets` show the same words in three ways.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "LETTERS",
    "NOTEBOOKS",
    "Choice",
    "Foreseen",
    "ManyOf",
    "Number",
    "OneOf",
    "Question",
    "questions",
    "shown",
    "task",
]

LETTERS = "abcd"
NOTEBOOKS = range(7)


@dataclass(frozen=True)
class Choice:
    """One answer to choose, and what is said to whoever chooses it."""

    text: str
    why: str
    right: bool = False


@dataclass(frozen=True)
class OneOf:
    """A question with four choices, of which one is right. `name` is its name in your progress."""

    name: str
    text: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class ManyOf:
    """A question with four choices, of which one to three are right."""

    name: str
    text: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Foreseen:
    """A wrong number that a known slip gives, and what the slip is."""

    value: Callable[[], float]
    why: str


@dataclass(frozen=True, kw_only=True)
class Number:
    """A question whose answer is a number. It is computed, never typed. A plain number has the unit "".

    `tolerance` is relative to the number; 0 asks for exactly it. `otherwise` is said to a wrong
    number that none of `foreseen` explains.
    """

    name: str
    text: str
    unit: str
    value: Callable[[], float]
    why: str
    foreseen: tuple[Foreseen, ...]
    otherwise: str
    tolerance: float = 0.0


Question = OneOf | ManyOf | Number


def questions(notebook: Any) -> tuple[Question, ...]:
    """The questions of one notebook. Raises `ValueError` where there is no such notebook.

    >>> [type(question).__name__ for question in questions(6)]
    ['Number', 'OneOf', 'ManyOf']
    """
    if type(notebook) is not int or notebook not in NOTEBOOKS:
        raise ValueError(
            f"There is no quiz for notebook {notebook!r}. "
            f"The notebooks are {NOTEBOOKS[0]} to {NOTEBOOKS[-1]}."
        )
    module = importlib.import_module(f"{__name__}.nb{notebook:02d}")
    found: tuple[Question, ...] = module.QUESTIONS
    return found


def shown(question: OneOf | ManyOf) -> list[tuple[str, Choice]]:
    """The choices with their letters, in the order in which they are shown: shuffled, always alike."""
    choices = list(question.choices)
    random.Random(question.name).shuffle(choices)
    return list(zip(LETTERS, choices, strict=True))


def task(question: Question) -> str:
    """What kind of answer the question takes, in words."""
    if isinstance(question, Number):
        return f"Give a number ({question.unit})." if question.unit else "Give a number."
    return "Choose one." if isinstance(question, OneOf) else "Choose all that are true."
