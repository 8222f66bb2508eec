"""Run the course's notebooks headless, each in a fresh kernel (``make course``). The files are only read."""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["NotebookResult", "record", "run_course", "run_notebook", "table"]

CELL_TIME_LIMIT_S = 300
KERNEL = "python3"  # the environment's own: nothing is registered outside it


@dataclass(frozen=True)
class NotebookResult:
    """How one notebook ran: code cells executed, wall time, and the first error if there was one."""

    notebook: str
    cells: int
    seconds: float
    ok: bool
    error: str | None = None
    stderr: str = ""


def run_notebook(
    path: Path | str,
    *,
    cell_time_limit_s: int = CELL_TIME_LIMIT_S,
    on_cell: Callable[[int, int], None] | None = None,
) -> NotebookResult:
    """Execute a notebook from top to bottom in a fresh kernel that works in the notebook's folder.

    ``on_cell(done, total)`` is called after each code cell. A cell that raises, exceeds ``cell_time_limit_s`` or
    kills the kernel ends the notebook and is reported, not raised; an unreadable notebook is reported alike.
    """
    path = Path(path)
    start = time.perf_counter()
    total, done, error, stderr = 0, 0, None, ""
    try:
        notebook = _read(path)
        total = _code_cells(notebook)

        def count(**_: Any) -> None:
            nonlocal done
            done += 1
            if on_cell is not None:
                on_cell(done, total)

        _execute(notebook, path.parent, cell_time_limit_s, count)
    except Exception as caught:
        error = _first_line(caught)
    else:
        stderr = _stderr(notebook)
    seconds = time.perf_counter() - start
    return NotebookResult(path.name, done, round(seconds, 2), error is None, error, stderr)


def run_course(paths: Sequence[Path | str], *, out: Any = None) -> list[NotebookResult]:
    """Execute notebooks one after another, saying on ``out`` (stdout) how far it is, then print the table."""
    out = out or sys.stdout
    results = []
    for number, path in enumerate(paths, start=1):
        name = f"[{number}/{len(paths)}] {Path(path).stem}"
        result = run_notebook(path, on_cell=_progress(name, out))
        ending = "ok" if result.ok else f"FAILED: {result.error}"
        _rewrite(out, f"{name}: {result.cells} cells, {result.seconds:.1f} s, {ending}\n")
        results.append(result)
    out.write("\n" + table(results) + "\n")
    out.flush()
    return results


def table(results: Sequence[NotebookResult]) -> str:
    """Return the results as a table: notebook, cells, seconds, ok."""
    width = max([len("notebook"), *(len(result.notebook) for result in results)])
    lines = [f"{'notebook':<{width}}  cells  seconds  ok"]
    for result in results:
        row = f"{result.notebook:<{width}}  {result.cells:>5}  {result.seconds:>7.1f}  "
        lines.append(row + ("yes" if result.ok else f"no: {result.error}"))
    cells = sum(result.cells for result in results)
    seconds = sum(result.seconds for result in results)
    failed = sum(not result.ok for result in results)
    verdict = f"{failed} failed" if failed else "all ok"
    lines.append(f"{'total':<{width}}  {cells:>5}  {seconds:>7.1f}  {verdict}")
    return "\n".join(lines)


def record(results: Sequence[NotebookResult], path: Path | str) -> None:
    """Write the results as JSON with what they were measured on: platform, GPU, versions, date."""
    from fdlib.doctor import machine_facts

    content = {
        **machine_facts(),
        "cpus": os.cpu_count(),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "command": " ".join(["fdlib", *(Path(word).name for word in sys.argv[1:])]),
        "notebooks": [asdict(result) for result in results],
        "ok": all(result.ok for result in results),
    }
    Path(path).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _read(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, as_version=4)


def _code_cells(notebook: Any) -> int:
    """Cells that a kernel executes: code, and not blank."""
    return sum(cell.cell_type == "code" and bool(cell.source.strip()) for cell in notebook.cells)


def _execute(notebook: Any, folder: Path, limit_s: int, count: Callable) -> None:
    from nbclient import NotebookClient

    # This environment's python3, not the user's.
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    NotebookClient(
        notebook,
        kernel_name=KERNEL,
        timeout=limit_s,
        extra_arguments=["--log-level=40"],  # the kernel's own log, not the cells' output
        resources={"metadata": {"path": str(folder)}},
        on_cell_executed=count,
    ).execute()


def _first_line(error: Exception) -> str:
    """One line for a reader: the exception that a cell raised, or what stopped the kernel."""
    name = getattr(error, "ename", None)
    if name:
        return f"{name}: {getattr(error, 'evalue', '')}".splitlines()[0]
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": ")


def _stderr(notebook: Any) -> str:
    """What the cells wrote to stderr: warnings that a learner would see."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stderr")


def _progress(name: str, out: Any) -> Callable[[int, int], None]:
    """On a terminal rewrite one line at each cell; elsewhere say so at each quarter of the notebook."""
    said = 0

    def on_cell(done: int, total: int) -> None:
        nonlocal said
        if out.isatty():
            _rewrite(out, f"{name}: cell {done} of {total}")
        elif done * 4 // total > said and done < total:
            said = done * 4 // total
            out.write(f"{name}: cell {done} of {total}\n")
            out.flush()

    return on_cell


def _rewrite(out: Any, text: str) -> None:
    out.write(f"\r\033[K{text}" if out.isatty() else text)
    out.flush()
