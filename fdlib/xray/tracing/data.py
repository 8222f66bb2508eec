"""What `fdlib.trace` gives back: bytes per launch, per program and per tensor argument."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

__all__ = [
    "ORDER_LIMIT",
    "SECTOR_BYTES",
    "ArgumentTraffic",
    "Event",
    "L2Estimate",
    "LaunchTrace",
    "Trace",
    "TraceError",
]

ORDER_LIMIT = 4096  # operations of a launch's first program that are noted in order

SECTOR_BYTES = 32  # the smallest piece that travels between L2 and HBM on NVIDIA's GPUs


class TraceError(RuntimeError):
    """What stops a trace, apart from what the traced function itself raises."""


@dataclass(frozen=True)
class Event:
    """One load, store or atomic of one program on one argument; `bytes` counts the lanes that the mask lets through."""

    launch: int  # index into Trace.launches
    program: tuple[int, int, int]
    kind: str  # "load", "store" or "atomic"
    argument: str
    bytes: int
    first_byte: int  # from element 0 of the tensor to the lowest byte that is touched
    last_byte: int  # to the highest


@dataclass(frozen=True)
class L2Estimate:
    """Bytes between HBM and an LRU cache of `l2_mb` times 2^20 bytes; changed sectors are written out at the end.

    Programs come in the order in which the interpreter runs them: the last axis of the grid is the
    fastest. A GPU starts the first axis fastest; on grids of one axis, as fdlib's, they are the same.
    """

    l2_mb: float
    at_once: int  # programs that take turns, an operation each
    read_bytes: int
    write_bytes: int

    @property
    def bytes(self) -> int:
        """Read and written."""
        return self.read_bytes + self.write_bytes


@dataclass(frozen=True, eq=False)
class ArgumentTraffic:
    """The traffic of one tensor argument in one launch.

    Arrays are int64 of shape (programs,), in order of the linear program id, x fastest. `loaded`,
    `stored` and `atomic` are the bytes that each program asked for; `loaded_once` and
    `written_once` count each byte once per program. `first_step` says as which of its operations a
    program first touched the argument, -1 if it did not.

    The ints are for the launch: each byte once (`unique_loaded`, `unique_written`), and what must
    reach HBM at least (`hbm_read`, `hbm_write`), in whole sectors. Memory that two arguments share
    counts for the one that touched it first.
    """

    name: str  # the kernel's own name for it
    dtype: str
    shape: tuple[int, ...]
    loaded: np.ndarray = field(repr=False)
    stored: np.ndarray = field(repr=False)
    atomic: np.ndarray = field(repr=False)
    loaded_once: np.ndarray = field(repr=False)
    written_once: np.ndarray = field(repr=False)
    first_step: np.ndarray = field(repr=False)
    operations: int
    unique_loaded: int
    unique_written: int
    hbm_read: int
    hbm_write: int

    @property
    def loaded_bytes(self) -> int:
        """Bytes that the programs loaded, every load counted."""
        return int(self.loaded.sum())

    @property
    def stored_bytes(self) -> int:
        """Bytes that the programs stored."""
        return int(self.stored.sum())

    @property
    def atomic_bytes(self) -> int:
        """Bytes that the programs updated atomically."""
        return int(self.atomic.sum())

    @property
    def bytes(self) -> int:
        """Loaded, stored and updated."""
        return self.loaded_bytes + self.stored_bytes + self.atomic_bytes

    @property
    def repeated_loaded(self) -> int:
        """Bytes loaded again after the launch had loaded them once."""
        return self.loaded_bytes - self.unique_loaded

    @property
    def repeated_written(self) -> int:
        """Bytes stored or updated again after the launch had written them once."""
        return self.stored_bytes + self.atomic_bytes - self.unique_written


@dataclass(frozen=True, eq=False)
class LaunchTrace:
    """One launch: its kernel, its grid and the traffic of each tensor argument.

    `order` is what the first program that touched memory did, in order: pairs such as
    ``("load", "K")``, at most `ORDER_LIMIT` of them.
    """

    kernel: str
    grid: tuple[int, int, int]
    arguments: Mapping[str, ArgumentTraffic]
    order: tuple[tuple[str, str], ...] = field(repr=False)
    l2: L2Estimate | None = None

    @property
    def programs(self) -> int:
        """Programs of the grid."""
        x, y, z = self.grid
        return x * y * z

    @property
    def program_bytes(self) -> np.ndarray:
        """Bytes that each program asked for: int64 (programs,), in order of the linear id, x fastest."""
        total = np.zeros(self.programs, dtype=np.int64)
        for each in self.arguments.values():
            total += each.loaded + each.stored + each.atomic
        return total

    @property
    def bytes(self) -> int:
        """Bytes that the kernel asked for, repeats included."""
        return sum(each.bytes for each in self.arguments.values())

    @property
    def hbm_read(self) -> int:
        """Bytes that this launch must read from HBM at least, when L2 holds nothing of its inputs."""
        return sum(each.hbm_read for each in self.arguments.values())

    @property
    def hbm_write(self) -> int:
        """Bytes that this launch must write to HBM at least."""
        return sum(each.hbm_write for each in self.arguments.values())

    @property
    def hbm_bytes(self) -> int:
        """Bytes between HBM and the chip at least: each sector read once and written once."""
        return self.hbm_read + self.hbm_write


@dataclass(frozen=True, eq=False)
class Trace:
    """All launches of one call. `print` it for a table that explains its numbers.

    `hbm_read` and `hbm_write` count over all launches together: what one launch wrote and a later
    one reads is not read from HBM. That is less than the launches' own numbers added up.
    `events` holds every access in order, None unless you asked for them.
    """

    launches: tuple[LaunchTrace, ...]
    hbm_read: int
    hbm_write: int
    l2: L2Estimate | None = None
    events: tuple[Event, ...] | None = field(default=None, repr=False)

    @property
    def bytes(self) -> int:
        """Bytes that the kernels asked for, repeats included."""
        return sum(launch.bytes for launch in self.launches)

    @property
    def hbm_bytes(self) -> int:
        """Bytes that must pass between HBM and the chip at least, over all launches."""
        return self.hbm_read + self.hbm_write

    def __str__(self) -> str:
        from fdlib.xray.tracing.text import trace_text

        return trace_text(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"
