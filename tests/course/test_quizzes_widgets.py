"""The quiz as widgets, driven as a reader drives it, and its other forms in a notebook."""

from __future__ import annotations

import html
import importlib.util
import re
from types import SimpleNamespace

import pytest

from fdlib.course.quizzes import NOTEBOOKS, ManyOf, Number, OneOf, questions, shown
from fdlib.course.quizzes import notebook as in_notebook
from fdlib.course.quizzes.answers import judge

widgets = pytest.importorskip("ipywidgets")
from fdlib.course.quizzes.widgets import QuestionBox, quiz_box  # noqa: E402

ALL = [(n, i, q) for n in NOTEBOOKS for i, q in enumerate(questions(n), start=1)]
each_question = pytest.mark.parametrize(
    ("notebook", "number", "question"), ALL, ids=[f"{n}-{i}" for n, i, _ in ALL]
)


pytestmark = pytest.mark.usefixtures("recorded")


def answers(question):
    """Answers of all kinds to one question, as they are chosen."""
    if isinstance(question, Number):
        return [*(f"{f.value()}" for f in question.foreseen), f"{question.value()}"]
    letters = [letter for letter, _ in shown(question)]
    return letters if isinstance(question, OneOf) else [["a"], ["b", "c"], ["a", "d"], letters]


def choose(box, answer):
    if isinstance(box.question, ManyOf):
        for (letter, _), choice in zip(shown(box.question), box.choices, strict=True):
            choice.value = letter in answer
    else:
        box.choices[0].value = answer


def said(box) -> list[str]:
    return [html.unescape(re.sub("<[^>]*>", "", p)) for p in box.feedback.value.split("</p>")[:-1]]


@each_question
def test_each_answer_gets_the_words_of_the_text_form(notebook, number, question, recorded):
    box = QuestionBox(notebook, number, question)
    for answer in answers(question):
        choose(box, answer)
        assert said(box) == []  # the words on the answer before are gone
        box.button.click()
        judgement = judge(question, answer)
        assert said(box) == [judgement.verdict, *judgement.reasons]
        assert recorded[-1] == (notebook, question.name, judgement.right)


@each_question
def test_nothing_chosen_is_told_so(notebook, number, question, recorded):
    box = QuestionBox(notebook, number, question)
    box.button.click()
    (sentence,) = said(box)
    assert sentence.startswith(("Choose a letter", "Give one number"))
    assert recorded == []


@each_question
def test_every_control_has_a_name(notebook, number, question):
    box = QuestionBox(notebook, number, question)
    assert box.button.description == f"Check question {number}"
    if isinstance(question, OneOf):
        labels = [label for label, _ in box.choices[0].options]
    else:
        labels = [choice.description for choice in box.choices]
    assert all(labels)
    if not isinstance(question, Number):
        assert labels == [f"{letter}) {choice.text}" for letter, choice in shown(question)]


def test_only_widgets_that_both_versions_have():
    for notebook in NOTEBOOKS:
        numbers = tuple(range(1, len(questions(notebook)) + 1))
        waiting = [quiz_box(notebook, numbers)]
        while waiting:
            widget = waiting.pop()
            waiting += getattr(widget, "children", ())
            known = ("VBox", "HBox", "HTML", "RadioButtons", "Checkbox", "Text", "Button")
            assert type(widget).__name__ in known


@pytest.fixture
def displayed(monkeypatch):
    """What `quiz` shows where a kernel runs."""
    pytest.importorskip("IPython")
    shown_forms: list[dict] = []
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr("IPython.display.display", lambda forms, raw: shown_forms.append(forms))
    return shown_forms


def test_a_notebook_gets_widgets_and_what_to_show_where_they_do_not_run(displayed):
    in_notebook.quiz(3)
    (forms,) = displayed
    assert set(forms) == {"text/plain", "text/html", in_notebook.VIEW}
    assert forms[in_notebook.VIEW]["model_id"]


def test_a_kernel_without_ipywidgets_gets_text(displayed, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "ipywidgets" else find(name)
    )
    in_notebook.quiz(3)
    assert set(displayed[0]) == {"text/plain", "text/html"}
