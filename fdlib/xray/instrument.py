"""A copy of a Triton kernel that writes down, for each program, its SM and when it began and ended.

The copy is made from the kernel's source: one more pointer in front, a note at the start of the body, a note before
each ``return`` and at the end. The kernel itself is left as it is.
"""

from __future__ import annotations

import ast
import linecache
import re
import types
from typing import Any

from fdlib.device import require_triton

require_triton()

import triton  # noqa: E402  (compiled mode is chosen before triton is imported)
import triton.language as tl  # noqa: E402
from triton.language.extra.cuda import globaltimer, smid  # noqa: E402
from triton.runtime.jit import JITFunction  # noqa: E402

__all__ = ["instrument", "instrumented_source"]

_NAMES = ("fdlib_spans", "fdlib_note_start", "fdlib_note_end")


@triton.jit
def _place(spans):
    """Where this program writes: programs are numbered with x fastest."""
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    row = tl.cast(z, tl.int64) * tl.num_programs(1) + y
    return spans + (row * tl.num_programs(0) + x) * 3


@triton.jit
def _note_start(spans):
    start = globaltimer()  # volatile: neither moved nor merged with another read
    place = _place(spans)
    tl.store(place, smid().to(tl.int64))  # a scalar: one thread of the program stores it
    tl.store(place + 1, start)


@triton.jit
def _note_end(spans):
    tl.debug_barrier()  # the slowest warp has issued its stores
    tl.store(_place(spans) + 2, globaltimer())


def instrumented_source(source: str) -> str:
    """The source of a kernel's copy that notes its start and its end, from the source of the kernel.

    >>> print(instrumented_source("def k(X, n: tl.constexpr):\\n    if n == 0:\\n        return\\n    tl.store(X, n)"))
    def k(fdlib_spans, X, n: tl.constexpr):
        fdlib_note_start(fdlib_spans)
        if n == 0:
            fdlib_note_end(fdlib_spans)
            return
        tl.store(X, n)
        fdlib_note_end(fdlib_spans)
    """
    tree = ast.parse(source)
    kernel = tree.body[0]
    assert isinstance(kernel, ast.FunctionDef)
    spans, start, end = _free_names(source)
    # In front: defaults belong to the last parameters.
    (kernel.args.posonlyargs or kernel.args.args).insert(0, ast.arg(spans))
    first = 1 if ast.get_docstring(kernel, clean=False) is not None else 0
    returns = isinstance(kernel.body[-1], ast.Return)
    kernel.body = [_EndBeforeReturn(end, spans).visit(each) for each in kernel.body]
    kernel.body = [
        part for each in kernel.body for part in (each if isinstance(each, list) else [each])
    ]
    kernel.body.insert(first, _call(start, spans))
    if not returns:
        kernel.body.append(_call(end, spans))
    return ast.unparse(ast.fix_missing_locations(tree))


def _free_names(source: str) -> list[str]:
    """What the copy calls the pointer and the two notes: names that the kernel does not use."""
    used = set(re.findall(r"\w+", source))
    suffix = ""
    while any(name + suffix in used for name in _NAMES):
        suffix += "_"
    return [name + suffix for name in _NAMES]


class _EndBeforeReturn(ast.NodeTransformer):
    def __init__(self, end: str, spans: str) -> None:
        self.end, self.spans = end, spans

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        """``return helper(X)`` calls the helper, then notes the end; a kernel's value goes nowhere."""
        work = [ast.Expr(node.value)] if node.value is not None else []
        return [*work, _call(self.end, self.spans), ast.Return()]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node  # its returns are not the kernel's


def _call(name: str, spans: str) -> ast.Expr:
    return ast.Expr(ast.Call(ast.Name(name, ast.Load()), [ast.Name(spans, ast.Load())], []))


def instrument(kernel: JITFunction) -> JITFunction:
    """The copy of ``kernel``: its first argument is an int64 tensor (programs, 3): SM id, start and end in ns.

    Raises `TypeError` for what is no plain ``@triton.jit`` kernel.
    """
    if type(kernel) is not JITFunction:
        raise TypeError(f"fn: got a launch of a {type(kernel).__name__}, takes @triton.jit kernels")
    scope = kernel.__globals__ | _nonlocals(kernel.fn)
    _, start, end = _free_names(kernel.src)
    scope |= {start: _note_start, end: _note_end}
    function = _function(kernel.fn, instrumented_source(kernel.src), scope)
    try:
        return JITFunction(
            function,
            do_not_specialize=[p.name for p in kernel.params if p.do_not_specialize],
            do_not_specialize_on_alignment=[
                p.name for p in kernel.params if p.do_not_specialize_on_alignment
            ],
            debug=kernel.debug,
            noinline=kernel.noinline,
        )
    finally:
        linecache.cache.pop(function.__code__.co_filename, None)  # Triton has read it


def _nonlocals(fn: Any) -> dict[str, Any]:
    """What the kernel sees of the function that it was defined in."""
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells}


def _function(fn: Any, source: str, scope: dict[str, Any]) -> Any:
    """A Python function with this source; annotations and defaults are the kernel's, not evaluated again."""
    file = f"<timeline of {fn.__name__}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    kernel = ast.parse(source).body[0]
    assert isinstance(kernel, ast.FunctionDef)  # `fn` may have another name by now
    found = compile(source, file, "exec", dont_inherit=True).co_consts
    code = next(
        each for each in found if isinstance(each, types.CodeType) and each.co_name == kernel.name
    )
    function = types.FunctionType(code, scope, fn.__name__, fn.__defaults__)
    function.__kwdefaults__ = fn.__kwdefaults__
    function.__annotations__ = dict(fn.__annotations__)
    function.__qualname__ = f"{fn.__qualname__}.timeline"  # Triton keeps a list of kernels by this
    return function
