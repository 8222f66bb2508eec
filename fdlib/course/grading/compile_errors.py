"""Triton's compiler errors, in the learner's terms.

Driven by what Triton says (tests/course/test_compile_errors.py makes it say it): `compile_rules.py`
and `block_rules.py` have the sentences. What no rule knows is shown as Triton wrote it, with the learner's line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fdlib.course.expect.check import HIDES
from fdlib.course.grading.block_rules import BLOCK_RULES
from fdlib.course.grading.compile_rules import FLOW_RULES
from fdlib.course.grading.loader import explain, kernel_line, location, printable
from fdlib.course.regions import is_jit
from fdlib.xray.causes import causes

__all__ = [
    "Explained",
    "call_line",
    "explain_compile_error",
    "float32_dot_line",
    "raw_message",
    "translate",
]

_LONGEST_QUOTED = 100_000  # characters: Triton may print a kernel before it says what is wrong


@dataclass(frozen=True)
class Explained:
    """Why a kernel does not compile."""

    message: str  # what happened, why the interpreter let it pass, what to do: a sentence a line
    location: str  # the learner's line, or ""
    read: str  # a heading, as `Check.read` has it


def explain_compile_error(
    error: BaseException, path: Path, source: str, printed: str = ""
) -> Explained:
    """An exception from compiling the learner's file at `path`; `printed` is stderr meanwhile."""
    message = raw_message(error)
    where = explain(error, path)[1]
    if reported := re.search(rf"{re.escape(str(path))}:(\d+):\d+: error: (.*)", printed):
        where, message = location(path, int(reported[1]), source), reported[2]
    text, read = translate(message)
    if better := _better_line(error, message, path, source):
        where = better
    return Explained(text, where, read)


def raw_message(error: BaseException) -> str:
    """Triton's own last sentence: of the deepest cause, without the code that it quotes."""
    message = type(error).__name__
    for cause in causes(error):
        text = str(getattr(cause, "error_message", None) or "")
        if not text and not hasattr(cause, "node"):
            text = printable(cause, _LONGEST_QUOTED)
        elif not text:
            text = type(cause).__name__
        message = text or message
    wrapped = re.fullmatch(r"""\w+\((["'])(.*)\1\)""", message.strip(), re.DOTALL)
    return wrapped[2].replace("\\'", "'") if wrapped else message.strip()


def translate(message: str) -> tuple[str, str]:
    """(the sentences, the heading to read) for what Triton said."""
    for rule in (*FLOW_RULES, *BLOCK_RULES):
        if found := re.search(rule.pattern, message):
            names = [_readable(group or "") for group in found.groups()]
            lines = (rule.what, rule.passes, rule.do)
            return "\n".join(line.format(*names) for line in lines if line), rule.read
    return f"Triton does not compile it: {message.splitlines()[0] if message else '?'}", HIDES


def _readable(name: str) -> str:
    """A type as Triton prints it, <['16', '32'], fp32>, as the course writes it: float32 [16, 32]."""
    name = re.sub(r"constexpr\[(\d+)\]", r"\1", name)
    if block := re.fullmatch(r"<\[(.*)\], (\w+)>", name):
        name = f"{block[2]} [{block[1]}]".replace("'", "")
    elif block := re.fullmatch(r"(\w+)\[(.*)\]", name):
        name = f"{block[1]} [{block[2]}]" if block[2] else block[1]
    return re.sub(r"\bfp(\d+)\b", r"float\1", name)


def _better_line(error: BaseException, message: str, path: Path, source: str) -> str:
    """A line nearer to the fault than the one that Triton names."""
    if loop := re.search(r"Loop-carried variable (\w+) ", message):
        for cause in causes(error):
            for line in reversed(list(_assigned(getattr(cause, "node", None), loop[1]))):
                return kernel_line(getattr(cause, "src", None), line, path)
    pattern = r"Unsupported function referenced: <.*?(?:method|function) (\w+)"
    if function := re.search(pattern, message):
        for call, names in _calls(source):
            if names[-1] == function[1] and names[0] != "tl":
                return location(path, call.lineno, source)
    return ""


def float32_dot_line(path: Path, source: str) -> str:
    """The first `tl.dot` of the learner's kernels that does not say how precise it has to be."""
    for call, names in _calls(source):
        given = {keyword.arg for keyword in call.keywords}
        if names[-1] == "dot" and not given & {"input_precision", "allow_tf32"}:
            return location(path, call.lineno, source)
    return ""


def call_line(function: str, path: Path, source: str) -> str:
    """The first call of a function of this name in the learner's kernels, "" if there is none."""
    for call, names in _calls(source):
        if names[-1] == function:
            return location(path, call.lineno, source)
    return ""


def _assigned(node: object, name: str) -> Iterator[int]:
    """The lines below a loop on which a name gets its value."""
    for each in ast.walk(node) if isinstance(node, ast.AST) else ():
        targets = getattr(each, "targets", None) or [getattr(each, "target", None)]
        if isinstance(each, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            names = {n.id for t in targets if t for n in ast.walk(t) if isinstance(n, ast.Name)}
            if name in names:
                yield each.lineno


def _calls(source: str) -> Iterator[tuple[ast.Call, list[str]]]:
    """The calls in the kernels of a file, each with what it calls: ["torch", "exp"]."""
    for kernel in ast.parse(source).body:
        if not isinstance(kernel, ast.FunctionDef):
            continue
        if any(is_jit(decorator) for decorator in kernel.decorator_list):
            for node in ast.walk(kernel):
                if isinstance(node, ast.Call):
                    yield node, _dotted(node.func)


def _dotted(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Attribute):
        return [*_dotted(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else ["?"]
