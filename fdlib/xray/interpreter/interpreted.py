"""Watch kernels under Triton's interpreter: each launch, and each load, store or atomic before it happens.

The kernel sees made-up addresses, which say for certain from which argument they come. Real ones are put in only
after the observer has let the access pass, so an access that it refuses touches no memory.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import Any
from unittest import mock

import numpy as np

from fdlib.xray.interpreter.addresses import Addresses
from fdlib.xray.interpreter.observer import Access, Observer, Program

__all__ = ["Order", "watching"]

Order = Callable[[int], Sequence[int]]  # n -> a permutation of range(n)

# Atomics of Triton 3.9 that are built from plain loads and stores: which argument is the semantic.
_BUILT_FROM_PLAIN = {"create_atomic_load": 2, "create_atomic_store": 3, "create_atomic_poll": 3}


@contextlib.contextmanager
def watching(
    observer: Observer, *, order: Order | None = None, fill_undefined: bool = False
) -> Iterator[None]:
    """Tell `observer` about every launch in the block. Needs Triton's interpreter, in one thread.

    `order(n)` says in which order n programs run. With `fill_undefined`, lanes that a load hides without giving an
    `other` hold NaN, or the largest integer: on a GPU they hold anything. (Not of a load of a single element: Triton
    does not tell `other=0` from none there.)
    """
    from triton.runtime import interpreter

    if hasattr(getattr(interpreter, "_implicit_cvt", None), "watched"):
        raise RuntimeError("watching() is on already; it cannot be nested")
    watch = _Watch(interpreter, observer, order, fill_undefined)
    executor, builder = interpreter.GridExecutor, interpreter.InterpreterBuilder
    hooks = [
        (interpreter, "_implicit_cvt", watch.convert),
        (executor, "__call__", watch.call),
        (executor, "_init_args_hst", watch.name_arguments),
        (builder, "set_grid_dim", watch.set_grid_dim),
        (builder, "set_grid_idx", watch.set_grid_idx),
        (builder, "create_load", watch.plain),
        (builder, "create_store", watch.plain),
        (builder, "create_masked_load", watch.load),
        (builder, "create_masked_store", watch.store),
        (builder, "create_atomic_rmw", watch.atomic_rmw),
        (builder, "create_atomic_cas", watch.atomic_cas),
    ]
    for name, at in _BUILT_FROM_PLAIN.items():
        if hasattr(builder, name):
            hooks.append((builder, name, watch.atomic_from_plain(at)))
    for owner, name, _ in hooks:
        if not hasattr(owner, name):
            raise RuntimeError(_other_version(name))
    with contextlib.ExitStack() as stack:
        for owner, name, hook in hooks:
            around = _around(getattr(owner, name), hook)
            stack.enter_context(mock.patch.object(owner, name, around))
        yield


def _other_version(missing: str) -> str:
    return (
        f"the interpreter of Triton {sys.modules['triton'].__version__} has no {missing}: kernels cannot be watched. "
        "Triton 3.6.0, 3.7.1 and 3.9.0 were tried and work."
    )


def _around(original: Any, hook: Any) -> Any:
    def hooked(*args: Any, **kw: Any) -> Any:
        return hook(original, *args, **kw)

    hooked.watched = True  # type: ignore[attr-defined]
    return hooked


class _Watch:
    """The hooks: each gets the original function, then its arguments."""

    def __init__(
        self, interpreter: Any, observer: Observer, order: Order | None, fill_undefined: bool
    ) -> None:
        self._interpreter = interpreter
        self._observer = observer
        self._order = order
        self._fill_undefined = fill_undefined
        self._plain = False  # the access to come was written without a mask
        self._semantic = ""  # of the atomic that is being built from plain accesses
        self._forget_launch()

    def _forget_launch(self) -> None:
        self._begun = False
        self._kernel = ""
        self._names: dict[int, str] = {}  # of the tensors, by id()
        self._addresses = Addresses()
        self._programs: Sequence[int] | None = None
        self._program: Program = (0, 0, 0)

    def call(self, original: Any, executor: Any, *args: Any, **kw: Any) -> Any:
        self._forget_launch()
        self._kernel = executor.fn.__name__
        try:
            return original(executor, *args, **kw)
        finally:
            if self._begun:
                self._observer.end()
            self._forget_launch()

    def name_arguments(self, original: Any, executor: Any, args: Any, kw: Any) -> Any:
        """Note the name of each tensor. The interpreter has made a new object for each argument."""
        args, kw = original(executor, args, kw)
        for name, value in inspect.getcallargs(executor.fn, *args, **kw).items():
            self._name(name, value)
        return args, kw

    def _name(self, name: str, value: Any) -> None:
        if isinstance(value, tuple):
            for index, part in enumerate(value):
                self._name(f"{name}[{index}]", part)
        else:  # a tensor, or a descriptor of one
            self._names[id(value if hasattr(value, "data_ptr") else getattr(value, "base", 0))] = (
                name
            )

    def convert(self, original: Any, arg: Any) -> Any:
        """Give a tensor its own addresses; tuples and descriptors come back here with their parts."""
        converted = original(arg)
        if hasattr(arg, "data_ptr"):
            tensor = getattr(arg, "base", arg)  # that of a triton.reinterpret
            base = self._addresses.add(self._names.get(id(arg), "a tensor"), tensor)
            converted.handle.data = np.array([base], dtype=np.uint64)
        return converted

    def set_grid_dim(self, original: Any, builder: Any, *grid: int) -> Any:
        result = original(builder, *grid)
        x, y, z = (int(n) for n in grid)
        self._programs = self._order(x * y * z) if self._order else None
        self._begun = True
        tensors = MappingProxyType(self._addresses.tensors)
        self._observer.launch(self._kernel, (x, y, z), tensors)
        return result

    def set_grid_idx(self, original: Any, builder: Any, x: int, y: int, z: int) -> Any:
        if self._programs is not None:
            _, ny, nz = (int(n) for n in builder.grid_dim)
            xy, z = divmod(int(self._programs[(x * ny + y) * nz + z]), nz)
            x, y = divmod(xy, ny)
        self._program = (x, y, z)
        return original(builder, x, y, z)

    def plain(self, original: Any, *args: Any, **kw: Any) -> Any:
        """A load or store without a mask. The interpreter makes one with a mask of it."""
        self._plain = True
        try:
            return original(*args, **kw)
        finally:
            self._plain = False

    def load(
        self, original: Any, builder: Any, at: Any, mask: Any, other: Any, *rest: Any, **kw: Any
    ) -> Any:
        lanes = _lanes(at, mask)
        undefined = other is None and at.data.size > 1 and not lanes.all()
        real = self._pass("load", at, lanes, masked=not self._plain, undefined=undefined)
        if undefined and self._fill_undefined:
            other = self._anything(at)
        return original(builder, real, mask, other, *rest, **kw)

    def store(
        self, original: Any, builder: Any, at: Any, value: Any, mask: Any, *rest: Any, **kw: Any
    ) -> Any:
        real = self._pass("store", at, _lanes(at, mask), masked=not self._plain)
        return original(builder, real, value, mask, *rest, **kw)

    def atomic_rmw(
        self, original: Any, builder: Any, op: Any, at: Any, value: Any, mask: Any, *rest: Any
    ) -> Any:
        lanes = _lanes(at, mask)
        real = self._pass("atomic", at, lanes, masked=not lanes.all(), semantic=_word(rest[0]))
        return original(builder, op, real, value, mask, *rest)

    def atomic_cas(
        self, original: Any, builder: Any, at: Any, expected: Any, value: Any, *rest: Any
    ) -> Any:
        lanes = np.ones(np.atleast_1d(at.data).shape, dtype=bool)
        real = self._pass("atomic", at, lanes, masked=False, semantic=_word(rest[0]))
        return original(builder, real, expected, value, *rest)

    def atomic_from_plain(self, semantic_at: int) -> Any:
        def hook(original: Any, builder: Any, *args: Any) -> Any:
            self._semantic = _word(args[semantic_at])
            try:
                return original(builder, *args)
            finally:
                self._semantic = ""

        return hook

    def _pass(
        self, kind: str, at: Any, lanes: np.ndarray, *, masked: bool,
        undefined: bool = False, semantic: str = "",
    ) -> Any:  # fmt: skip
        """Tell the observer, then give back the pointers with their real addresses."""
        semantic = semantic or self._semantic
        kind = "atomic" if semantic else kind
        pointers = np.atleast_1d(at.data)
        width = self._interpreter._get_np_dtype(at.get_element_ty()).itemsize
        real = None
        for part in self._addresses.split(pointers, lanes, width, kind):
            where = (part.argument, self._program, part.offsets, part.last, part.lanes)
            facts = (masked, undefined, semantic, part.bytes, width)
            self._observer.access(Access(kind, *where, *facts))
            real = part.real if real is None else np.where(part.lanes, part.real, real)
        real = np.zeros_like(pointers) if real is None else real  # no lane: nothing is touched
        return type(at)(real.reshape(np.shape(at.data)), at.dtype)

    def _anything(self, at: Any) -> Any:
        """What hidden lanes hold when nothing says what: a value that spoils whatever uses it."""
        element, dtype = at.get_element_ty(), self._interpreter._get_np_dtype(at.get_element_ty())
        if element.is_ptr():
            return None
        if not element.is_floating():
            value: Any = np.iinfo(dtype).max
        elif dtype.kind == "f":
            value = np.nan
        else:  # bfloat16 and float8 are kept as unsigned integers; all but the sign set is a NaN
            value = np.iinfo(dtype).max >> 1
        return type(at)(np.full(np.shape(at.data), value, dtype=dtype), element)


def _lanes(at: Any, mask: Any) -> np.ndarray:
    lanes = np.asarray(mask if isinstance(mask, np.ndarray) else mask.data, dtype=bool)
    return np.broadcast_to(lanes, np.atleast_1d(at.data).shape)


def _word(semantic: Any) -> str:
    return str(semantic).rpartition(".")[2].lower()
