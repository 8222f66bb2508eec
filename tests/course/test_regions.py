from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fdlib.course.regions import (
    RegionError,
    empty_regions,
    is_not_started,
    outside,
    regions,
    skeleton,
)

from .toy import ADD, DIVIDE, KERNEL, SOLUTION


def test_regions_have_names_lines_and_bodies() -> None:
    first, second = regions(SOLUTION)
    assert (first.name, first.start_line, first.end_line) == ("add the value", 8, 10)
    assert first.indent == " " * 8
    assert first.body == ADD.rstrip("\n")
    assert second.name == "divide"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# >>> write: a\nx = 1\n", "line 1: the region 'a' has no '# <<<'"),
        ("x = 1\n# <<<\n", "line 2: '# <<<' closes no region"),
        (
            "# >>> write: a\n# >>> write: b\n# <<<\n# <<<\n",
            "line 2: a region opens inside 'a', which opened at line 1",
        ),
        (
            "# >>> write: a\n# <<<\n# >>> write: a\n# <<<\n",
            "line 3: the name 'a' is taken by line 1",
        ),
        ("# >>> a\n# <<<\n", "line 1: got '# >>> a', takes '# >>> write: NAME'"),
        ('# >>> write: "a"\n# <<<\n', "no quote or backslash"),
        ("# >>> write: a\n  # <<<\n", "line 2: takes '# <<<' alone, indented like line 1"),
    ],
)
def test_wrong_markers_are_named_with_their_lines(text: str, message: str) -> None:
    with pytest.raises(RegionError) as error:
        regions(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# >>> write: a\nx = 1\n# <<<\n", "line 1: the region 'a' is not inside a function"),
        ("def f():\n    pass\n    # >>> write: a\n    # <<<\n", "line 3: the region 'a' holds no"),
        (
            "def f(x):\n    # >>> write: a\n    if x:\n    # <<<\n        return 1\n",
            "line 5 of the skeleton: unexpected indent",
        ),
    ],
)
def test_a_region_that_cannot_be_removed_is_refused(text: str, message: str) -> None:
    with pytest.raises(RegionError) as error:
        skeleton(text)
    assert message in str(error.value)


def test_skeleton_replaces_bodies_and_nothing_else() -> None:
    text = skeleton(SOLUTION)
    assert '        raise NotImplementedError("write: add the value")\n' in text
    assert ADD not in text
    assert DIVIDE not in text
    assert outside(text) == outside(SOLUTION)
    assert outside(text.replace("result = 0", "result = 1")) != outside(SOLUTION)


def test_empty_regions_are_known_without_running() -> None:
    text = skeleton(SOLUTION)
    assert empty_regions(text) == ("add the value", "divide")
    assert is_not_started(text)
    assert empty_regions(SOLUTION) == ()
    assert not is_not_started(SOLUTION)


@pytest.mark.parametrize("body", ["", "        # some thoughts\n", "\n\n"])
def test_a_region_without_code_is_empty(body: str) -> None:
    text = SOLUTION.replace(ADD, body)
    assert empty_regions(text) == ("add the value",)
    assert not is_not_started(text)


def test_code_before_a_placeholder_leaves_the_region_empty() -> None:
    placeholder = '        raise NotImplementedError("write: add the value")\n'
    assert empty_regions(SOLUTION.replace(ADD, ADD + placeholder)) == ("add the value",)


def test_with_damaged_markers_the_placeholders_count() -> None:
    text = skeleton(SOLUTION).replace("# <<<\n", "", 1)
    assert empty_regions(text) == ("add the value", "divide")


def test_a_file_without_regions_is_not_called_unstarted() -> None:
    assert not is_not_started("x = 1\n")


def test_the_placeholder_in_a_kernel_is_an_assertion() -> None:
    text = skeleton(KERNEL)
    assert '    tl.static_assert(False, "write: twice the value")\n' in text
    assert '    raise NotImplementedError("write: the grid")\n' in text
    assert empty_regions(text) == ("twice the value", "the grid")


RUN = """
import torch, kernel
from triton.compiler import ASTSource, compile
from triton.backends.compiler import GPUTarget
from fdlib.device import interpreting

try:
    if interpreting():
        kernel.double[(1,)](torch.zeros(16), N=16)
    else:
        source = ASTSource(kernel.double, {"x": "*fp32", "N": "constexpr"}, {"N": 16})
        compile(source, target=GPUTarget("cuda", 90, 32))
except Exception as error:
    print(interpreting(), type(error).__name__, error)
"""


@pytest.mark.parametrize("interpret", ["1", "0"], ids=["interpreted", "compiled"])
def test_an_empty_kernel_says_what_to_write(tmp_path: Path, interpret: str) -> None:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("kernels need triton")
    (tmp_path / "kernel.py").write_text(skeleton(KERNEL))
    (tmp_path / "run.py").write_text(RUN)
    paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = dict(
        os.environ, TRITON_INTERPRET=interpret, PYTHONPATH=os.pathsep.join(filter(None, paths))
    )
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    expected = "True InterpreterError" if interpret == "1" else "False CompileTimeAssertionFailure"
    assert done.stdout.startswith(expected), done.stderr
    assert "write: twice the value" in done.stdout
