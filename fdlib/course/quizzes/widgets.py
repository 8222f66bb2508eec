"""The quiz as widgets, from what ipywidgets 7.7 and 8.1 have in common.

Both versions give a choice one line of fixed height and cut off what is longer. The style sheet lets
it wrap. Colours come from the reader's theme; a coloured edge only repeats what the words say.
"""

from __future__ import annotations

from html import escape
from typing import Any

from fdlib.course.quizzes import ManyOf, Number, OneOf, Question, questions, shown, task
from fdlib.course.quizzes.answers import Judgement, give
from fdlib.xray.draw.style import GREEN, VERMILION

__all__ = ["QuestionBox", "quiz_box"]

STYLE = """<style>
.fdlib-quiz, .fdlib-quiz .widget-html-content, .fdlib-quiz label, .fdlib-quiz button,
.fdlib-quiz input { font-size: var(--jp-content-font-size1, 14px) !important; line-height: 1.5; }
.fdlib-quiz .widget-html, .fdlib-quiz .widget-html-content { height: auto; }
.fdlib-quiz .widget-html-content p { margin: 0 0 0.4em 0; max-width: 76ch; }
.fdlib-quiz .widget-radio, .fdlib-quiz .widget-checkbox { height: auto; width: auto; }
.fdlib-quiz .widget-radio-box { height: auto; width: 100%; max-width: 80ch; margin: 0; }
.fdlib-quiz .widget-radio-box label, .fdlib-quiz .widget-checkbox label {
  display: flex; align-items: flex-start; width: 100%; max-width: 80ch; height: auto;
  margin: 0 0 0.3em 0; white-space: normal; overflow: visible; text-align: left; }
.fdlib-quiz .widget-radio-box input, .fdlib-quiz .widget-checkbox input {
  flex: none; width: auto; height: auto; margin: 0.35em 0.6em 0 0; }
.fdlib-quiz .widget-radio-box input { order: -1; }
.fdlib-quiz .widget-checkbox label { line-height: 1.5; }
.fdlib-quiz .widget-checkbox input { margin-top: 0.2em; }
.fdlib-quiz .widget-checkbox span { white-space: normal; overflow: visible; }
.fdlib-quiz .widget-text { height: auto; }
.fdlib-quiz .widget-text label { width: auto; max-width: none; }
.fdlib-quiz input:focus-visible, .fdlib-quiz button:focus-visible {
  outline: 2px solid currentColor; outline-offset: 2px; }
</style>"""


class QuestionBox:
    """One question: `box` holds the widgets. `choices`, `button` and `feedback` are what it is driven by."""

    def __init__(self, notebook: int, number: int, question: Question) -> None:
        import ipywidgets as widgets

        self.notebook, self.number, self.question = notebook, number, question
        self.choices = _choices(question)
        self.button = widgets.Button(
            description=f"Check question {number}",
            layout=widgets.Layout(width="auto", height="auto"),
        )
        self.feedback = widgets.HTML()
        self.button.on_click(self._check)
        for choice in self.choices:
            choice.observe(self._clear, names="value")
        row = widgets.HBox([self.button])  # keeps the button as wide as its words
        inside = [widgets.HTML(_head(number, question)), *self.choices, row, self.feedback]
        self.box = widgets.VBox(inside, layout=widgets.Layout(margin="0 0 16px 0"))

    def answer(self) -> Any:
        """What is chosen now, as `answer()` takes it."""
        if isinstance(self.question, ManyOf):
            letters = [letter for letter, _ in shown(self.question)]
            return [letter for letter, box in zip(letters, self.choices, strict=True) if box.value]
        return self.choices[0].value or ""

    def _check(self, _button: Any) -> None:
        try:
            self.feedback.value = _feedback(give(self.notebook, self.number, self.answer()))
        except ValueError as error:
            self.feedback.value = f'<div role="status"><p>{escape(str(error))}</p></div>'

    def _clear(self, _change: Any) -> None:
        """The words belong to the answer that was checked, not to the one that is chosen now."""
        self.feedback.value = ""


def quiz_box(notebook: int, numbers: tuple[int, ...]) -> Any:
    """A box with the questions of these numbers."""
    import ipywidgets as widgets

    found = questions(notebook)
    boxes = [QuestionBox(notebook, number, found[number - 1]).box for number in numbers]
    style = widgets.HTML(STYLE, layout=widgets.Layout(height="0", margin="0"))
    box = widgets.VBox([style, *boxes], layout=widgets.Layout(width="100%"))
    box.add_class("fdlib-quiz")
    return box


def _choices(question: Question) -> list[Any]:
    import ipywidgets as widgets

    if isinstance(question, Number):
        unit = f" ({question.unit})" if question.unit else ""
        text = widgets.Text(
            description=f"Your number{unit}:",
            style={"description_width": "initial"},
            layout=widgets.Layout(width="auto", max_width="30em"),
        )
        return [text]
    labels = [(f"{letter}) {choice.text}", letter) for letter, choice in shown(question)]
    wide = widgets.Layout(width="100%")
    if isinstance(question, OneOf):
        return [widgets.RadioButtons(options=labels, value=None, layout=wide)]
    return [
        widgets.Checkbox(description=label, value=False, indent=False, layout=wide)
        for label, _ in labels
    ]


def _head(number: int, question: Question) -> str:
    return (
        f"<p><b>Question {number}.</b> {escape(task(question))}</p><p>{escape(question.text)}</p>"
    )


def _feedback(judgement: Judgement) -> str:
    colour = GREEN if judgement.right else VERMILION  # both seen on light and dark
    reasons = "".join(f"<p>{escape(reason)}</p>" for reason in judgement.reasons)
    return (
        f'<div role="status" style="border-left: 5px solid {colour}; padding: 2px 0 2px 12px">'
        f"<p><b>{escape(judgement.verdict)}</b></p>{reasons}</div>"
    )
