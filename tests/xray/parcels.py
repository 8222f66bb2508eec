"""Names as a notebook has them, and their way to the process that traces."""

from __future__ import annotations

import types
from typing import Any

from fdlib.xray.tracing.parcel import Packer, unpack


def notebook_of(source: str) -> types.SimpleNamespace:
    """Names of a module that cannot be imported elsewhere, as those of a notebook."""
    names: dict = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), names)
    return types.SimpleNamespace(**{k: v for k, v in names.items() if not k.startswith("__")})


def travel(what: Any) -> Any:
    """What arrives, on copies of its memory."""
    packer = Packer()
    parcel = packer.pack(what)
    return unpack(parcel, [each.clone() for each in packer.storages], packer.sources)
