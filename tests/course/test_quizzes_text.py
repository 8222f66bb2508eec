"""The quizzes as text: printed, as static HTML, and in a terminal."""

from __future__ import annotations

import io
import re

import pytest

from fdlib.cli import main
from fdlib.course import quiz
from fdlib.course.quizzes import LETTERS, NOTEBOOKS, Number, questions
from fdlib.course.quizzes.answers import judge
from fdlib.course.quizzes.static import quiz_html
from fdlib.course.quizzes.text import quiz_text, run_in_terminal, words

pytestmark = pytest.mark.usefixtures("recorded")


@pytest.mark.parametrize("form", [quiz_text, quiz_html])
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_text_and_html_show_all_questions_and_no_answer(notebook, form):
    found = questions(notebook)
    text = " ".join(form(notebook, tuple(range(1, len(found) + 1))).split()).replace("<br> ", "")
    for number, question in enumerate(found, start=1):
        assert f"Question {number}." in text
        assert f"answer({notebook}, {number}, " in text
        if isinstance(question, Number):
            assert question.why not in text
        else:
            assert all(choice.why not in text for choice in question.choices)
            assert all(f"{letter}) " in text for letter in LETTERS)


def test_without_a_kernel_the_quiz_is_printed(capsys):
    quiz(3, 2)
    text = capsys.readouterr().out
    assert "Question 2." in text
    assert "Question 1." not in text


@pytest.mark.parametrize("call", [(7,), ("x",), (3, 9)])
def test_an_unknown_quiz_gets_a_sentence(call, capsys):
    quiz(*call)
    assert re.fullmatch(
        r"(There is no quiz|Notebook 3 has no question).*\n", capsys.readouterr().out
    )


def in_terminal(notebook, given):
    said, left = [], list(given)

    def ask(_prompt):
        if not left:
            raise EOFError
        return left.pop(0)

    return run_in_terminal(notebook, input=ask, print=said.append), "\n".join(said)


def test_the_terminal_asks_until_it_is_right():
    all_right, said = in_terminal(0, ["x", "b", "c", "16", "48", "a c"])
    assert all_right
    assert 'You gave "x".' in said
    assert words(judge(questions(0)[1], 16)) in said
    assert said.endswith("Right: 3 of 3.")


@pytest.mark.parametrize("given", [["c", "", ""], ["c"], ["c", "16"], ["c", "q"], ["c", " Q "]])
def test_the_terminal_may_be_left(given):
    all_right, said = in_terminal(0, given)
    assert not all_right
    assert said.endswith("Right: 1 of 3.")


def test_the_prompt_says_how_to_stop():
    asked = []
    run_in_terminal(0, input=lambda prompt: asked.append(prompt) or "q", print=lambda _: None)
    assert asked == ["Your answer (Enter: next question, q: stop): "]


@pytest.mark.parametrize(("given", "code"), [("c\n48\na c\n", 0), ("c\n\n\n", 1), ("", 1)])
def test_the_command(given, code, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    assert main(["quiz", "0"]) == code
    assert "Question 1." in capsys.readouterr().out


def test_the_command_with_an_unknown_notebook(capsys):
    assert main(["quiz", "9"]) == 2
    assert "There is no quiz for notebook 9." in capsys.readouterr().err
