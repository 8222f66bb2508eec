"""The process that compiles a learner's kernels: `python -m fdlib.course.grading.compile_worker REQUEST.json`.

Started by `runner.py` for GPUs that need not be here, with Triton's interpreter off and no GPU in
sight. As in `worker.py`, the learner's text comes with the request, and results are JSON lines.
Each GPU gets a copy of this process, as many at a time as there are cores; if the compiler crashes
for one GPU, the others are still compiled.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.expect.check import Compilation
from fdlib.course.expect.compare import Mismatch
from fdlib.course.grading.compile_errors import explain_compile_error
from fdlib.course.grading.compile_warnings import warnings_of
from fdlib.course.grading.events import Results
from fdlib.course.grading.limits import hold_down
from fdlib.course.grading.loader import explain, printable
from fdlib.course.grading.opening import checks_of, load_answer, opened, setting_up
from fdlib.gpus import GPUS, GpuSpec
from fdlib.xray.causes import causes

if TYPE_CHECKING:
    from fdlib.xray.compiled import Launch

__all__ = ["main"]

_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}


def main(request_path: str) -> None:
    """Answer one request, then end the process without waiting for threads or exit handlers."""
    request, results = opened(request_path)
    with setting_up(results):
        from fdlib.xray.compiled import not_launching, warm_up

        compilations = checks_of(request).COMPILES
        warm_up()
    results.add("ready")
    hold_down(request["memory_limit_mb"])
    with not_launching():
        module = load_answer(request, results)
    if module is not None:
        gpus = [GPUS[name] for name in request["gpus"]]
        _for_each(gpus, results, lambda gpu, to: _compile(gpu, module, compilations, request, to))
        results.add("done")
    os._exit(0)


def _for_each(
    gpus: Sequence[GpuSpec], results: Results, work: Callable[[GpuSpec, Results], None]
) -> None:
    """Do the work for each GPU in a copy of this process, as many at a time as there are cores."""
    if not hasattr(os, "fork"):
        for gpu in gpus:
            work(gpu, results)
        return
    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork where libraries have threads
    waiting, running = list(gpus), dict[int, GpuSpec]()
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            gpu = waiting.pop(0)
            child = os.fork()
            if child == 0:
                _in_child(work, gpu, results.in_fork())
            running[child] = gpu
        child, status = os.wait()
        if child not in running:  # one that the learner's code started
            continue
        ended = running.pop(child)
        if status != 0:
            results.add("crashed", gpu=ended.name)


def _in_child(work: Callable[[GpuSpec, Results], None], gpu: GpuSpec, results: Results) -> None:
    status = 1
    try:
        work(gpu, results)
        status = 0
    finally:
        os._exit(status)


def _compile(
    gpu: GpuSpec,
    module: ModuleType,
    compilations: Sequence[Compilation],
    request: dict[str, Any],
    results: Results,
) -> None:
    from fdlib.xray.compiled import compiling_for

    results.add("begin", gpu=gpu.name)
    os.makedirs(tempfile.gettempdir(), exist_ok=True)  # the learner's code may have removed it
    capability = gpu.compute_capability
    for compilation in compilations:
        raised: BaseException | None = None
        with _printed() as printed, compiling_for(capability, device=capability) as launches:
            try:
                compilation.launch(module)
            except BaseException as error:
                raised = error
        for launch in launches:
            if launch.error is not None and _is_this_machine(launch.error):
                results.add("refused", message=printable(launch.error))
                return
        for row in _rows(gpu, launches, raised, compilation, request, printed()):
            results.add("compiled", **row)
    results.add("end", gpu=gpu.name)


def _is_this_machine(error: BaseException) -> bool:
    """Whether the compiler itself is what fails here: no ptxas, no place for its cache."""
    return any(
        "Cannot find ptxas" in printable(each)
        or (isinstance(each, OSError) and (each.errno in _MACHINE or "ptxas" in printable(each)))
        for each in causes(error)
    )


def _rows(
    gpu: GpuSpec,
    launches: Sequence[Launch],
    raised: BaseException | None,
    compilation: Compilation,
    request: dict[str, Any],
    printed: str,
) -> list[dict[str, Any]]:
    """A row for each kernel and each error, and one for what ended the launcher between kernels."""
    rows: list[dict[str, Any]] = []
    done: set[str] = set()
    for launch in launches:
        if launch.error is None and launch.name in done:
            continue
        row = _row(gpu, launch, compilation, request, printed)
        if launch.error is None:
            done.add(launch.name)
        if row not in rows:
            rows.append(row)
    errors = [launch.error for launch in launches if launch.error is not None]
    if not any(each in errors for each in causes(raised)) and (raised or not launches):
        rows.append(_no_launch(gpu, compilation, raised, Path(request["path"])))
    return rows


def _row(
    gpu: GpuSpec, launch: Launch, compilation: Compilation, request: dict[str, Any], printed: str
) -> dict[str, Any]:
    """The fields of a `Compiled`, with `read`, and `fails` if a warning is as bad as an error."""
    from fdlib.xray.compiled import resources

    path, source = Path(request["path"]), request["source"]
    row = _head(gpu, compilation, launch.name)
    if launch.error is not None:
        why = explain_compile_error(launch.error, path, source, printed)
        return row | {"error": why.message, "location": why.location, "read": why.read}
    takes = resources(launch.kernel)
    row |= {
        "shared_bytes": takes.shared_bytes,
        "registers": takes.registers,
        "spill_bytes": takes.local_bytes,
    }
    return row | warnings_of(
        gpu, launch.kernel, takes, ieee=compilation.ieee, path=path, source=source
    )


def _head(gpu: GpuSpec, compilation: Compilation, kernel: str) -> dict[str, Any]:
    return {
        "gpu": gpu.name,
        "compute_capability": gpu.compute_capability,
        "kernel": kernel,
        "setting": compilation.setting,
        "shared_limit_bytes": gpu.shared_kb_per_block * 1024,
    }


def _no_launch(
    gpu: GpuSpec, compilation: Compilation, raised: BaseException | None, path: Path
) -> dict[str, Any]:
    message, where = explain(raised, path) if raised else ("It launched no kernel.", "")
    if isinstance(raised, Mismatch):
        message = printable(raised)
    row = _head(gpu, compilation, "")
    return row | {"error": message, "location": where, "read": ""}


@contextmanager
def _printed() -> Iterator[Callable[[], str]]:
    """In the block, stderr goes to a file; the result gives its text, also after the block."""
    sys.stderr.flush()
    kept = os.dup(2)
    text = ""
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lambda: text
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            text = file.read().decode("utf-8", "replace")


if __name__ == "__main__":
    main(sys.argv[1])
