"""The process between a run and its worker: it ends the worker, and all that the worker started.

Run as a script with the standard library only: `python -I -S supervise.py SECONDS COMMAND...`.
`process.py` holds the other end of its standard input. When that end closes, because whoever
asked is done, was interrupted or was killed, everything is ended. How the command ended goes to
stderr as one line of JSON; what the command prints goes to stdout.

On Linux this process adopts children whose parents have ended, so that one in a session of its own
is found too. Elsewhere only the worker's process group is ended, and on Windows only the worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

__all__ = ["main", "end_with_parent"]

_WINDOWS = sys.platform == "win32"
_LINUX = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_ending = threading.Lock()


def main(time_limit_s: float, command: Sequence[str]) -> None:
    """Run the command, end what is left of it, write how it ended, and end."""
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,  # stdout is the pipe to process.py; stderr here is for the answer
        start_new_session=not _WINDOWS,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    threading.Thread(target=_end_with_stdin, args=(process,), daemon=True).start()
    timed_out = False
    try:
        process.wait(timeout=time_limit_s)
    except subprocess.TimeoutExpired:
        timed_out = True
    with _ending:
        left_behind = _others_run(process) and not timed_out
        _end_all(process)
        process.wait()
        answer = {
            "returncode": process.returncode,
            "timed_out": timed_out,
            "left_behind": left_behind,
        }
        os.write(2, json.dumps(answer).encode())
        os._exit(0)  # the thread that reads stdin would keep the interpreter from ending


def _end_with_stdin(process: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):
        pass
    with _ending:
        _end_all(process)
        os._exit(1)


def _others_run(process: subprocess.Popen[bytes]) -> bool:
    """Whether something that the command started is still there, after the command has ended."""
    if _LINUX:
        return bool(_descendants())
    if not _WINDOWS:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, 0)
            return True
    return False


def _end_all(process: subprocess.Popen[bytes]) -> None:
    if _WINDOWS:
        process.kill()
        return
    # PermissionError: on macOS, a group of which only unreaped processes are left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5.0
    while _LINUX and (running := _descendants()) and time.monotonic() < deadline:
        for each in running:  # a new child of one of them is found in the next round
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        time.sleep(0.002)


def _descendants() -> set[int]:
    """The processes below this one that have not ended, from Linux's /proc."""
    parents: dict[int, int] = {}
    ended: set[int] = set()
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            parents[int(name)] = int(parent)
            if state in (b"Z", b"X"):
                ended.add(int(name))
    below = {os.getpid()}
    while more := {each for each, parent in parents.items() if parent in below} - below:
        below |= more
    return below - ended - {os.getpid()}


def end_with_parent() -> None:
    """End this process when the one that started it ends: for the worker, at its start."""
    parent = os.getppid()
    if _LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before this call
            os._exit(1)
    elif not _WINDOWS:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(0, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # without prctl there is only the group
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
