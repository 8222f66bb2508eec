"""Run one process and all that it starts, and end them together."""

from __future__ import annotations

import contextlib
import json
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fdlib.course.grading import supervise

__all__ = [
    "MOST_MEMORY_MB",
    "MOST_PROCESSES",
    "OUTPUT_KEPT_BYTES",
    "SETUP_LIMIT_S",
    "Ended",
    "Group",
    "supervised",
]

OUTPUT_KEPT_BYTES = 16_384
MOST_MEMORY_MB = 6144  # that all processes of a group hold together
MOST_PROCESSES = 200  # of a group at a time
SETUP_LIMIT_S = 120.0  # until `Group.begin`; importing torch from a cold disk takes half a minute
_WINDOWS = sys.platform == "win32"
# The limit where less is free. What copies of a process share counts for each: compiling for five
# GPUs at a time comes to 2 GB.
_LEAST_MEMORY_MB = 3072
_SUPERVISOR_S = 10.0  # it ends the group at its limit; if it does not, it is ended after these


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    returncode: int  # negative: the signal that ended it
    output: str  # stdout and stderr together, the first 16 KiB
    output_bytes: int  # all that was printed
    limit: str  # at which it was ended: "set-up", "time", "memory" or "processes"; "" for none
    most_memory_mb: int  # the limit of the memory
    left_behind: bool  # processes that it had started were still there, and were ended
    seconds: float
    trouble: str = ""  # what the supervisor itself failed with


@contextlib.contextmanager
def supervised() -> Iterator[Group]:
    """A group of processes, not started yet, and its scratch folder; both end with the block.

    `supervise.py` stands between: see there what is found on which platform. It ends the group and
    removes the folder also if this process is killed. SIGTERM and SIGHUP count as an interrupt.
    Raises `RuntimeError` if this machine starts no process.
    """
    with _signals_interrupt():
        # The supervisor is there before the folder is: at no moment is nobody there to remove it.
        folder = Path(tempfile.gettempdir()) / f"fdlib-{secrets.token_hex(8)}"
        supervisor = _supervisor(folder)
        assert supervisor.stdin
        try:
            folder.mkdir(mode=0o700)
            yield Group(folder, supervisor)
        finally:
            with contextlib.suppress(BrokenPipeError):  # the supervisor itself was killed
                supervisor.stdin.close()
            supervisor.wait()
            supervise.remove_folder(str(folder))  # then the folder is still there


def _supervisor(folder: Path) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", supervise.__file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=not _WINDOWS,  # Ctrl-C reaches this process alone
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except OSError as error:
        raise RuntimeError(f"No process can be started here. {error}") from error


class Group:
    """One command and all that it starts; they may leave files in `folder`."""

    def __init__(self, folder: Path, supervisor: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self._supervisor = supervisor
        self._time_limit_s = 0.0
        self._deadline = 0.0  # of the supervisor

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        time_limit_s: float,
        meanwhile: Callable[[], None] | None = None,
    ) -> Ended:
        """Run the command to its end or to a limit; then nothing that it started is left.

        `time_limit_s` counts from `begin`, which `meanwhile` may call; before, `SETUP_LIMIT_S` holds.
        The output goes through pipes that are always drained: megabytes of it neither block nor
        fill a disk. `meanwhile` is called some ten times a second.
        """
        started = time.monotonic()
        supervisor, most_memory_mb = self._supervisor, _most_memory_mb()
        assert supervisor.stdin and supervisor.stdout and supervisor.stderr
        drain, answer = _Drain(supervisor.stdout), _Drain(supervisor.stderr)
        request = {
            "command": list(command),
            "cwd": str(cwd),
            "env": dict(env),
            "setup_limit_s": SETUP_LIMIT_S,
            "time_limit_s": time_limit_s,
            "most_memory_bytes": most_memory_mb * 2**20,
            "most_processes": MOST_PROCESSES,
        }
        self._time_limit_s = time_limit_s
        self._deadline = started + SETUP_LIMIT_S + _SUPERVISOR_S
        self._tell(json.dumps(request).encode())
        while answer.is_alive():
            answer.join(timeout=0.1)
            if meanwhile is not None:
                meanwhile()
            if time.monotonic() > self._deadline:
                supervisor.kill()  # somebody stopped it; the worker ends with it
        drain.join(timeout=1.0)
        return Ended(
            output=bytes(drain.kept).decode("utf-8", "replace"),
            output_bytes=drain.total,
            seconds=time.monotonic() - started,
            most_memory_mb=most_memory_mb,
            **_answer(bytes(answer.kept)),
        )

    def begin(self) -> None:
        """Say that the command is set up and begins its work: its time limit starts now."""
        self._deadline = time.monotonic() + self._time_limit_s + _SUPERVISOR_S
        self._tell(b"")

    def _tell(self, line: bytes) -> None:
        stdin = self._supervisor.stdin
        assert stdin
        with contextlib.suppress(BrokenPipeError):  # the supervisor itself was killed
            stdin.write(line + b"\n")
            stdin.flush()


def _most_memory_mb() -> int:
    """`MOST_MEMORY_MB`, or what is free if that is less: the learner's machine is to go on."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return MOST_MEMORY_MB
    free = [int(line.split()[1]) // 1024 for line in text.splitlines() if "MemAvail" in line]
    return min([MOST_MEMORY_MB, *(max(_LEAST_MEMORY_MB, each) for each in free)])


def _answer(text: bytes) -> dict[str, Any]:
    try:
        return json.loads(text)
    except ValueError:  # the supervisor failed or was killed, and the worker ended with it
        said = text.decode("utf-8", "replace").strip().splitlines()
        return {
            "returncode": -int(getattr(signal, "SIGKILL", 9)),
            "limit": "",
            "left_behind": False,
            "trouble": "".join(said[-1:]),  # of a traceback, what was raised
        }


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
