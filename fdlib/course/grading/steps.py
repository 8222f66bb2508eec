"""Start a worker for one step of a check, in a folder of its own, and hand back what it left."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fdlib.course.grading.events import read_events
from fdlib.course.grading.process import Ended, supervised

__all__ = ["OnEvents", "Run", "run_step"]

_GRACE_S = 3.0  # the worker ends itself at the limit and says where it was (`deadline.py`); later it is killed

OnEvents = Callable[[list[dict[str, Any]]], None]


@dataclass(frozen=True)
class Run:
    """What a worker was asked and what it left behind."""

    request: dict[str, Any]
    results: str  # JSON lines
    trace: str
    ended: Ended

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it told, in order."""
        return list(read_events(self.results, self.request["word"]))


def run_step(
    module: str,
    request: Mapping[str, Any],
    environment: Mapping[str, str],
    on_events: OnEvents | None = None,
) -> Run:
    """Run `python -m MODULE REQUEST.json`, with `environment` added to this process's own.

    The request's time limit counts from the worker's "ready". `on_events` gets all events so far,
    each time that there are more.
    """
    with supervised() as group:
        scratch = group.folder
        results, trace = scratch / "results.jsonl", scratch / "trace.txt"
        words = {"word": secrets.token_hex(8), "mark": secrets.token_hex(8)}
        asked = {**request, **words, "results": str(results), "trace": str(trace)}
        (scratch / "request.json").write_text(json.dumps(asked), encoding="utf-8")
        (scratch / "cwd").mkdir()  # an empty folder to work in: nothing there shadows a module
        (scratch / "tmp").mkdir()
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch / "tmp"))
        watch = _Watch(results, asked["word"], group.begin, on_events)
        ended = group.run(
            [sys.executable, "-u", "-m", module, str(scratch / "request.json")],
            cwd=scratch / "cwd",
            env={**_environment(), **temporary, **environment},
            time_limit_s=asked["time_limit_s"] + _GRACE_S,
            meanwhile=watch,
        )
        watch()
        return Run(asked, _read(results), _read(trace), ended)


class _Watch:
    """Looks at the results each time that it is called, and passes them on if there are more.

    `on_ready` is called when the worker is ready for the learner's file.
    """

    def __init__(
        self, results: Path, word: str, on_ready: Callable[[], None], on_events: OnEvents | None
    ) -> None:
        self._results = results
        self._word = word
        self._on_ready: Callable[[], None] | None = on_ready
        self._on_events = on_events
        self._seen = 0

    def __call__(self) -> None:
        text = _read(self._results)
        if len(text) > self._seen and text.endswith("\n"):
            self._seen = len(text)
            events = list(read_events(text, self._word))
            if self._on_ready and any(event["event"] == "ready" for event in events):
                self._on_ready()
                self._on_ready = None
            if self._on_events:
                self._on_events(events)


def _environment() -> dict[str, str]:
    """This process's environment, in which the worker finds the fdlib that runs now."""
    environment = dict(os.environ, PYTHONIOENCODING="utf-8:backslashreplace")
    package_parent = Path(__file__).resolve().parents[3]
    if package_parent.name not in {"site-packages", "dist-packages"}:
        paths = [str(package_parent), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return environment


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
