"""Run one process and all that it starts, and end them together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], time_limit_s: float
) -> Ended:
    """Run a command in a process group of its own, which is killed at the limit or an interrupt.

    The output goes through pipes that are always drained: megabytes of it neither block nor fill a
    disk. On Windows only the process itself can be killed.
    """
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=not _WINDOWS,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    assert process.stdout is not None
    drain = _Drain(process.stdout)
    timed_out = False
    left_behind = False
    try:
        process.wait(timeout=time_limit_s)
        left_behind = _group_exists(process.pid)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        _kill_group(process)
        process.wait()
        drain.join(timeout=1.0)
    return Ended(
        returncode=process.returncode,
        output=bytes(drain.kept).decode("utf-8", "replace"),
        output_bytes=drain.total,
        timed_out=timed_out,
        left_behind=left_behind,
        seconds=time.monotonic() - started,
    )


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


def _group_exists(group: int) -> bool:
    if _WINDOWS:
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, 0)
        return True
    return False


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if _WINDOWS:
        process.kill()
        return
    # PermissionError: on macOS, a group of which only unreaped processes are left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
