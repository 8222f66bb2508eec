"""What a process that runs a learner's code may take of the machine, and what is said when it asks for more.

`hold_down` is called after the imports and before the learner's text runs, and holds for every
child too. A request beyond a limit fails at the learner's own line.

    Linux    memory, the size of a file, no core dumps
    macOS    the size of a file, no core dumps: its kernel does not hold a process to a memory limit
    Windows  none of them

Memory is not held down where kernels run on a GPU: what its driver maps is not the learner's. What
counts is memory that is the process's own and writable, so addresses that torch has CUDA reserve
are free. `supervise.py` looks from outside, at what all processes of a check hold together.

There is no sandbox: the code runs with the rights of whoever started the check, and can write and
delete what they can, the other exercises and fdlib itself included, and it can reach the network.
"""

from __future__ import annotations

import contextlib
import errno
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

__all__ = ["FILE_LIMIT_MB", "MEMORY_LIMIT_MB", "explain_limit", "hold_down", "make_room", "size"]

MEMORY_LIMIT_MB = 4096  # beyond what the process holds after its imports
FILE_LIMIT_MB = 256  # of each file
_RESERVE = 64 * 2**20  # bytes to say with that the limit was reached
_ASKED = ("can't allocate memory", "not enough memory", "Cannot allocate memory")
_memory_limit_mb = 0  # 0: not held down


def hold_down(memory_limit_mb: int, *, on_gpu: bool = False) -> None:
    """Limit this process and what it starts, as far as this platform can."""
    global _memory_limit_mb
    try:
        import resource
    except ImportError:  # Windows
        return
    _limit(resource.RLIMIT_FSIZE, FILE_LIMIT_MB * 2**20)
    _limit(resource.RLIMIT_CORE, 0)
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError):  # if memory runs out, the kernel is to end this one
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    if not on_gpu:
        limit = _held_bytes() + memory_limit_mb * 2**20
        _limit(resource.RLIMIT_DATA, limit, limit + _RESERVE)
        _memory_limit_mb = memory_limit_mb


def _limit(which: int, soft: int, hard: int | None = None) -> None:
    import resource

    _, most = resource.getrlimit(which)
    hard = soft if hard is None else hard
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(which, (soft, hard))


def _held_bytes() -> int:
    """What counts for RLIMIT_DATA: memory of its own that the process may write."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))


def make_room(errors: Iterable[BaseException]) -> None:
    """If one of the errors is for want of memory, let go of what the failed calls hold."""
    chain = list(errors)
    if not _memory_limit_mb or not any(_for_want_of_memory(each) for each in chain):
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    _limit(resource.RLIMIT_DATA, hard, hard)
    for each in chain:
        traceback.clear_frames(each.__traceback__)


def explain_limit(error: BaseException, text: str) -> str:
    """What to say of an error, whose message is `text`, that a limit made; "" if none did."""
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return f"It wrote more than {size(FILE_LIMIT_MB)} to one file, the most that a check lets it write."
    if _memory_limit_mb and _for_want_of_memory(error):
        said = (
            f"It asked for more memory than the {size(_memory_limit_mb)} that a check lets it take"
        )
        if asked := re.search(r"tried to allocate (\d+) bytes", text):  # torch's words
            return f"{said}: {size(int(asked[1]) >> 20)} in one piece."
        return f"{said} ({type(error).__name__}{': ' if text else ''}{text})."
    return ""


def _for_want_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and any(asked in str(error) for asked in _ASKED)


def size(megabytes: int) -> str:
    """4096 as "4 GB"."""
    return f"{megabytes / 1024:.3g} GB" if megabytes >= 1024 else f"{megabytes} MB"
