"""The process between a run and its worker: it ends the worker, all that the worker started, and the scratch folder.

Run as a script with the standard library only: `python -I -S supervise.py FOLDER`. `process.py`
holds the other end of its standard input: one line of JSON there is the command and its limits,
and whatever comes behind it says that the command has begun its work: its time limit starts then.
How the command ended goes to stderr as one line of JSON; what the command prints goes to stdout.
When standard input closes, because whoever asked is done, was interrupted or was killed, everything
is ended and the folder is removed.

On Linux this process adopts children whose parents have ended, so that one in a session of its own
is found too, and it looks ten times a second at how many processes there are and at the memory that
they hold. Elsewhere only the worker's process group is ended, and on Windows only the worker;
neither memory nor the number of processes is looked at there.
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
from typing import Any

__all__ = ["main", "end_with_parent", "remove_folder"]

_WINDOWS = sys.platform == "win32"
_LINUX = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_LOOK_EVERY_S = 0.1
_ending = threading.Lock()
_begun = threading.Event()


def main(folder: str) -> None:
    """Run the command, end what is left of it, write how it ended; at the end remove the folder."""
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    asked = b""
    while not asked.endswith(b"\n"):
        if not (more := os.read(0, 65_536)):
            remove_folder(folder)
            os._exit(1)
        asked += more
    request = json.loads(asked)
    process = subprocess.Popen(
        request["command"],
        cwd=request["cwd"],
        env=request["env"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,  # stdout is the pipe to process.py; stderr here is for the answer
        start_new_session=not _WINDOWS,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    closing = threading.Thread(target=_end_with_stdin, args=(process, folder), daemon=True)
    closing.start()
    limit = _wait(process, request)
    with _ending:
        left_behind = not limit and _others_run(process)
        _end_all(process)
        process.wait()
        answer = {"returncode": process.returncode, "limit": limit, "left_behind": left_behind}
        os.write(2, json.dumps(answer).encode())
        os.close(2)
        os.close(1)
    while True:  # what is in the folder is being read; `_end_with_stdin` ends this process
        closing.join(timeout=60)


def _end_with_stdin(process: subprocess.Popen[bytes], folder: str) -> None:
    while os.read(0, 4096):
        _begun.set()
    with _ending:
        if process.returncode is None:
            _end_all(process)
        remove_folder(folder)
        os._exit(0)


def _wait(process: subprocess.Popen[bytes], request: dict[str, Any]) -> str:
    """Wait for the end; the limit that was passed first, else "".

    "set-up" and "time" are those of the time before the work began and since then.
    """
    ended = threading.Thread(target=process.wait, daemon=True)
    ended.start()
    limit, deadline = "set-up", time.monotonic() + request["setup_limit_s"]
    pause_s = _LOOK_EVERY_S
    while (left_s := deadline - time.monotonic()) > 0:
        if limit == "set-up" and _begun.is_set():
            limit, deadline = "time", time.monotonic() + request["time_limit_s"]
            continue
        ended.join(timeout=min(pause_s, left_s))
        if not ended.is_alive():
            return ""
        started = time.monotonic()
        if _LINUX and (passed := _passed(_descendants(), request)):
            process.send_signal(signal.SIGABRT)  # a worker writes down where it was
            ended.join(timeout=0.2)
            return passed
        # On a machine with thousands of processes a look takes long: at most a twentieth of the time.
        pause_s = max(_LOOK_EVERY_S, 20 * (time.monotonic() - started))
    return limit


def _passed(resident_bytes: dict[int, int], request: dict[str, Any]) -> str:
    if len(resident_bytes) > request["most_processes"]:
        return "processes"
    return "memory" if sum(resident_bytes.values()) > request["most_memory_bytes"] else ""


def _others_run(process: subprocess.Popen[bytes]) -> bool:
    """Whether something that the command started is still there, after the command has ended."""
    if _LINUX:
        return bool(_running())
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
    while _LINUX and (running := _running()) and time.monotonic() < deadline:
        for each in running:  # a new child of one of them is found in the next round
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        time.sleep(0.002)


def _running() -> dict[int, int]:
    """`_descendants`, looked for again where none was seen.

    A process that forks and ends between the two steps of a look hides its child from that look.
    """
    return _descendants() or _descendants()


def _descendants() -> dict[int, int]:
    """The processes below this one that have not ended, from Linux's /proc, and their resident bytes."""
    parents: dict[int, int] = {}
    resident: dict[int, int] = {}
    page = os.sysconf("SC_PAGE_SIZE")
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # from the third on
            parents[int(name)] = int(fields[1])
            if fields[0] not in (b"Z", b"X"):
                resident[int(name)] = int(fields[21]) * page
    below = {os.getpid()}
    while more := {each for each, parent in parents.items() if parent in below} - below:
        below |= more
    below.remove(os.getpid())
    return {each: resident[each] for each in below if each in resident}


def remove_folder(folder: str) -> None:
    """Remove a folder, however deep it is and whatever its permissions; links are not followed.

    Folders in it are moved up and emptied one by one: no path gets too long, nothing is recursive.
    """
    if os.path.islink(folder) or not os.path.isdir(folder):
        return
    waiting, moved = [folder], 0
    while waiting:
        current = waiting.pop()
        with contextlib.suppress(OSError):
            os.chmod(current, 0o700)
        for entry in _entries(current):
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                os.chmod(entry.path, 0o700)
                up, moved = os.path.join(folder, f"fdlib-up-{moved}"), moved + 1
                os.rename(entry.path, up)
                waiting.append(up)
        if current != folder:
            with contextlib.suppress(OSError):
                os.rmdir(current)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


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
    main(sys.argv[1])
