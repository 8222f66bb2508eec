"""What came of checking one exercise, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["CheckResult", "Compiled", "OnProgress", "Verdict", "State", "Outcome"]

Outcome = Literal["passed", "failed", "error", "not run"]
State = Literal[
    "passed",
    "failed",
    "not started",  # every region is empty; nothing was run
    "not your own",  # somebody else's attention does the work; nothing was run
    "unfinished",  # not every check passed: regions are empty, or nothing can be compiled here
    "does not import",
    "timed out",
    "crashed",  # the process ended before the last check did
    "missing",
    "running",  # not done yet: only in what `on_progress` gets
]


@dataclass(frozen=True)
class CheckResult:
    """What came of one check; `location` is a line of the learner's file, if one is to blame."""

    name: str
    title: str
    points: int  # what the check is worth
    outcome: Outcome = "not run"
    message: str = ""
    location: str = ""
    seconds: float = 0.0
    read: str = ""  # section of the notebook to read, as `Check.read` has it
    region: str = ""  # the one region that it checks; of an error, the one that its line is in
    output: str = ""  # what was printed while it ran
    mistake: str = ""  # name of the known mistake that it equals
    diagnosis: str = ""  # what is known about the cause, in sentences; one a line

    @property
    def failing(self) -> bool:
        """Whether it ran and did not pass."""
        return self.outcome in {"failed", "error"}


@dataclass(frozen=True)
class Compiled:
    """One kernel, compiled for one GPU that need not be here."""

    gpu: str  # a name from `fdlib.gpus`: T4
    compute_capability: int
    kernel: str
    setting: str = ""  # sizes and dtype it was compiled with
    error: str = ""  # why it does not compile, in the learner's terms; "" if it does
    location: str = ""  # the learner's line, if one is to blame
    shared_bytes: int = 0
    shared_limit_bytes: int = 0  # of a block on this GPU
    registers: int | None = None  # per thread; None where they cannot be read
    spill_bytes: int | None = None  # local memory per thread
    warning: str = ""  # it compiles, but this GPU would refuse it or run it badly


@dataclass(frozen=True)
class Verdict:
    """What came of one exercise."""

    number: int
    name: str  # module name: ex05_flash_decoding
    title: str
    notebook: str
    path: str
    state: State
    checks: tuple[CheckResult, ...]
    seed: int
    message: str = ""  # what explains the state
    location: str = ""
    empty: tuple[str, ...] = ()  # names of empty regions
    notes: tuple[str, ...] = ()  # what else happened: processes left behind, damaged markers
    output: str = ""  # what the learner's file printed, shortened
    output_bytes: int = 0  # all that it printed
    mode: str = ""  # how kernels ran
    compiled: tuple[Compiled, ...] = ()  # of a Triton exercise whose values are right
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return self.state == "passed"

    @property
    def points(self) -> int:
        """The points of the checks that passed."""
        return sum(check.points for check in self.checks if check.outcome == "passed")

    @property
    def max_points(self) -> int:
        """The points of all checks."""
        return sum(check.points for check in self.checks)

    @property
    def failing(self) -> tuple[CheckResult, ...]:
        """The checks that ran and did not pass, in order."""
        return tuple(check for check in self.checks if check.failing)

    @property
    def to_repair(self) -> CheckResult | None:
        """The failing check to repair first; None if nothing fails.

        The first one, unless nothing is known about its cause, and a later one has a known mistake.
        """
        first = next(iter(self.failing), None)
        if first is None or first.mistake or first.location or first.outcome == "error":
            return first
        return next((check for check in self.failing if check.mistake), first)

    def result(self, name: str) -> CheckResult:
        """The result of the check with this name; raises `KeyError` if there is none."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, numbers and strings, with `points` and `max_points`."""
        data = asdict(self)
        data["checks"] = [asdict(check) for check in self.checks]
        data["compiled"] = [asdict(compiled) for compiled in self.compiled]
        data["empty"], data["notes"] = list(self.empty), list(self.notes)
        return data | {"points": self.points, "max_points": self.max_points}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Verdict:
        """The verdict that `to_dict` wrote."""
        fields = {key: data[key] for key in data if key not in {"points", "max_points"}}
        fields["checks"] = tuple(CheckResult(**check) for check in data["checks"])
        fields["compiled"] = tuple(Compiled(**compiled) for compiled in data["compiled"])
        fields["empty"], fields["notes"] = tuple(data["empty"]), tuple(data["notes"])
        return cls(**fields)


OnProgress = Callable[[Verdict], None]  # gets the verdict as it grows
