"""What both kinds of worker begin with: the request, the checks, the learner's file.

A worker is set up first, and says "ready"; then the learner's clock runs. See `events.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from fdlib.course.checks import load_from
from fdlib.course.grading.events import Results
from fdlib.course.grading.limits import make_room
from fdlib.course.grading.loader import explain, load_module, printable
from fdlib.course.grading.supervise import end_with_parent
from fdlib.xray.causes import causes

__all__ = ["checks_of", "load_answer", "opened", "setting_up"]


def opened(request_path: str) -> tuple[dict[str, Any], Results]:
    """The request, which is on disk no more, and where to write results."""
    end_with_parent()
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    Path(request_path).unlink()
    return request, Results(request["results"], request.pop("word"))


@contextmanager
def setting_up(results: Results) -> Iterator[None]:
    """What goes wrong in the block is this machine's fault: it is told, and the process ends."""
    try:
        yield
    except BaseException as error:
        kind = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
        results.add("refused", message=kind + printable(error))
        os._exit(1)


def checks_of(request: dict[str, Any]) -> ModuleType:
    """The module of the exercise's checks."""
    return load_from(request["checks_module"], request["checks_path"])


def load_answer(request: dict[str, Any], results: Results) -> ModuleType | None:
    """The learner's module; None if it does not load, and then that is told."""
    path = Path(request["path"])
    try:
        return load_module(path, request["module_name"], request["source"])
    except BaseException as error:
        make_room(causes(error))
        message, where = explain(error, path)
        results.add("import failed", message=message, location=where)
        return None
