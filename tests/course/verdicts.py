"""Verdicts of every kind, for the tests of what is shown."""

from __future__ import annotations

from dataclasses import replace

from fdlib.course.catalogue import exercise_path
from fdlib.course.grading.verdict import CheckResult, Compiled, Verdict

RIGHT = CheckResult("a", "The first thing.", 3, "passed")
WRONG = CheckResult("b", "The second thing.", 2, "failed", "out is wrong.\nFirst at head 3.")
FAILED = Verdict(
    5, "ex05_x", "Splits", "05_splits", "/h/ex05_x.py", "failed", (RIGHT, WRONG), 42, seconds=1.26
)
OWN = replace(FAILED, path=str(exercise_path(5)))
KNOWN = replace(
    WRONG,
    mistake="acc-not-rescaled",
    diagnosis="Your out equals what you get when acc is not rescaled.\nThe old maximum is gone.",
    region="the sum",
    read="The correction factor",
)
ALIKE = tuple(
    replace(KNOWN, name=name, title=f"Thing {name}.", message=f"out is wrong: {name} differ.")
    for name in "cd"
)
CUT = "It was still running after 60 s."
NOT_RUN = replace(RIGHT, name="n", outcome="not run")
HOSTILE = (
    "<script>alert(1)</script></pre></style> &amp; \x1b[31mred\x1b[0m \x1b]0;title\x07"
    "bell\x07 nul\x00 \u202egnp.exe\u200b back\x08 \udc80 " + "x" * 10_000
)
SPILLS = "96 bytes of registers are kept in memory."


_KERNEL = Compiled("A100", 80, "split_kernel", "", "", "", 49_152, 101_376, 128, 0)


def kernel(gpu: str, **changed: object) -> Compiled:
    return replace(_KERNEL, gpu=gpu, **changed)


COMPILED = (
    kernel("T4", error="There is no bfloat16 on a T4.", location="ex05_x.py:8: tl.dot(q, k)"),
    kernel("A100"),
    kernel("A100", kernel="combine_kernel", shared_bytes=1_536, registers=200),
    kernel("L4", warning=SPILLS, spill_bytes=96, setting="head_dim 128"),
    kernel("H100", warning=SPILLS, spill_bytes=96, setting="head_dim 128"),
)
NOISY = replace(WRONG, message=HOSTILE, location="ex05_x.py:3: " + HOSTILE, output=HOSTILE + "\n")
ALL = {
    "passed": replace(OWN, state="passed", checks=(RIGHT,), compiled=(kernel("A100"),)),
    "mistake": replace(OWN, checks=(RIGHT, KNOWN, *ALIKE, replace(WRONG, name="e"))),
    "printed": replace(
        OWN, checks=(replace(WRONG, output="hi\n" * 40),), output="hi\n" * 40, output_bytes=999
    ),
    "timed out": replace(
        OWN, state="timed out", checks=(RIGHT, replace(WRONG, message=CUT), NOT_RUN), message=CUT
    ),
    "not started": replace(OWN, state="not started", checks=(NOT_RUN,), empty=("the sum", "lse")),
    "compiled": replace(OWN, compiled=COMPILED),
    "hostile": replace(OWN, checks=(NOISY,), output=NOISY.output, title="T <b>", notes=("<i>",)),
}
GROWING = replace(OWN, state="missing", checks=(RIGHT, WRONG, NOT_RUN, replace(NOT_RUN, name="z")))
