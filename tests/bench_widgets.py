"""From a key press to the new picture, in a browser: `python tests/bench_widgets.py`. It prints a table, no more.

JupyterLab and a headless Chromium run each widget of `widget_cells`. Each of its sliders gets the focus and is moved by
the arrow keys, one press after the last picture has come.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from test_lab import BROWSERS, FLAGS, IDLE, free_port, run_all_cells, serve, stop, wait_for_address
from widget_cells import CELLS, cell

ROOT = Path(__file__).resolve().parents[1]
HANDLES = ".fdlib-panel .noUi-handle, .fdlib-panel .ui-slider-handle"
# When a key was pressed, and when the next picture had loaded.
WATCH = """() => {
  const image = document.querySelector('.fdlib-panel img');
  window.pressed = window.loaded = null;
  addEventListener('keydown', () => { window.pressed = performance.now(); window.loaded = null; }, true);
  image.addEventListener('load', () => { window.loaded ??= performance.now(); });
}"""
TAKEN = """() => window.loaded === null ? null : window.loaded - window.pressed"""


def write_notebook(path: Path, source: str) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    notebook.metadata.kernelspec = {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    }
    nbformat.write(notebook, path)


def start_lab(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A JupyterLab on ``folder`` with settings of its own, and its address."""
    port, log = free_port(), folder / "lab.log"
    environment = dict(os.environ, PYTHONPATH=str(ROOT), HOME=str(folder))
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}"]
    server = serve(command, folder, environment, log)
    return server, wait_for_address(server, log, port)


def open_widget(page: Any, address: str, name: str) -> None:
    base, token = address.split("/lab", 1)[0], address.split("token=", 1)[1]
    page.goto(f"{base}/lab/tree/{name}.ipynb?token={token}&reset")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.wait_for_selector(IDLE, timeout=60_000)
    run_all_cells(page)
    page.wait_for_selector(".fdlib-panel img", timeout=60_000)
    page.wait_for_selector(IDLE, timeout=60_000)
    page.evaluate(WATCH)


def label_of(handle: Any) -> str:
    return handle.evaluate("h => h.closest('.widget-hslider').querySelector('label').innerText")


def measure(page: Any, handle: Any, presses: int) -> list[float]:
    """Milliseconds of that many moves, to and fro over the slider."""
    handle.focus()
    times: list[float] = []
    key, other = "ArrowRight", "ArrowLeft"
    while len(times) < presses:
        taken = press(page, handle, key)
        if taken is None:
            key, other = other, key
        else:
            times.append(taken)
    return times


def press(page: Any, handle: Any, key: str) -> float | None:
    """Milliseconds until the picture after this key has loaded; None at the end of the slider."""
    before = place_of(handle)
    page.keyboard.press(key)
    if place_of(handle) == before:
        return None
    for _ in range(500):
        taken = page.evaluate(TAKEN)
        if taken is not None:
            return taken
        page.wait_for_timeout(10)
    raise RuntimeError(f"no picture came within 5 s of {key}")


def place_of(handle: Any) -> str:
    return handle.get_attribute("aria-valuenow") or handle.get_attribute("style")


def measure_all(address: str, browser: str, names: list[str], presses: int) -> list[tuple]:
    from playwright.sync_api import sync_playwright

    rows = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=list(FLAGS))
        for name in names:
            page = chromium.new_page(viewport={"width": 1024, "height": 900})
            open_widget(page, address, name)
            for handle in page.query_selector_all(HANDLES):
                label = label_of(handle)
                measure(page, handle, 3)  # the first moves fill caches
                rows.append((name, label, measure(page, handle, presses)))
            page.close()
        chromium.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="widgets; all if none is named")
    parser.add_argument("--presses", type=int, default=40, help="moves of each slider")
    options = parser.parse_args()
    names = options.names or list(CELLS)
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            write_notebook(Path(folder, f"{name}.ipynb"), cell(name))
        server, address = start_lab(Path(folder))
        try:
            rows = measure_all(address, browser, names, options.presses)
        finally:
            stop(server)
    print_table(rows)


def print_table(rows: list[tuple]) -> None:
    print(f"{'widget':<26} {'slider':<16} {'moves':>5} {'median':>7} {'p95':>7} {'max':>7}  (ms)")
    for name, label, times in rows:
        p95 = statistics.quantiles(times, n=20)[-1]
        figures = f"{statistics.median(times):>7.0f} {p95:>7.0f} {max(times):>7.0f}"
        print(f"{name:<26} {label:<16} {len(times):>5} {figures}")
    every = [taken for _, _, times in rows for taken in times]
    p95 = statistics.quantiles(every, n=20)[-1]
    print(
        f"{'all':<43} {len(every):>5} {statistics.median(every):>7.0f} {p95:>7.0f} {max(every):>7.0f}"
    )


if __name__ == "__main__":
    main()
