"""The end of a worker at its limit: where its threads were is written down, whatever they do."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

START = """
from fdlib.course.grading.deadline import end_at
end_at(0.5, open({trace!r}, "w", encoding="utf-8"))
"""
# numpy lets go of the interpreter in each of these calls, and takes it back at once.
NUMPY = """
import numpy as np
x = np.zeros(1000)
def busy():
    while True:
        np.exp(x)
busy()
"""


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("import time\ntime.sleep(60)", "5"),
        ("while True:\n    pass", "4|5"),
        (NUMPY, "9|10"),
        ("sum(range(10**12))", "4"),
        ("import threading\nthreading.Thread(target=input).start()\nthreading.Event().wait()", "6"),
    ],
    ids=["sleeps", "loops", "numpy", "one-long-call", "waits"],
)
def test_the_line_is_written_and_the_process_ends(tmp_path: Path, code: str, lines: str) -> None:
    trace, script = tmp_path / "trace.txt", tmp_path / "größe.py"
    script.write_text(textwrap.dedent(START.format(trace=str(trace)) + code), encoding="utf-8")
    ended = subprocess.run([sys.executable, script], timeout=60, stdin=subprocess.PIPE, check=False)
    text = trace.read_text(encoding="utf-8")
    assert ended.returncode == 1
    assert text.startswith("Timeout (")
    assert re.search(rf'File "[^"]*gr\\xf6\\xdfe.py", line ({lines}) in ', text)
