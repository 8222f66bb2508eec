"""Kernels that do not compile, and a child process that compiles them and prints what the learner would read.

Each case: the body of a kernel (the fault is on its last line, or on the one marked `# <-`), and words that the
translation must hold. `test_compile_errors.py` reads them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from textwrap import indent

HEAD = """\
import math
import torch
import triton
import triton.language as tl

NEG_INF = float("-inf")


def twice(x):
    return x * 2


@triton.jit
def helper(x):
    return x + not_there


@triton.jit
def kernel(X, Y, H, n, scale, BLOCK: tl.constexpr, SIZE, one):
    offs = tl.arange(0, BLOCK)
    x = tl.load(X + offs)
    a = tl.load(X + offs[:, None] * BLOCK + offs[None, :])
    h = tl.load(H + offs[:, None] * BLOCK + offs[None, :])
"""
TAIL = """

def launch():
    x = torch.zeros(4096)
    kernel[(1,)](x, x, x.half(), 5, 0.5, BLOCK=16, SIZE=16, one=1)
"""
LOOP = "for i in range(0, n):\n    "
EIGHT = "s = tl.arange(0, 8)\nb = tl.load(X + offs[:, None] + s[None, :])\n"
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "break": (LOOP + "if i > 3:\n        break", ("`break` and `continue`", "right range")),
    "continue": (LOOP + "if i > 3:\n        continue", ("`break` and `continue`",)),
    "global": ("x = tl.where(offs < n, x, NEG_INF)", ("`NEG_INF`", "NEG_INF = tl.constexpr(")),
    "loop dtype": (
        f"m = 0\n{LOOP}m = m + tl.sum(x, 0)",
        ("`m` changes its type", "starts as int32 and becomes float32"),
    ),
    "loop shape": (
        f"acc = 0.0\n{LOOP}acc = acc + x  # <-\n    x = x * 2",
        ("`acc`", "float32 and becomes float32 [16]"),
    ),
    "loop rank": (
        f"acc = tl.zeros([BLOCK], tl.float32)\n{LOOP}acc = acc[:, None] + x[None, :]",
        ("becomes float32 [16, 16]",),
    ),
    "float64": (
        f"acc = x\n{LOOP}acc = acc * tl.full([BLOCK], 1.0, tl.float64)",
        ("float32 [16] and becomes float64 [16]",),
    ),
    "while": (
        "i = 0\nacc = 0.0\nwhile i < n:\n    i += 1\n    acc = acc + x",
        ("`acc` changes its type",),
    ),
    "while true": ("while True:  # <-\n    x = x + 1", ("`while True`", "range(...)")),
    "for in a list": ("for i in [1, 2]:  # <-\n    x = x + i", ("goes over range(...)",)),
    "float bounds": ("for i in range(0, n / 2):  # <-\n    x = x + 1", ("whole numbers", "`//`")),
    "static_range": ("for i in tl.static_range(0, n):  # <-\n    x = x + 1", ("unrolled",)),
    "return in an if in a loop": (LOOP + "if i > 3:  # <-\n        return", ("`return` from",)),
    "return in a loop": ("for i in range(0, n):  # <-\n    return", ("`return` from",)),
    "undefined": ("tl.store(Y + offs, not_there)", ("`not_there` has no value",)),
    "not imported": ("tl.store(Y + offs, x * np.inf)", ("`np` is not imported", "happens to know")),
    "undefined in a helper": ("x = helper(x)", ("`not_there` has no value",)),
    "one branch only": (
        "if n > 3:\n    y = x\ntl.store(Y + offs, y)",
        ("`y` has no value here on every path", "before the `if`"),
    ),
    "no such operation": ("x = tl.softplus(x)", ("`tl.softplus` does not exist",)),
    "if on a block": ("if x > 0:  # <-\n    x = x + 1", ("whole block", "tl.where")),
    "types per branch": (
        "if n > 3:  # <-\n    y = 1.0\nelse:\n    y = 1",
        ("`y` is float32 in one branch", "int32 in the other"),
    ),
    "a branch changes a type": (
        "y = x\nif n > 3:  # <-\n    y = 0",
        ("`y` is float32 [16] before the `if` and int32 in one",),
    ),
    "conditional expression": ("y = 1.0 if n > 3 else x", ("float32 on one", "float32 [16] on")),
    "chain": ("y = tl.where(2 < offs < n, x, 0.0)", ("(a <= x) & (x < b)",)),
    "small K": (EIGHT + "y = tl.dot(b, tl.trans(b))", ("tile that is too small", "K >= 16")),
    "dtypes of a dot": ("y = tl.dot(a, h)", ("float32 and one of float16", "p.to(v.dtype)")),
    "dot with a vector": ("y = tl.dot(x, a)", ("[M, K] and [K, N]",)),
    "dot that does not fit": (EIGHT + "y = tl.dot(b, b)", ("[M, K] and [K, N]",)),
    "precision": ("y = tl.dot(a, a, input_precision='full')", ("'full'", '"ieee"')),
    "twelve": ("o = tl.arange(0, 12)", ("power of two",)),
    "zeros of twelve": ("o = tl.zeros([12], tl.float32)", ("power of two",)),
    "a runtime length": ("o = tl.arange(0, n)", ("comes with the launch",)),
    "constexpr forgotten": ("o = tl.arange(0, SIZE)", ("SIZE: tl.constexpr",)),
    "a runtime shape": ("o = tl.zeros([n], tl.float32)", ("comes with the launch",)),
    "shapes": ("y = x + tl.arange(0, 8)", ("axis 0 one has 16 elements, the other 8",)),
    "shapes of a store": ("tl.store(Y + offs, a)", ("different shapes",)),
    "a block at one address": ("tl.store(Y, x)", ("one single address",)),
    "load of a value": ("y = tl.load(x)", ("tl.load got values",)),
    "mask of numbers": ("y = tl.load(X + offs, mask=offs)", ("not a condition",)),
    "other without mask": ("y = tl.load(X + offs, other=0.0)", ("no mask",)),
    "too large": ("y = tl.zeros([4096, 4096], tl.float32)", ("16777216 elements",)),
    "index": ("y = x[0]", ("lives in registers",)),
    "runtime index": ("y = x[n]", ("lives in registers",)),
    "slice": ("y = x[0:4]", ("lives in registers",)),
    "assignment to an element": ("x[0] = 1.0", ("lives in registers",)),
    "axis": ("y = tl.max(x, 1)", ("axis 1 does not exist",)),
    "math.exp": ("x = math.exp(x)", ("math.exp", "tl.exp")),
    "torch.exp": ("x = torch.exp(x)", ("calls `exp`", "@triton.jit")),
    "torch.where": ("x = torch.where(offs < n, x, 0.0)", ("calls `where`",)),
    "a Python function": ("x = twice(x)", ("calls `twice`", "put @triton.jit above")),
    "len": ("y = len(x)", ("A Python function",)),
    "float": ("y = float(n)", ("A Python function",)),
    "max": ("y = max(x)", ("A Python function",)),
    "keyword": ("y = tl.sum(x, dim=0)", ("`dim=`", "second argument")),
    "torch dtype": ("y = x.to(torch.float16)", ("x.to(tl.float16)",)),
    "dtype as text": ("y = x.to('float16')", ("type str",)),
    "text as a number": ("y = x + 'a'", ("type str",)),
    "text as other": ("y = tl.load(X + offs, offs < n, other='a')", ("type str",)),
    "None": ("y = x + None", ("type NoneType",)),
    "matmul": ("y = a @ a", ("tl.dot(a, b)",)),
    "power": ("y = x ** 2", ("x * x",)),
    "an argument that is 1": (
        "y = one.to(tl.int64)",
        ("`.to` is asked of a plain number", "integer argument that is 1"),
    ),
    "method": ("y = x.float()", ("has no `float`",)),
    "exp of an integer": ("y = tl.exp(n)", ("floating point", "int32")),
    "print": ("print(x)", ("tl.device_print",)),
    "f-string": ("print(f'x {x}')", ("tl.device_print",)),
    "static_assert": ("tl.static_assert(BLOCK > 64)", ("tl.static_assert says",)),
    "static_assert of a runtime value": ("tl.static_assert(n > 64)", ("when the kernel runs",)),
    "try": ("try:  # <-\n    x = x + 1\nexcept ValueError:\n    pass", ("no try",)),
    "raise": ("if n > 3:\n    raise ValueError('no')", ("no try, raise",)),
    "lambda": ("f = lambda t: t + 1", ("lambda",)),
    "comprehension": ("y = [x + i for i in range(3)]", ("comprehensions",)),
    "function": ("def f(t):  # <-\n    return t", ("functions inside it",)),
    "dictionary": ("d = {'a': x}", ("dictionaries",)),
    "in": ("if n in (1, 2):  # <-\n    x = x + 1", ("This piece of Python",)),
    "no rule": ("y = tl.program_id(3)", ("Triton does not compile it: program_id axis must be",)),
}  # fmt: skip


def text_of(case: str) -> str:
    return HEAD + indent(CASES[case][0], "    ") + "\n" + TAIL


def line_of(case: str) -> int:
    """The line of the fault."""
    body = CASES[case][0].split("\n")
    marked = [i for i, line in enumerate(body) if line.endswith("# <-")] or [len(body) - 1]
    return len(HEAD.splitlines()) + 1 + marked[0]


def main(folder: Path) -> None:
    from fdlib.course.grading.compile_errors import explain_compile_error, raw_message
    from fdlib.course.grading.compile_worker import _printed
    from fdlib.course.grading.loader import load_module
    from fdlib.xray.compiled import compiling_for

    answers = {}
    for number, case in enumerate(CASES):
        path, source = folder / f"kernel_{number}.py", text_of(case)
        path.write_text(source)  # Triton asks for the file's text as it reads the kernel
        module = load_module(path, path.stem, source)
        with _printed() as printed, compiling_for(80) as launches, suppress(Exception):
            module.launch()
        error = launches[-1].error
        why = explain_compile_error(error, path, source, printed()) if error else None
        answers[case] = {"raw": raw_message(error), **asdict(why)} if why else None
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(scratch))
