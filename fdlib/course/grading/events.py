"""What a worker tells the process that started it: JSON lines in a file, each with a word.

The word is new in each run, so that no line that a learner's code writes counts. The events, in the
order in which they come, and their fields:

    refused          message                   this machine is the matter; the worker ends
    ready            mode, gpu                 set up: the learner's clock runs from here
    import failed    message, location         the learner's file does not load; the worker ends
    begin            name                      a check begins
    result           name, and what of a `CheckResult` is known: at its end, and once more if the
                     cause of a wrong answer is found, after "done"
    done                                       every check, or every GPU, has had its turn

From `compile_worker.py`, where "ready" has no fields and a GPU takes the place of a check:

    begin, end       gpu                       it is compiled for this GPU
    compiled         the fields of a `Compiled`, with read, and fails: a warning is as bad as an error
    refused          message                   also here, if Triton's compiler cannot do its work
    crashed          gpu                       the copy of the worker for this GPU ended by itself
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from json import dumps  # bound before the learner's code can put another in its place
from typing import Any

__all__ = ["Results", "read_events"]


class Results:
    """Appends one JSON line per event; a forked copy of this process ends instead of writing."""

    def __init__(self, path: str, word: str) -> None:
        self._path = path
        self._word = word
        self._process = os.getpid()

    def add(self, event: str, **data: Any) -> None:
        """Write one event; it is on disk when this returns."""
        if os.getpid() != self._process:
            os._exit(0)
        # Opened anew each time: the learner's code may close file descriptors.
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(dumps({"event": event, "word": self._word, **data}) + "\n")

    def in_fork(self) -> Results:
        """The same, for a copy of this process that is meant to write."""
        return Results(self._path, self._word)


def read_events(results: str, word: str) -> Iterator[dict[str, Any]]:
    """The events of a text of JSON lines, in order."""
    for line in results.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            return  # the process ended while it wrote this line
        if isinstance(event, dict) and event.pop("word", None) == word:
            yield event
