"""`make lab` serves JupyterLab, and notebook 00 runs to its end in a browser.

It runs make itself, on a fresh copy of the course with this environment as its .venv, and drives a headless Chromium.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import committed
import pytest

ROOT = Path(__file__).resolve().parents[1]
FIRST = "00_start_here.ipynb"
START_LIMIT_S, RUN_LIMIT_S = 120, 180
IDLE = '#jp-main-statusbar :text-matches("Python 3.* \\| Idle")'  # a kernel is connected, and does nothing
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-default-apps", "--disable-extensions", "--mute-audio"),
)
# What the page shows: how many cells have run and wait to run, and what went wrong.
STATE = """() => {
  const prompts = [...document.querySelectorAll('.jp-Notebook .jp-CodeCell .jp-InputPrompt')].map(p => p.innerText);
  const texts = selector => [...document.querySelectorAll(selector)].map(e => e.innerText);
  return {
    ran: prompts.filter(text => /\\d/.test(text)).length,
    waiting: prompts.filter(text => text.includes('*')).length,
    errors: texts('[data-mime-type="application/vnd.jupyter.error"],' +
                  '[data-mime-type="application/vnd.jupyter.stderr"]'),
    dialogs: texts('.jp-Dialog'),
    notices: texts('.Toastify__toast'),
  };
}"""

pytestmark = [pytest.mark.lab, pytest.mark.timeout(START_LIMIT_S + RUN_LIMIT_S + 60)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cannot_run(reason: str) -> NoReturn:
    """Skip; but fail in CI on Linux, which installs all that this needs."""
    if os.environ.get("CI") and sys.platform == "linux":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def browser_path() -> str:
    if importlib.util.find_spec("playwright") is None:
        cannot_run("playwright is not installed")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        cannot_run(f"none of {', '.join(BROWSERS)} is installed")
    return found


@pytest.fixture
def folder(tmp_path):
    """What `make lab` needs, with nothing that a learner has written."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        (tmp_path / "course").mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "course" / name)
    return committed.write_course(tmp_path / "course")


@pytest.fixture
def lab_url(tmp_path, folder):
    """The address that `make lab` prints; the server and all it started end with the test."""
    if shutil.which("make") is None:
        cannot_run("make is not installed")
    port = free_port()
    command = ["make", "-o", f"{sys.prefix}/.ready", "lab"]
    command += [f"VENV={sys.prefix}", "BROWSER=0", f"PORT={port}"]
    handed_down = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "PYTHON")
    environment = {k: v for k, v in os.environ.items() if k not in handed_down}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        environment[name] = str(tmp_path / name)
    log = tmp_path / "lab.log"
    server = serve(command, folder, environment, log)
    try:
        yield wait_for_address(server, log, port)
    finally:
        stop(server)


def serve(
    command: list[str], folder: Path, environment: dict[str, str], log: Path
) -> subprocess.Popen:
    """Start a server in a session of its own; what it prints goes to ``log``."""
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def wait_for_address(server: subprocess.Popen, log: Path, port: int) -> str:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and server.poll() is None:
        found = re.search(rf"http://127\.0\.0\.1:{port}/lab\S*\?token=\w+", log.read_text())
        if found:
            return found.group()
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()}")


def stop(server: subprocess.Popen) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, number)
            server.wait(timeout=10)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


@pytest.fixture
def page(browser_path, tmp_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path / "profile",
            executable_path=browser_path,
            headless=True,
            args=list(FLAGS),
            # every cell is in view, so every cell is drawn
            viewport={"width": 1280, "height": 20000},
        )
        yield context.pages[0] if context.pages else context.new_page()
        context.close()


def run_all_cells(page) -> None:
    """Choose Run All from the menu; again if Lab, still laying itself out, closed the menu instead."""
    for _ in range(10):
        page.locator('.lm-MenuBar-item:has-text("Run")').click()
        page.locator('li[data-command="runmenu:run-all"]').click(timeout=10_000)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            state = page.evaluate(STATE)
            if state["ran"] or state["waiting"]:
                return
            time.sleep(0.1)
        page.keyboard.press("Escape")
    pytest.fail("Run All Cells ran nothing")


def wait_for_the_end(page, cells: int) -> dict:
    """Wait until every cell has run, or an error has stopped them."""
    deadline = time.monotonic() + RUN_LIMIT_S
    state: dict = {}
    while time.monotonic() < deadline:
        time.sleep(0.5)
        state = page.evaluate(STATE)
        if not state["waiting"] and (state["ran"] == cells or state["errors"] or state["dialogs"]):
            page.wait_for_selector(IDLE, timeout=10_000)
            return page.evaluate(STATE)
    pytest.fail(f"the notebook did not come to its end, {cells} cells: {state}")


def test_first_notebook_runs_in_the_browser(lab_url, folder, page):
    assert f"/tree/notebooks/{FIRST}" in lab_url
    first = folder / "notebooks" / FIRST
    if not first.exists():
        pytest.skip("not a git checkout, and notebook 00 was run")
    before = first.read_bytes()
    cells = len([cell for cell in committed.code_cells(before) if cell.source.strip()])
    page.goto(lab_url)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.wait_for_selector(IDLE, timeout=60_000)
    run_all_cells(page)
    state = wait_for_the_end(page, cells)
    assert state == {"ran": cells, "waiting": 0, "errors": [], "dialogs": [], "notices": []}
    assert first.read_bytes() == before
