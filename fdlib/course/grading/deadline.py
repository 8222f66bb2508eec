"""End a worker at its time limit, and write down first where its threads were."""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import traceback
from datetime import timedelta
from itertools import islice
from typing import TextIO

__all__ = ["end_at"]

_LATER_S = 2.0  # until `faulthandler` looks: on a busy machine a thread may start late
# Of numpy's calls many let go of the interpreter for a moment. A thread that asks for it less often
# than they do may never get it.
_SWITCH_S = 1e-5
_MOST_FRAMES = 500  # of a thread: a recursion may be deep


def end_at(limit_s: float, trace: TextIO) -> None:
    """From now on, write each thread's stack to `trace` after `limit_s` seconds and end the process.

    A thread of this process looks, while the others stand still. Where one of them never lets it,
    as in a long call of C code, `faulthandler` looks a moment later; it reads stacks while they
    change, so of Python code that runs it may miss the line.
    """
    sys.setswitchinterval(_SWITCH_S)
    faulthandler.dump_traceback_later(limit_s + _LATER_S, exit=True, file=trace)
    args = limit_s, trace, threading.get_ident()
    threading.Thread(target=_end, args=args, daemon=True).start()


def _end(limit_s: float, trace: TextIO, main: int) -> None:
    threading.Event().wait(limit_s)
    frames = sys._current_frames()
    lines = [f"Timeout ({timedelta(seconds=limit_s)})!"]
    for thread in (main, *(each for each in frames if each != main)):
        lines.append(f"Thread 0x{thread:016x} (most recent call first):")
        for frame, line_number in islice(traceback.walk_stack(frames[thread]), _MOST_FRAMES):
            file = frame.f_code.co_filename.encode("ascii", "backslashreplace").decode()
            lines.append(f'  File "{file}", line {line_number} in {frame.f_code.co_name}')
    trace.write("\n".join([*lines, ""]))
    trace.flush()
    os._exit(1)
