"""Read and run a learner's file, and find the line of it that an exception comes from."""

from __future__ import annotations

import linecache
import re
import stat
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from fdlib.course.grading.limits import explain_limit

__all__ = [
    "LONGEST_BYTES",
    "causes",
    "explain",
    "kernel_line",
    "load_module",
    "location",
    "printable",
    "read_source",
    "still_empty",
]

LONGEST_BYTES = 1_000_000  # of a file; the solutions have 8,000
_LONGEST_MESSAGE = 2000  # characters
_IS_A_WRONG_CALL = re.compile(r"\w\(\) (missing \d|takes |got an? |got multiple )")


def read_source(path: Path) -> str:
    """The text of a file, with \\n at line ends.

    Raises `ValueError` if it is not UTF-8 text, too long, in the middle of a merge, or no regular
    file (a pipe would be waited for).
    """
    found = path.stat()
    mode = found.st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # of a folder the system says what it is
        raise ValueError(f"{path.name} is a pipe or a device; remove it and put a file there")
    if found.st_size > LONGEST_BYTES and stat.S_ISREG(mode):
        raise ValueError(
            f"{path.name} has {found.st_size:,} bytes; more than {LONGEST_BYTES:,} are not checked. "
            "Remove what does not belong in it."
        )
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_number = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path.name} is not UTF-8 text: line {line_number} holds the byte "
            f"0x{data[error.start]:02x}. Save it as UTF-8 in your editor."
        ) from None
    if "\0" in text:
        raise ValueError(
            f"{path.name} holds a zero byte; it is no UTF-8 text. Save it as UTF-8 in your editor."
        )
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if line_number := _unfinished_merge(text.split("\n")):
        raise ValueError(
            f"{path.name} holds a merge that is not finished: line {line_number} begins with "
            "<<<<<<<. Keep one of the two versions and delete the lines that begin with <<<<<<<, "
            "======= and >>>>>>>."
        )
    return text


def _unfinished_merge(lines: list[str]) -> int:
    """The number of the first line that Git marked, 0 if there is none."""
    begins = [i for i, line in enumerate(lines, 1) if line.startswith("<<<<<<< ")]
    ends = any(line.startswith(">>>>>>> ") for line in lines)
    return begins[0] if begins and ends and "=======" in lines else 0


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


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and what it was raised from, the deepest last."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__


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
