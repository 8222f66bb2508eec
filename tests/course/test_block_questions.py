"""A Python question to a whole block is refused under the interpreter; one to a single value is answered."""

from __future__ import annotations

import pytest

from fdlib import device
from fdlib.course.catalogue import find
from fdlib.course.checks import load_checks
from fdlib.course.expect.block_questions import BlockQuestion
from fdlib.course.expect.check import CheckContext
from fdlib.course.expect.observe import Sight, look
from fdlib.xray.causes import causes

from .answers import edited, load_text

pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(
    not device.interpreting(), reason="only Triton's interpreter can be watched"
)

VISIBLE = "visible & (offs_n[None, :] <= len_kv - len_q + offs_m[:, None])"
RULE = "offs_n[None, :] <= len_kv - len_q + offs_m[:, None]"


def run(name: str, edits: str) -> Sight:
    """What a check of exercise 3 says about the solution with these edits."""
    check = next(each for each in load_checks(find(3)) if each.name == name)
    context = CheckContext(seed=0, name=name, mode="interpreter")
    return look(check.run, load_text(3, edited(3, edits)), context)


@pytest.mark.parametrize(
    "question",
    [
        f"visible and {RULE}",  # right by chance: the right side implies the left
        f"({RULE}) or visible",
        f"({RULE}) if visible else visible",
        "0 <= offs_n[None, :] <= len_kv - len_q + offs_m[:, None]",
        f"visible & ({RULE}) & (not visible)",
    ],
)
def test_a_question_to_a_block_is_refused(question):
    sight = run("causal", f"{VISIBLE} | {question}")
    found = [each for each in causes(sight.ended) if isinstance(each, BlockQuestion)]
    assert found and str(found[0]).startswith("The kernel asks a whole block for one yes or no")
    assert "tl.where" in str(found[0])


def test_a_question_to_one_value_is_answered():
    assert run(
        "one-block",
        "qk = tl.where( | if start < len_kv and len_kv > 0:\n            qk = tl.where(",
    ).passed


def test_the_interpreter_is_as_it_was_afterwards():
    from triton.runtime import interpreter

    before = interpreter._patch_lang_tensor
    run("one-block", f"{VISIBLE} | visible")
    assert interpreter._patch_lang_tensor is before
