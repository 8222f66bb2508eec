"""Functions, kernels and tensors in a parcel for a process that runs kernels under the interpreter.

What a module that can be imported holds goes by its name, and is made anew there: kernels become the interpreter's.
What was defined in a notebook, or loaded from a file by its path, goes as code, with the names that it uses. A kernel
goes with its source, which the interpreter reads. Classes go with what they hold. Tensors go as bytes of their
storages, so that views of one memory stay views of one memory.
"""

from __future__ import annotations

import ast
import builtins
import dis
import importlib
import inspect
import io
import linecache
import marshal
import pickle
import sys
import textwrap
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fdlib.xray.tracing import classes, tensors

if TYPE_CHECKING:
    import torch

__all__ = ["Packer", "unpack"]

_SHARED: dict[int, dict[str, Any]] = {}  # here: the globals of functions that came as code


class Packer(pickle.Pickler):
    """Pickles one object; afterwards `storages` and `sources` have to travel too."""

    def __init__(self) -> None:
        self._file = io.BytesIO()
        super().__init__(self._file, protocol=pickle.HIGHEST_PROTOCOL)
        self.storages: list[torch.UntypedStorage] = []
        self.sources: dict[str, list[str]] = {}  # lines of each file that code came from
        self._places: dict[tuple[str, int, int], int] = {}

    def pack(self, what: object) -> bytes:
        """The parcel. Raises `TypeError` saying what cannot travel."""
        try:
            self.dump(what)
        except Exception as error:
            raise TypeError(
                "trace: kernels are compiled in this process, so fn and its arguments go to a second "
                f"one, and something cannot: {error}. Pass plain values and tensors, and keep other "
                "classes in a file that can be imported."
            ) from error
        return self._file.getvalue()

    def persistent_id(self, obj: Any) -> Any:
        """The number of a storage."""
        import torch

        if not isinstance(obj, torch.UntypedStorage):
            return None
        place = (str(obj.device), obj.data_ptr(), obj.nbytes())
        if place not in self._places:
            self._places[place] = len(self.storages)
            self.storages.append(obj)
        return self._places[place]

    def reducer_override(self, obj: Any) -> Any:
        """How to make what pickle alone cannot send."""
        import torch
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction

        if isinstance(obj, torch.Tensor) and obj.layout == torch.strided:
            return tensors.as_parts(obj)
        if isinstance(obj, types.ModuleType):
            return importlib.import_module, (obj.__name__,)
        if isinstance(obj, type) and obj.__module__ in sys.modules and _only_here(obj.__module__):
            return classes.as_parts(obj)
        if isinstance(obj, (JITFunction, InterpretedFunction)):
            if _importable(obj, obj.fn):
                return _look_up, (obj.fn.__module__, obj.fn.__qualname__)
            return _kernel, (obj.fn,)
        if isinstance(obj, types.FunctionType) and not _importable(obj, obj):
            return self._as_code(obj)
        return classes.part_of_class(obj) or NotImplemented

    def _as_code(self, function: types.FunctionType) -> Any:
        names = _names_in(function.__code__)
        self._note_source(function, names)
        code = marshal.dumps(function.__code__)
        used = {name: function.__globals__[name] for name in names if name in function.__globals__}
        state = (
            used,
            [_content(cell) for cell in function.__closure__ or ()],
            {name: getattr(function, name) for name in _ATTRIBUTES} | function.__dict__,
        )
        made = (code, id(function.__globals__), len(function.__closure__ or ()))
        return _new_function, made, state, None, None, _fill

    def _note_source(self, function: types.FunctionType, names: set[str]) -> None:
        """Keep the lines of the function's file; the interpreter also looks names up that they hold."""
        try:
            lines, _ = inspect.findsource(function)
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, SyntaxError, TypeError):
            return
        self.sources[function.__code__.co_filename] = lines
        if any(isinstance(node, ast.FunctionDef) for node in tree.body):
            signature = tree.body[0].args  # type: ignore[attr-defined]
            names |= {node.id for node in ast.walk(signature) if isinstance(node, ast.Name)}


_ATTRIBUTES = (
    "__name__", "__qualname__", "__module__", "__doc__",
    "__defaults__", "__kwdefaults__", "__annotations__",
)  # fmt: skip


# co_names holds attributes and imported modules too.
_READS_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}


def unpack(
    parcel: bytes, storages: list[torch.UntypedStorage], sources: dict[str, list[str]]
) -> Any:
    """What was packed. `sources` are known to `linecache` from now on."""
    for name, lines in sources.items():
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, number: Any) -> torch.UntypedStorage:
            return storages[number]

    return Unpickler(io.BytesIO(parcel)).load()


def _only_here(module: str) -> bool:
    """Whether a module cannot be imported elsewhere: a notebook, or a file loaded by its path."""
    return module == "__main__" or getattr(sys.modules.get(module), "__spec__", None) is None


def _importable(obj: Any, function: Callable[..., Any]) -> bool:
    """Whether the name of `function` leads to `obj` in another process as well."""
    if _only_here(function.__module__):
        return False
    try:
        return _look_up(function.__module__, function.__qualname__) is obj
    except (AttributeError, ImportError):
        return False


def _look_up(module: str, qualname: str) -> Any:
    found = importlib.import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    return found


def _names_in(code: types.CodeType) -> set[str]:
    """The globals that the code reads, and code inside it."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname in _READS_GLOBAL}
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            names |= _names_in(each)
    return names


def _content(cell: types.CellType) -> Any:
    """() for a variable without a value, else a tuple of it."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _kernel(function: Callable[..., Any]) -> Any:
    from triton.runtime.jit import jit

    return jit(function)


def _new_function(code: bytes, shared: int, cells: int) -> types.FunctionType:
    names = _SHARED.setdefault(shared, {"__builtins__": builtins})
    closure = tuple(types.CellType() for _ in range(cells))
    return types.FunctionType(marshal.loads(code), names, closure=closure)


def _fill(function: types.FunctionType, state: Any) -> None:
    used, contents, attributes = state
    function.__globals__.update(used)
    for cell, content in zip(function.__closure__ or (), contents, strict=True):
        if content:
            cell.cell_contents = content[0]
    for name, value in attributes.items():
        setattr(function, name, value)
