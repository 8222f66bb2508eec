"""Read an answer, judge it, and say why. Every form of the quiz says these words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fdlib.course import progress
from fdlib.course.quizzes import Choice, ManyOf, Number, OneOf, Question, questions, shown

__all__ = ["Judgement", "give", "judge", "pick"]


@dataclass(frozen=True)
class Judgement:
    """Whether an answer is right, and the words about it: a verdict and one paragraph for each thing."""

    right: bool
    verdict: str
    reasons: tuple[str, ...]


def give(notebook: Any, number: Any, answer: Any) -> Judgement:
    """Judge an answer to question `number` of a notebook and record it in your progress.

    Raises `ValueError` with a sentence for a question that is not there or an answer that cannot be
    read. Nothing is recorded then.
    """
    question = pick(notebook, number)
    judgement = judge(question, answer)
    progress.record_quiz(notebook, question.name, judgement.right)
    return judgement


def pick(notebook: Any, number: Any) -> Question:
    """Question `number` of a notebook, counted from 1."""
    found = questions(notebook)
    if type(number) is not int or not 1 <= number <= len(found):
        raise ValueError(
            f"Notebook {notebook} has no question {number!r}. Its questions are 1 to {len(found)}."
        )
    return found[number - 1]


def judge(question: Question, answer: Any) -> Judgement:
    """Judge an answer. Raises `ValueError` with a sentence for one that cannot be read."""
    if isinstance(question, Number):
        return _judge_number(question, _read_number(question, answer))
    letters = _read_letters(answer)
    if isinstance(question, OneOf):
        if len(letters) != 1:
            raise ValueError(f"Choose one letter. You gave {len(letters)}.")
        (letter,) = letters
        choice = dict(shown(question))[letter]
        return Judgement(choice.right, _verdict(choice.right), (f"{letter}: {choice.why}",))
    return _judge_many(question, letters)


def _judge_many(question: ManyOf, letters: set[str]) -> Judgement:
    choices = shown(question)
    missing = any(choice.right and letter not in letters for letter, choice in choices)
    wrong = any(letter in letters and not choice.right for letter, choice in choices)
    right = not missing and not wrong
    # Once it is solved, what was rightly left out is explained too.
    explained = [(letter, choice) for letter, choice in choices if right or letter in letters]
    reasons = [_about(letter, choice) for letter, choice in explained]
    if missing:
        reasons.append("Something that is true is missing.")
    return Judgement(right, _verdict(right), tuple(reasons))


def _about(letter: str, choice: Choice) -> str:
    return f"{letter} is {'true' if choice.right else 'not true'}: {choice.why}"


def _judge_number(question: Number, number: float) -> Judgement:
    value = question.value()
    if _close(number, value, question.tolerance):
        why = f"It is {_words(value, question.unit)}. {question.why}"
        return Judgement(True, _verdict(True), (why,))
    you = f"{_words(number, question.unit)} is too {'high' if number > value else 'low'}. "
    for foreseen in question.foreseen:
        if _close(number, foreseen.value(), question.tolerance):
            return Judgement(False, _verdict(False), (you + foreseen.why,))
    return Judgement(False, _verdict(False), (you + question.otherwise,))


def _verdict(right: bool) -> str:
    return "Right." if right else "Not right. You can try again."


def _close(number: float, value: float, tolerance: float) -> bool:
    return math.isclose(number, value, rel_tol=max(tolerance, 1e-9))


def _words(number: float, unit: str) -> str:
    text = f"{number:,.0f}" if number == int(number) and abs(number) < 1e15 else f"{number:,.4g}"
    return f"{text}{unit}" if unit == "%" else f"{text} {unit}".rstrip()


def _read_letters(answer: Any) -> set[str]:
    """The letters of "b", "a c", "A, C" or ["a", "c"]."""
    if not isinstance(answer, str) and isinstance(answer, Iterable):
        answer = " ".join(map(str, answer))
    if not isinstance(answer, str):
        raise ValueError(f'Give letters in quotation marks, such as "b". You gave {answer!r}.')
    letters = re.sub(r"[\s,;.)(]+|\band\b", "", answer.lower())
    if not letters:
        raise ValueError("Choose a letter first.")
    unknown = sorted(set(letters) - set("abcd"))
    if unknown:
        raise ValueError(f'The choices are the letters a to d. You gave "{answer.strip()}".')
    return set(letters)


def _read_number(question: Number, answer: Any) -> float:
    if isinstance(answer, str):
        answer = _plain(answer, question.unit)
    try:
        number = math.nan if isinstance(answer, (bool, str, bytes)) else float(answer)
    except Exception:  # whatever a foreign type raises here, it is no number
        number = math.nan
    if not math.isfinite(number):
        unit = f", in {question.unit}" if question.unit else ""
        raise ValueError(f"Give one number{unit}, such as 12.5.")
    return number


def _plain(text: str, unit: str) -> Any:
    """The number that a text such as "1,024", "12.5 GB" or "3e9" says, or the text itself."""
    text = text.strip().replace("−", "-")
    if text.lower().endswith(unit.lower()):
        text = text[: len(text) - len(unit)].strip()
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", text):
        text = text.replace(",", "")
    if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", text, re.IGNORECASE):
        return float(text)
    return text
