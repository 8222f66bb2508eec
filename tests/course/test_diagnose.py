"""A wrong answer is held against known mistakes, on the inputs on which it failed."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from fdlib.course.expect.check import Check, CheckContext
from fdlib.course.expect.compare import Mismatch, expect_close, expect_equal
from fdlib.course.expect.observe import Sight, look
from fdlib.course.grading.diagnose import Diagnoser, Diagnosis, agreement
from fdlib.course.mistakes import Mistake

SOLUTION = """
def mean(x):
    # >>> write: the mean
    total = x.sum()
    result = total / len(x)
    # <<<
    return result
"""


def mistake(name: str, find: str, replace: str, check: str = "mean") -> Mistake:
    return Mistake(name, check, ((find, replace),), f"{name} is done", "Because.", "Mean")


KNOWN = (
    mistake("a floor", "total / len(x)", "(total / len(x)).floor()"),
    mistake("no division", "total / len(x)", "total"),
    mistake("one too many", "len(x)", "(len(x) + 1)"),
    mistake("a crash", "x.sum()", "x.summ()", "large"),
)


def _mean(module: Any, context: CheckContext) -> None:
    for n in (3, 5, 1):
        x = torch.rand(n, 4, generator=context.generator()) * 10
        expect_close(module.mean(x), x.sum() / n, what="mean", case=f"n {n}", axes=())


CHECK = Check("mean", "The mean.", 1, _mean)
CONTEXT = CheckContext(seed=0, name="mean", mode="interpreter")


def diagnosed(body: str, known: tuple[Mistake, ...] = KNOWN) -> Diagnosis:
    module = ModuleType("mine")
    exec(f"def mean(x):\n    return {body}", module.__dict__)
    return Diagnoser(known, SOLUTION).explain(CHECK, CONTEXT, look(CHECK.run, module, CONTEXT))


def test_the_mistake_is_named_though_it_is_written_differently() -> None:
    found = diagnosed("x.flatten().cumsum(0)[-1]")
    assert (found.mistake, found.region, found.read) == ("no division", "the mean", "Mean")
    assert found.sentences == (
        "Your mean equals what you get when no division is done.",
        "Because.",
    )
    assert diagnosed("x.sum() / (x.shape[0] + 1)").mistake == "one too many"


def test_what_equals_no_known_mistake_is_not_given_a_name() -> None:
    found = diagnosed("x.sum() / len(x) * 1.25")
    assert found.mistake == ""
    assert found.sentences[0].startswith("In this case mean is wrong")
    assert found.sentences[-1] == "It equals none of the 4 known mistakes of this exercise."
    assert (
        diagnosed("x.sum() / len(x) * 1.25", known=())
        .sentences[0]
        .startswith("In this case mean is")
    )


def test_a_part_that_agrees_is_named_with_care() -> None:
    found = diagnosed("x.sum() if len(x) != 1 else x.sum() + 1")
    assert found.mistake == "no division"
    assert found.sentences[0].endswith("In other cases it differs: look for a second mistake.")


def test_nan_alone_names_nothing() -> None:
    known = (mistake("nan", "result = total / len(x)", "result = total * float('nan')"),)
    assert diagnosed("x.sum() * float('nan')", known).mistake == "nan"
    assert diagnosed("x.sum() * float('nan') if len(x) > 1 else x.sum() + 1", known).mistake == ""


def test_exceptions_are_left_to_their_own_words_and_crashing_mistakes_harm_nothing() -> None:
    assert diagnosed("x.nothing()") == Diagnosis()
    assert diagnosed("x.sum() * 7").mistake == ""


def test_a_changed_solution_loses_its_mistakes_only() -> None:
    known = (mistake("gone", "no such text", "x"), *KNOWN)
    assert diagnosed("x.sum()", known).mistake == "no division"
    assert "none of the 4" in diagnosed("x.sum() * 7", known).sentences[-1]


def test_the_time_for_diagnosis_is_limited() -> None:
    module: Any = SimpleNamespace(mean=lambda x: x.sum())
    found = Diagnoser(KNOWN, SOLUTION, budget_s=0).explain(
        CHECK, CONTEXT, look(CHECK.run, module, CONTEXT)
    )
    assert found.mistake == ""


def test_faults_are_compared_by_what_they_are() -> None:
    def fault(signature: tuple[object, ...], text: str) -> Sight:
        error = Mismatch(text)
        error.signature = signature
        return Sight(ended=error)

    assert agreement(fault(("load", "K", 7), "a"), fault(("load", "K", 7), "b")) == 1.0
    assert agreement(fault(("load", "K", 7), "a"), fault(("load", "V", 7), "a")) == 0.0
    assert agreement(Sight(ended=ValueError("x")), Sight()) == 0.0


def test_a_small_error_is_not_taken_for_another_small_error() -> None:
    def seen(off: torch.Tensor) -> Sight:
        def run(module: Any, context: CheckContext) -> None:
            want = torch.ones(64)
            expect_close(want + off, want, what="out", case="", axes=("dim",))

        return look(run, ModuleType("m"), CONTEXT)

    noise = torch.rand(64, generator=torch.Generator().manual_seed(1)) * 5e-5
    other = torch.rand(64, generator=torch.Generator().manual_seed(2)) * 5e-5
    assert agreement(seen(noise), seen(other)) == 0.0
    assert agreement(seen(noise), seen(noise * 1.001)) == 1.0


def test_outside_of_a_look_a_wrong_number_raises() -> None:
    with pytest.raises(Mismatch, match="bytes is wrong for a case"):
        expect_equal(1, 2, what="bytes", case="a case")
