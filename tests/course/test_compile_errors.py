"""Triton's compiler says it, the learner understands it: real errors of kernels that do not compile."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fdlib.course.catalogue import course_root
from fdlib.course.grading.block_rules import BLOCK_RULES
from fdlib.course.grading.compile_errors import float32_dot_line
from fdlib.course.grading.compile_rules import FLOW_RULES

from . import broken_kernels
from .broken_kernels import CASES, line_of, text_of

RULES = (*FLOW_RULES, *BLOCK_RULES)
ROOT = Path(__file__).resolve().parents[2]
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="triton's compiler makes the errors"
)
pytestmark = pytest.mark.xdist_group("compile_errors")


@pytest.fixture(scope="module")
def explained() -> dict[str, Any]:
    """What a child process that compiles every kernel says about each."""
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "0",
        "PYTHONPATH": str(ROOT),
        "CUDA_VISIBLE_DEVICES": "",
    }
    child = subprocess.run(
        [sys.executable, "-W", "ignore", broken_kernels.__file__],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=250,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr[-3000:]
    return json.loads(child.stdout.splitlines()[-1])  # above it, Triton may print a kernel


@needs_triton
@pytest.mark.parametrize("case", CASES)
def test_an_error_in_the_learners_terms_with_their_line(
    explained: dict[str, Any], case: str
) -> None:
    found = explained[case]
    assert found is not None, "it compiles"
    for words in CASES[case][1]:
        assert words in found["message"], found
    assert re.search(r"\.py:(\d+): ", found["location"] + ": ")
    number = int(re.search(r"\.py:(\d+): ", found["location"])[1])
    if case == "undefined in a helper":
        assert found["location"].endswith("return x + not_there")
    else:
        assert number == line_of(case), found


@needs_triton
def test_no_sentence_shows_triton_s_inside(explained: dict[str, Any]) -> None:
    for case, found in explained.items():
        if case != "no rule":
            assert not re.search(r"constexpr\[|<\[|0x|Error\(", found["message"]), found


@needs_triton
def test_every_rule_is_met_by_a_real_error_or_a_warning(explained: dict[str, Any]) -> None:
    said = [found["raw"] for found in explained.values()]
    said += ["Logical operators 'and' and 'or' are deprecated for non-scalar tensors"]
    said += [found["message"] for found in explained.values()]
    missing = [rule.pattern for rule in RULES if not any(re.search(rule.pattern, s) for s in said)]
    assert missing in ([], [r"op operand #\d+ must be 1-bit signless integer"])  # from stderr


def test_the_headings_to_read_are_there() -> None:
    for rule in RULES:
        number, heading = re.fullmatch(r"(\d\d): (.+)", rule.read).groups()
        (notebook,) = (course_root() / "notebooks").glob(f"{number}_*.ipynb")
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        lines = [line.strip() for cell in cells for line in cell["source"]]
        assert any(re.fullmatch(rf"#+ (\d+\. )?{re.escape(heading)}", line) for line in lines)


def test_the_dot_without_a_precision_is_found() -> None:
    path = Path("ex03.py")
    assert float32_dot_line(path, text_of("dtypes of a dot")) == (
        f"ex03.py:{line_of('dtypes of a dot')}: y = tl.dot(a, h)"
    )
    assert float32_dot_line(path, text_of("precision")) == ""
