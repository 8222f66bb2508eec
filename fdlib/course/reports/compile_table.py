"""What the compiler said about a learner's kernels, in a report: a row for each GPU."""

from __future__ import annotations

from collections.abc import Iterable

from fdlib.course.grading.verdict import Compiled
from fdlib.course.reports.document import Block, Group, Line, State, Table, shorten

__all__ = ["describe_compiled"]

_HEADER = ("GPU", "kernel", "shared memory", "registers", "spilled", "result")
_LONGEST_KERNELS = 30  # characters


def describe_compiled(
    compiled: tuple[Compiled, ...], *, told: str = "", so_far: bool = False
) -> list[Block]:
    """The table, and each error and warning below it; nothing if nothing compiled.

    An error that `told`, the message of a check, begins with is not said again.
    """
    if not compiled:
        return []
    by_gpu: dict[str, list[Compiled]] = {}
    for each in compiled:
        by_gpu.setdefault(each.gpu, []).append(each)
    caption = "Compiled for these GPUs; none has to be in this machine."
    rows = tuple(_row(gpu, kernels) for gpu, kernels in by_gpu.items())
    table = Table(caption + " More to come." * so_far, _HEADER, rows)
    return [Group("compiled", None, (table, *_sentences(compiled, told)))]


def _row(gpu: str, compiled: list[Compiled]) -> tuple[str, ...]:
    """One GPU: the most that any of its kernels needs, and the worst that came of one."""
    built = [each for each in compiled if not each.error]
    kernels = ", ".join(dict.fromkeys(each.kernel for each in compiled))
    if len(kernels) > _LONGEST_KERNELS:
        kernels = kernels[: _LONGEST_KERNELS - 3] + "..."
    needs = max(built, key=lambda each: each.shared_bytes, default=None)
    shared = "-"  # nothing is known where the compiler did not end
    if needs and needs.shared_limit_bytes:
        shared = f"{_kib(needs.shared_bytes)} of {_kib(needs.shared_limit_bytes)} KiB"
    registers = _most(each.registers for each in built)
    spilled = _most(each.spill_bytes for each in built)
    words = {_word(each) for each in compiled}
    worst = next(word for word in ("error", "warning", "ok") if word in words)
    return gpu, kernels, shared, registers, spilled if spilled == "-" else f"{spilled} B", worst


def _word(compiled: Compiled) -> State:
    return "error" if compiled.error else "warning" if compiled.warning else "ok"


def _kib(size_bytes: int) -> str:
    return f"{size_bytes / 1024:.1f}".removesuffix(".0")


def _most(values: Iterable[int | None]) -> str:
    known = [value for value in values if value is not None]
    return str(max(known)) if known else "-"


def _sentences(compiled: tuple[Compiled, ...], told: str) -> list[Group]:
    """Each error and each warning once, with the GPUs that it is about."""
    said: dict[tuple[State, str, str], list[Compiled]] = {}
    for each in compiled:
        if text := each.error or each.warning:
            said.setdefault((_word(each), text, each.location), []).append(each)
    groups: list[Group] = []
    for (word, text, location), about in said.items():
        gpus = ", ".join(dict.fromkeys(each.gpu for each in about))
        kernel = ", ".join(filter(None, (about[0].kernel, about[0].setting)))
        who = f"{gpus} ({kernel})" if kernel else gpus
        if told.startswith(text):
            groups.append(Group("check", Line(word, f"{who}: see above.", word)))
            continue
        first, *rest = text.splitlines()
        more = [Line("message", shorten(line)) for line in rest[:10]]
        if location:
            more.append(Line("where", shorten(location, 200), "Your line:"))
        head = Line(word, shorten(f"{who}: {first}"), word)
        groups.append(Group("check", head, tuple(more)))
    return groups
