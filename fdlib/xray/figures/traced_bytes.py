"""What kernels asked for and what must reach HBM, argument by argument, from their traces."""

from __future__ import annotations

from dataclasses import dataclass

from fdlib.xray.tracing.data import Trace

__all__ = ["ArgumentBytes", "KernelBytes", "traced_bytes"]


@dataclass(frozen=True)
class ArgumentBytes:
    """Bytes of one tensor argument of one launch: asked for by its programs, and to or from HBM at least."""

    name: str
    asked: int
    hbm: int


@dataclass(frozen=True)
class KernelBytes:
    """The launches of one way to compute attention, in order; `name` is what people call it."""

    name: str
    launches: int
    programs: int
    rows: tuple[ArgumentBytes, ...]

    @property
    def asked(self) -> int:
        """Bytes that all programs asked for."""
        return sum(row.asked for row in self.rows)

    @property
    def hbm(self) -> int:
        """Bytes that must pass between HBM and the chip if each launch finds nothing in L2."""
        return sum(row.hbm for row in self.rows)

    @property
    def largest(self) -> tuple[ArgumentBytes, ...]:
        """The arguments with the most bytes to or from HBM: several if they are equal, none if no bytes are moved."""
        most = max((row.hbm for row in self.rows), default=0)
        return tuple(row for row in self.rows if row.hbm == most > 0)


def traced_bytes(name: str, trace: Trace) -> KernelBytes:
    """A trace's bytes for a picture; an argument is written as the kernel names it, without ``_ptr``.

    Of several launches, the launch's number stands before it.
    """
    many = len(trace.launches) > 1
    rows = tuple(
        ArgumentBytes(
            f"{number}. " * many + argument.removesuffix("_ptr"),
            each.bytes,
            each.hbm_read + each.hbm_write,
        )
        for number, launch in enumerate(trace.launches, 1)
        for argument, each in launch.arguments.items()
    )
    programs = sum(launch.programs for launch in trace.launches)
    return KernelBytes(name, len(trace.launches), programs, rows)
