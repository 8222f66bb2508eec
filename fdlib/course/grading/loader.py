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

__all__ = ["read_source", "load_module", "explain", "location", "printable"]

_LONGEST_MESSAGE = 2000  # characters


def read_source(path: Path) -> str:
    """The text of a file, with \\n at line ends.

    Raises `ValueError` if it is not UTF-8 text or no regular file (a pipe would be waited for).
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # of a folder the system says what it is
        raise ValueError(f"{path.name} is a pipe or a device; a file is expected there")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not UTF-8 text: {error}") from None
    if "\0" in text:
        raise ValueError(f"{path.name} holds a zero byte; it is not a text file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def load_module(path: Path, name: str, source: str) -> ModuleType:
    """Run `source` as the module `name` from `path`; whatever it raises passes through.

    The text is compiled here, not imported: no stale bytecode is used and none is written.
    Tracebacks, and Triton, which reads a kernel's source, see this text even if the file changes
    meanwhile.
    """
    linecache.cache[str(path)] = (len(source), None, source.splitlines(keepends=True), str(path))
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
    causes = list(_causes(error))
    where = ""
    for cause in causes:  # the deepest cause is nearest to the fault
        where = _learner_line(cause, path) or where
    # Triton wraps what went wrong in a kernel, once for each function that it was in.
    package = str(type(error).__module__).partition(".")[0]
    shown = causes[-1] if package == "triton" else error
    return _encodable(_sentence(shown)[:_LONGEST_MESSAGE]), where


def printable(error: BaseException) -> str:
    """The message of an exception, or its type if it has none, as text that can be printed."""
    try:
        return _encodable(str(error)) or type(error).__name__
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


def _causes(error: BaseException | None) -> Iterator[BaseException]:
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
    """Triton's CompilationError counts lines from the kernel's `def`: find that in the file."""
    kernel = getattr(error, "src", None)
    line_number = getattr(getattr(error, "node", None), "lineno", None)
    if not isinstance(kernel, str) or not isinstance(line_number, int):
        return ""
    before, found, _ = "".join(linecache.getlines(str(path))).partition(kernel.rstrip("\n"))
    return location(path, before.count("\n") + line_number) if found else ""


def _sentence(error: BaseException) -> str:
    try:
        text = str(getattr(error, "error_message", None) or error).strip()
    except BaseException:
        text = "(its message cannot be shown)"
    if empty := re.fullmatch(r"write: (.+)", text):
        return f"The region {empty[1]!r} is still empty."
    if isinstance(error, SystemExit):
        return f"It called sys.exit({error.code!r})."
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
