"""Where kernels are compiled the trace comes from a child process, and is the same; so it is on other Tritons."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
SCRIPT = Path(__file__).with_name("traced_elsewhere.py")
STATES = Path(__file__).with_name("traced_states.py")
# Folders that hold another Triton each (pip install --target), with a numpy that fits if need be.
OTHERS = os.environ.get("FDLIB_OTHER_TRITONS", "").split()


def found(mode: str, *paths: str, script: Path = SCRIPT) -> dict:
    changes = {"TRITON_INTERPRET": mode, "CUDA_VISIBLE_DEVICES": ""}
    changes["PYTHONPATH"] = os.pathsep.join([*paths, str(SCRIPT.parents[2])])
    done = subprocess.run(
        [sys.executable, str(script)], env=os.environ | changes, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@functools.cache
def here() -> dict:
    return found("1")


def test_a_child_finds_the_same():
    compiled = found("0")
    assert compiled["traces"] == here()["traces"]
    assert compiled["errors"] == here()["errors"]


def test_a_child_has_what_the_function_depends_on():
    compiled = found("0", script=STATES)
    own, odd, stopped = (compiled.pop(name) for name in ("own", "odd", "stopped"))
    assert set(compiled.values()) == {"16 programs"}, compiled
    assert own == ["TraceError", "trace: fn raised Mine: my text"]
    assert odd == ["TraceError", "trace: fn raised Odd, whose text cannot be made"]
    assert stopped[0] == "KeyboardInterrupt"


def test_errors_come_back_as_they_are():
    outside, raised, nothing, of_a_class = here()["errors"]
    assert of_a_class[0] == "AttributeError" and "'Local' has no attribute" in of_a_class[1]
    assert outside[0] == "OutsideMemory" and "X: program (6, 0, 0) reads element 100" in outside[1]
    assert raised == ["LookupError", "no such thing: 0"]
    assert nothing[0] == "ValueError" and "got print, which launched no Triton kernel" in nothing[1]


@pytest.mark.parametrize("folders", OTHERS or [""])
def test_another_triton_finds_the_same(folders):
    if not folders:
        pytest.skip("FDLIB_OTHER_TRITONS names no folder")
    other = found("1", *folders.split(os.pathsep))
    assert other["triton"] != here()["triton"]
    assert other["traces"] == here()["traces"]
    assert other["errors"] == here()["errors"]
