"""Run one process and all that it starts, and end them together."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fdlib.course.grading import supervise

__all__ = ["OUTPUT_KEPT_BYTES", "Ended", "run_group"]

OUTPUT_KEPT_BYTES = 16_384
_WINDOWS = sys.platform == "win32"


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    returncode: int  # negative: the signal that ended it
    output: str  # stdout and stderr together, the first 16 KiB
    output_bytes: int  # all that was printed
    timed_out: bool
    left_behind: bool  # processes that it had started were still there, and were ended
    seconds: float


def run_group(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    time_limit_s: float,
    meanwhile: Callable[[], None] | None = None,
) -> Ended:
    """Run a command; it and all that it started are ended at the limit, at an interrupt, or with us.

    `supervise.py` stands between: see there what is found on which platform. SIGTERM and SIGHUP
    count as an interrupt. The output goes through pipes that are always drained: megabytes of it
    neither block nor fill a disk. `meanwhile` is called some ten times a second.
    """
    started = time.monotonic()
    with _signals_interrupt():
        supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", supervise.__file__, str(time_limit_s), *command],
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=not _WINDOWS,  # Ctrl-C reaches this process alone
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        assert supervisor.stdin and supervisor.stdout and supervisor.stderr
        drain, answer = _Drain(supervisor.stdout), _Drain(supervisor.stderr)
        try:
            _wait(supervisor, meanwhile)
        finally:
            supervisor.stdin.close()  # the supervisor ends everything
            supervisor.wait()
            drain.join(timeout=1.0)
            answer.join(timeout=1.0)
    how = _answer(bytes(answer.kept), supervisor.returncode)
    return Ended(
        output=bytes(drain.kept).decode("utf-8", "replace"),
        output_bytes=drain.total,
        seconds=time.monotonic() - started,
        **how,
    )


def _wait(process: subprocess.Popen[bytes], meanwhile: Callable[[], None] | None) -> None:
    while meanwhile is not None and process.poll() is None:
        meanwhile()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.1)
    process.wait()


def _answer(text: bytes, returncode: int) -> dict[str, Any]:
    try:
        return json.loads(text)
    except ValueError:  # the supervisor itself was killed
        return {"returncode": returncode, "timed_out": False, "left_behind": False}


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP raise `KeyboardInterrupt` in the block, unless somebody handles them."""
    names = ("SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []  # a thread cannot set handlers; the worker ends with this process all the same
    changed = [n for n in numbers if signal.getsignal(n) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


class _Drain(threading.Thread):
    """Reads a pipe to its end and keeps the beginning."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.kept = bytearray()
        self.total = 0
        self._pipe = pipe
        self.start()

    def run(self) -> None:
        while chunk := self._pipe.read1(65_536):  # type: ignore[attr-defined]
            self.total += len(chunk)
            self.kept += chunk[: max(0, OUTPUT_KEPT_BYTES - len(self.kept))]
        self._pipe.close()
