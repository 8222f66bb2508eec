"""Trace in a child process that runs kernels under the interpreter, where this process compiles them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fdlib.xray.tracing.data import Trace, TraceError
from fdlib.xray.tracing.parcel import Packer
from fdlib.xray.tracing.settings import settings

if TYPE_CHECKING:
    from fdlib.xray.tracing.here import Options

__all__ = ["trace_in_child"]

_WORKER = "fdlib.xray.tracing.worker"


class _InChild(Exception):
    """The traceback of the child; stands as the cause of what it raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def trace_in_child(fn: Callable[..., Any], args: Any, kw: Any, options: Options) -> Trace:
    """What `trace_here` returns or raises, from a process of its own; what ``fn`` prints is printed here."""
    packer = Packer()
    request: dict[str, Any] = {
        "parcel": packer.pack((fn, args, kw, options)),
        "sources": packer.sources,
        "settings": settings(),
    }
    with tempfile.TemporaryDirectory(prefix="fdlib-trace-") as name:
        folder = Path(name)
        request["storages"] = len(packer.storages)
        for number, storage in enumerate(packer.storages):
            (folder / f"{number}.bin").write_bytes(_bytes_of(storage))
        (folder / "request.pickle").write_bytes(pickle.dumps(request))
        exit_code = _run(folder)
        print(_said(folder / "stdout"), end="")
        print(_said(folder / "stderr"), end="", file=sys.stderr)
        answer = folder / "answer.pickle"
        if not answer.exists():
            raise TraceError(
                "trace: the process that ran your kernels ended without an answer "
                f"(exit code {exit_code}). What it said last stands above."
            )
        return _result(pickle.loads(answer.read_bytes()))


def _run(folder: Path) -> int:
    """What it prints goes to files: a pipe would stay open as long as any process that ``fn`` started."""
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        return subprocess.run(
            [sys.executable, "-m", _WORKER, str(folder)],
            env=_environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
        ).returncode  # fmt: skip


def _said(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _bytes_of(storage: Any) -> memoryview:
    import torch

    flat = torch.empty(0, dtype=torch.uint8)
    return flat.set_(storage.cpu()).numpy().data


def _environment() -> dict[str, str]:
    """This process's, but for the mode of Triton; no GPU is seen, and modules are found as here."""
    paths = [path or os.getcwd() for path in sys.path]
    changes = {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONIOENCODING": "utf-8"}
    return os.environ | changes | {"PYTHONPATH": os.pathsep.join(paths)}


def _result(answer: dict[str, Any]) -> Trace:
    if "trace" in answer:
        return answer["trace"]
    error: BaseException
    try:
        error = pickle.loads(answer["error"])
    except Exception:  # its class cannot be sent, or not be made from its text
        error = TraceError(f"trace: fn raised {answer['text']}")
    raise error from _InChild(answer["traceback"])
