"""Recognise an answer that hands the exercise's work to somebody else's attention.

For honest learners who reach for what they know: the file's syntax tree is read, nothing is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fdlib.course.regions import RegionError, outside, skeleton

__all__ = ["borrowed"]

# Names that do what the exercises ask to write, wherever they come from.
_FUNCTIONS = {
    "scaled_dot_product_attention": "torch's own attention",
    "_scaled_dot_product_attention_math": "torch's own attention",
    "_scaled_dot_product_flash_attention": "torch's own attention",
    "_scaled_dot_product_efficient_attention": "torch's own attention",
    "multi_head_attention_forward": "torch's own attention",
    "MultiheadAttention": "torch's own attention",
    "flex_attention": "torch's own attention",
    "naive_attention": "fdlib's attention",
    "online_softmax_attention": "fdlib's attention",
    "flash_decode": "fdlib's attention",
    "split_kv_attention": "fdlib's attention",
    "merge_states": "fdlib's merge",
    "combine_splits": "fdlib's combine",
}
_MODULES = {
    "solutions": "the solutions",
    "fdlib.attention": "fdlib's attention",
    "fdlib.course.checks": "the checker",
    "fdlib.course.expect": "the checker",
    "fdlib.course.grading": "the checker",
    "flash_attn": "the library flash_attn",
    "flashinfer": "the library flashinfer",
    "xformers": "the library xformers",
}


def borrowed(source: str, solution: str) -> tuple[str, int] | None:
    """(what does the work instead, line) of the first use that the exercise did not bring; else None.

    `solution` is the solution's text: what stands in it outside the regions is the exercise's own.
    Without it, "", that is what stands outside the regions of `source`.
    """
    try:
        given = skeleton(solution) if solution else outside(source)
        allowed = {what for what, _, _ in _uses(ast.parse(given))}
        found = [use for use in _uses(_graded(source)) if use[0] not in allowed]
    except (SyntaxError, RegionError, ValueError, RecursionError, MemoryError):
        return None  # said elsewhere, better
    if not found:
        return None
    what, whose, line = min(found, key=lambda use: use[2])
    return f"{what}, which is {whose}", line


def _graded(source: str) -> ast.Module:
    """The tree without what runs only if the file is the program: a learner's own comparisons."""
    tree = ast.parse(source)
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'")
    ]
    return tree


def _uses(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """(name, whose it is, line) of each use of somebody else's attention."""
    own = {
        node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield from _imported(node.module or "", alias.name, node.lineno)
        elif isinstance(node, ast.Call):
            yield from _called(node, own)


def _module(name: str, line: int) -> Iterator[tuple[str, str, int]]:
    for module, whose in _MODULES.items():
        if name == module or name.startswith(module + "."):
            yield name, whose, line


def _imported(module: str, name: str, line: int) -> Iterator[tuple[str, str, int]]:
    if name in _FUNCTIONS and module.partition(".")[0] in {"torch", "fdlib"}:
        yield name, _FUNCTIONS[name], line
    else:
        found = list(_module(module, line)) or list(_module(f"{module}.{name}", line))
        yield from found


def _called(node: ast.Call, own: set[str]) -> Iterator[tuple[str, str, int]]:
    function = node.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    if name in {"import_module", "__import__"} and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield from _module(first.value, node.lineno)
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    if name in _FUNCTIONS and (owner or name not in own):
        yield name, _FUNCTIONS[name], node.lineno
    elif name == "flash_attention" and owner.startswith("fdlib"):
        yield name, "fdlib's attention", node.lineno
