"""Run a learner's file, and find the line of it that an exception comes from."""

from __future__ import annotations

import linecache
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from fdlib.course.grading.limits import explain_limit
from fdlib.xray.causes import causes

__all__ = [
    "explain",
    "kernel_line",
    "load_module",
    "location",
    "printable",
    "still_empty",
]

_LONGEST_MESSAGE = 2000  # characters
_IS_A_WRONG_CALL = re.compile(r"\w\(\) (missing \d|takes |got an? |got multiple )")


def load_module(path: Path, name: str, source: str) -> ModuleType:
    """Run `source` as the module `name` from `path`; whatever it raises passes through.

    The text is compiled here, not imported: no stale bytecode is used and none is written.
    Tracebacks, and Triton, which reads a kernel's source, see this text even if the file changes
    meanwhile.
    """
    # Lines end at \n alone: str.splitlines would also cut at a form feed or U+2028 in a comment.
    lines = [line + "\n" for line in source.split("\n")]
    linecache.cache[str(path)] = (len(source), None, lines, str(path))
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def explain(error: BaseException, path: Path) -> tuple[str, str]:
    """(what went wrong, the learner's line or "") in a sentence, for an exception."""
    try:
        return _explain(error, path)
    except BaseException:  # an exception can be written so that whoever looks at it gets another
        return f"{type(error).__name__}: (its message cannot be shown)", ""


def _explain(error: BaseException, path: Path) -> tuple[str, str]:
    chain = list(causes(error))
    where = ""
    for cause in chain:  # the deepest cause is nearest to the fault
        where = _learner_line(cause, path) or where
    # Triton wraps what went wrong in a kernel, once for each function that it was in.
    package = str(type(error).__module__).partition(".")[0]
    shown = chain[-1] if package == "triton" else error
    message = _sentence(shown)[:_LONGEST_MESSAGE]
    if isinstance(shown, TypeError) and not where and _IS_A_WRONG_CALL.search(message):
        message += ". Give the function back the parameters that the exercise gave it."
    return _encodable(message), where


def still_empty(region: str) -> str:
    """What is said when a placeholder is reached."""
    return f"The region {region!r} is still empty."


def printable(error: BaseException, longest: int = _LONGEST_MESSAGE) -> str:
    """The message of an exception, or its type if it has none, as text that can be printed."""
    try:
        return _encodable(str(error)[:longest]) or type(error).__name__
    except BaseException:
        return f"{type(error).__name__}: (its message cannot be shown)"


def _encodable(text: str) -> str:
    """The text with lone surrogates, which no terminal can show, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def location(path: Path, line_number: int, source: str | None = None) -> str:
    """`file:line: text of the line`."""
    lines = linecache.getlines(str(path)) if source is None else source.split("\n")
    text = lines[line_number - 1].strip() if 0 < line_number <= len(lines) else ""
    return f"{path.name}:{line_number}: {text}"


def _learner_line(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(path) and error.lineno:
        return location(path, error.lineno)
    if found := _compiled_line(error, path):
        return found
    numbers = [
        line_number
        for frame, line_number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == str(path)
    ]
    return location(path, numbers[-1]) if numbers else ""


def _compiled_line(error: BaseException, path: Path) -> str:
    line_number = getattr(getattr(error, "node", None), "lineno", None)
    return kernel_line(getattr(error, "src", None), line_number, path)


def kernel_line(kernel: object, line_number: object, path: Path) -> str:
    """Triton's CompilationError counts lines from the kernel's `def`: find that in the file."""
    if not isinstance(kernel, str) or not isinstance(line_number, int):
        return ""
    before, found, _ = "".join(linecache.getlines(str(path))).partition(kernel.rstrip("\n"))
    return location(path, before.count("\n") + line_number) if found else ""


def _sentence(error: BaseException) -> str:
    try:
        text = str(getattr(error, "error_message", None) or error).strip()
    except BaseException:
        text = "(its message cannot be shown)"
    if limit := explain_limit(error, text):
        return limit
    if empty := re.fullmatch(r"write: (.+)", text):
        return still_empty(empty[1])
    if isinstance(error, SystemExit):
        return f"It called sys.exit({error.code!r})."
    if isinstance(error, TabError):
        return f"{type(error).__name__}: {error.msg}. Indent with spaces alone, 4 a step."
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
