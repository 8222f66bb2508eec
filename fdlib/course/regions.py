"""Marked regions: the parts of an exercise's file that the learner writes.

A region stands between two comments at the indentation of its code:

    # >>> write: the correction factor
    alpha = torch.exp(m - m_new)
    # <<<

Everything here works on text; nothing is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "Region",
    "RegionError",
    "STAMP",
    "regions",
    "skeleton",
    "empty_regions",
    "is_jit",
    "is_not_started",
    "left_placeholder",
    "outside",
    "with_bodies",
]

STAMP = "# Generated from solutions/"  # begins the last line of a generated file, see build.py

_MARKER = re.compile(r"(?P<indent>[ \t]*)# (?P<kind>>>>|<<<)[ \t]*(?P<rest>.*?)[ \t]*")
_PLACEHOLDER = re.compile(
    r"[ \t]*(?:raise NotImplementedError\(|tl\.static_assert\(False, )"
    r'"write: (?P<name>[^"\\]+)"\)[ \t]*(?:#.*)?'
)


class RegionError(ValueError):
    """The markers of a file do not pair up; the message names the lines."""


@dataclass(frozen=True)
class Region:
    """One marked region; lines count from 1, `start_line` and `end_line` are the markers'."""

    name: str
    start_line: int
    end_line: int
    indent: str
    body: str


def regions(source: str) -> list[Region]:
    """The marked regions in order; raises `RegionError` on unbalanced, nested or equal markers."""
    lines = source.split("\n")
    found: list[Region] = []
    start = None  # (name, line, indent) of the region that is open
    for line_number, line in enumerate(lines, 1):
        marker = _MARKER.fullmatch(line)
        if marker is None:
            continue
        if marker["kind"] == ">>>":
            if start is not None:
                raise RegionError(
                    f"line {line_number}: a region opens inside {start[0]!r}, "
                    f"which opened at line {start[1]} and has no '# <<<' yet"
                )
            start = (_name(marker["rest"], line_number, found), line_number, marker["indent"])
        else:
            if start is None:
                raise RegionError(f"line {line_number}: '# <<<' closes no region")
            if marker["rest"] or marker["indent"] != start[2]:
                raise RegionError(
                    f"line {line_number}: takes '# <<<' alone, indented like line {start[1]}"
                )
            body = "\n".join(lines[start[1] : line_number - 1])
            found.append(Region(start[0], start[1], line_number, start[2], body))
            start = None
    if start is not None:
        raise RegionError(f"line {start[1]}: the region {start[0]!r} has no '# <<<'")
    return found


def _name(rest: str, line_number: int, earlier: Iterable[Region]) -> str:
    match = re.fullmatch(r'write: ([^"\\]+)', rest)
    if match is None:
        raise RegionError(
            f"line {line_number}: got '# >>> {rest}', takes '# >>> write: NAME' "
            "(no quote or backslash in the name)"
        )
    for region in earlier:
        if region.name == match[1]:
            raise RegionError(
                f"line {line_number}: the name {match[1]!r} is taken by line {region.start_line}"
            )
    return match[1]


def skeleton(source: str) -> str:
    """The text with the body of every region replaced by a placeholder that says what to write.

    Raises `RegionError` for a region without code, outside a function, or whose removal leaves a
    text that Python cannot parse.
    """
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]

    def placeholder(region: Region) -> list[str]:
        in_kernel = _in_kernel(region, functions)
        return [region.indent + _placeholder(region.name, in_kernel=in_kernel)]

    text = with_bodies(source, placeholder)
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise RegionError(f"line {error.lineno} of the skeleton: {error.msg}") from None
    return text


def with_bodies(source: str, body: Callable[[Region], Sequence[str]]) -> str:
    """The text with the lines of every region replaced by those that `body` gives for it."""
    lines = source.split("\n")
    for region in reversed(regions(source)):
        lines[region.start_line : region.end_line - 1] = body(region)
    return "\n".join(lines)


def _placeholder(name: str, *, in_kernel: bool) -> str:
    # Triton's compiler refuses `raise` ("unsupported AST node type: Raise") before anyone sees the
    # message. A failing static_assert carries it both ways: CompileTimeAssertionFailure ends with
    # the message, and the interpreter raises AssertionError(message).
    if in_kernel:
        return f'tl.static_assert(False, "write: {name}")'
    return f'raise NotImplementedError("write: {name}")'


def _in_kernel(region: Region, functions: Iterable[ast.FunctionDef]) -> bool:
    code = [number for number, line in _numbered(region) if _is_code(line)]
    if not code:
        raise RegionError(f"line {region.start_line}: the region {region.name!r} holds no code")
    around = [f for f in functions if f.lineno < code[0] <= (f.end_lineno or f.lineno)]
    if not around or min(f.lineno for f in around) > region.start_line:
        raise RegionError(
            f"line {region.start_line}: the region {region.name!r} is not inside a function"
        )
    innermost = max(around, key=lambda function: function.lineno)
    return any(is_jit(decorator) for decorator in innermost.decorator_list)


def is_jit(decorator: ast.expr) -> bool:
    """Whether a decorator makes a function a kernel: `@triton.jit`, `@triton.jit(...)`, `@jit`."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(target) in {"triton.jit", "jit"}


def _numbered(region: Region) -> Iterable[tuple[int, str]]:
    return enumerate(region.body.split("\n"), region.start_line + 1)


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def empty_regions(source: str) -> tuple[str, ...]:
    """The names of the regions that hold their placeholder still, or no code at all.

    If the markers are damaged, the placeholders alone are counted.
    """
    try:
        found = regions(source)
    except RegionError:
        matches = (_PLACEHOLDER.fullmatch(line) for line in source.split("\n"))
        return tuple(match["name"] for match in matches if match)
    return tuple(region.name for region in found if _is_empty(region.body.split("\n")))


def left_placeholder(region: Region) -> str:
    """Where a placeholder stands beside code: "above" or "below" it; "" if there are not both."""
    code = [line for line in region.body.split("\n") if _is_code(line)]
    at = [bool(_PLACEHOLDER.fullmatch(line)) for line in code]
    if all(at) or not any(at):
        return ""
    return "above" if at[0] else "below"


def is_not_started(source: str) -> bool:
    """Whether every region holds its placeholder alone, or nothing."""
    try:
        found = regions(source)
    except RegionError:
        return False
    return bool(found) and not any(_has_more(region.body.split("\n")) for region in found)


def _has_more(body: list[str]) -> bool:
    return any(_is_code(line) and not _PLACEHOLDER.fullmatch(line) for line in body)


def _is_empty(body: list[str]) -> bool:
    holds_placeholder = any(_PLACEHOLDER.fullmatch(line) for line in body)
    return holds_placeholder or not any(_is_code(line) for line in body)


def outside(source: str) -> str:
    """The text without the bodies of its regions: equal before and after, only they were edited."""
    lines = with_bodies(source, lambda region: ()).split("\n")
    kept = (line for line in lines if not line.startswith(STAMP))
    return "\n".join(kept).rstrip("\n")
