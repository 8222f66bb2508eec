"""The questions of the quizzes, and how answers are judged."""

from __future__ import annotations

import math
import re

import pytest

from fdlib.course import answer
from fdlib.course.quizzes import LETTERS, NOTEBOOKS, ManyOf, Number, OneOf, questions, shown
from fdlib.course.quizzes.answers import give, judge

ALL = [(n, i, q) for n in NOTEBOOKS for i, q in enumerate(questions(n), start=1)]
each_question = pytest.mark.parametrize(
    ("notebook", "number", "question"), ALL, ids=[f"{n}-{i}" for n, i, _ in ALL]
)
CHOICES = [case for case in ALL if not isinstance(case[2], Number)]
NUMBERS = [case for case in ALL if isinstance(case[2], Number)]
each_choice_question = pytest.mark.parametrize(("notebook", "number", "question"), CHOICES)
each_number_question = pytest.mark.parametrize(("notebook", "number", "question"), NUMBERS)


pytestmark = pytest.mark.usefixtures("recorded")


def right_answer(question):
    if isinstance(question, Number):
        return question.value()
    return [letter for letter, choice in shown(question) if choice.right]


def wrong_answer(question):
    if isinstance(question, Number):
        return question.foreseen[0].value()
    return [letter for letter, choice in shown(question) if not choice.right][:1]


# The questions


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_each_notebook_has_two_to_four_questions_with_names_of_their_own(notebook):
    names = [question.name for question in questions(notebook)]
    assert 2 <= len(names) <= 4
    assert len(set(names)) == len(names)


@each_choice_question
def test_four_choices_each_explained(notebook, number, question):
    assert len(question.choices) == len(LETTERS)
    assert len({choice.text for choice in question.choices}) == 4
    assert len({choice.why for choice in question.choices}) == 4
    assert all(len(choice.why) > 20 for choice in question.choices)
    right = sum(choice.right for choice in question.choices)
    assert right == 1 if isinstance(question, OneOf) else 1 <= right <= 3


def test_the_right_choice_has_no_place_of_its_own():
    places = [right_answer(q)[0] for _, _, q in CHOICES if isinstance(q, OneOf)]
    assert set(places) == set(LETTERS)


@each_choice_question
def test_the_order_is_always_the_same(notebook, number, question):
    assert shown(question) == shown(question)
    assert [letter for letter, _ in shown(question)] == list(LETTERS)


def test_the_order_of_the_opening_question_is_that_of_every_run():
    assert [c.text for _, c in shown(questions(0)[0])] == [
        *("the batch", "the heads", "the keys", "the queries")
    ]


@each_number_question
def test_a_number_is_computed_and_its_foreseen_slips_are_wrong_and_told_apart(
    notebook, number, question
):
    assert callable(question.value)
    assert math.isfinite(question.value())
    values = [foreseen.value() for foreseen in question.foreseen]
    for at, foreseen in enumerate(question.foreseen):
        judgement = judge(question, values[at])
        assert not judgement.right
        assert judgement.reasons[0].endswith(foreseen.why)
    assert judge(question, question.value()).right
    assert not judge(question, question.value() * 1.0371).right


@each_number_question
def test_any_other_number_gets_a_direction(notebook, number, question):
    low, high = judge(question, -7.3), judge(question, 9.87e17)
    assert "too low" in low.reasons[0]
    assert "too high" in high.reasons[0]
    assert low.reasons[0].endswith(question.otherwise)


@each_question
def test_plain_text(notebook, number, question):
    texts = [question.text]
    if isinstance(question, Number):
        texts += [question.why, question.otherwise, *(f.why for f in question.foreseen)]
    else:
        texts += [text for c in question.choices for text in (c.text, c.why)]
    for text in texts:
        assert not re.search(r"[`$*]|</|\n|  ", text), text


# Judging


@each_question
def test_right_and_wrong_are_recorded_each_time(notebook, number, question, recorded):
    assert not give(notebook, number, wrong_answer(question)).right
    assert give(notebook, number, right_answer(question)).right
    assert give(notebook, number, right_answer(question)).right
    assert recorded == [(notebook, question.name, right) for right in (False, True, True)]


def test_a_choice_gets_its_own_words_only():
    question = questions(0)[0]
    for letter, choice in shown(question):
        judgement = judge(question, letter)
        assert judgement.reasons == (f"{letter}: {choice.why}",)
        assert judgement.verdict.startswith("Right." if choice.right else "Not right.")


def test_part_of_many_is_not_right_and_does_not_tell_which_is_missing():
    question = next(q for _, _, q in ALL if isinstance(q, ManyOf))
    first, second = right_answer(question)
    judgement = judge(question, first)
    assert not judgement.right
    assert judgement.reasons[-1] == "Something that is true is missing."
    assert not any(reason.startswith(f"{second} ") for reason in judgement.reasons)
    assert len(judge(question, [first, second]).reasons) == 4


@pytest.mark.parametrize("given", ["a c", "ac", "A, C", "a) c)", ["a", "c"], ("c", "a"), "a and c"])
def test_ways_to_write_letters(given):
    assert judge(questions(0)[2], given).right


@pytest.mark.parametrize("given", [48, 48.0, "48", " 48 programs", "4.8e1", "+48"])
def test_ways_to_write_a_number(given):
    assert judge(questions(0)[1], given).right


def test_thousands_may_be_separated():
    assert judge(questions(0)[1], "2,400,000").reasons == judge(questions(0)[1], 2_400_000).reasons


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ((0, 1, "e"), 'The choices are the letters a to d. You gave "e".'),
        ((0, 1, ""), "Choose a letter first."),
        ((0, 3, []), "Choose a letter first."),
        ((0, 1, "a b"), "Choose one letter. You gave 2."),
        ((0, 1, 2), 'Give letters in quotation marks, such as "b". You gave 2.'),
        ((0, 1, None), 'Give letters in quotation marks, such as "b". You gave None.'),
        ((0, 2, "many"), "Give one number, in programs, such as 12.5."),
        ((0, 2, "4,8"), "Give one number, in programs, such as 12.5."),
        ((0, 2, float("nan")), "Give one number, in programs, such as 12.5."),
        ((0, 2, float("inf")), "Give one number, in programs, such as 12.5."),
        ((0, 2, None), "Give one number, in programs, such as 12.5."),
        ((0, 2, True), "Give one number, in programs, such as 12.5."),
        ((2, 2, [1, 2]), "Give one number, such as 12.5."),
        ((0, 9, "a"), "Notebook 0 has no question 9. Its questions are 1 to 3."),
        ((0, 0, "a"), "Notebook 0 has no question 0. Its questions are 1 to 3."),
        ((7, 1, "a"), "There is no quiz for notebook 7. The notebooks are 0 to 6."),
        (("3", 1, "a"), "There is no quiz for notebook '3'. The notebooks are 0 to 6."),
        ((True, 1, "a"), "There is no quiz for notebook True. The notebooks are 0 to 6."),
    ],
)
def test_a_bad_answer_gets_a_sentence_and_is_not_recorded(call, sentence, capsys, recorded):
    answer(*call)
    assert capsys.readouterr().out == f"{sentence}\n"
    assert recorded == []
