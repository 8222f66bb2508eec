"""Record what a GPU does at many shapes, so that people without one can look at it: ``fdlib record``."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["part_of", "record_run"]


def record_run(out: str | Path | None = None, *, quick: bool = False, force: bool = False) -> Path:
    """Measure this machine's GPU and write the record to ``out``; returns where it is.

    ``out`` is ``GPU_timelines.json`` here unless given; ``quick`` measures a handful of shapes. Some
    minutes. Raises `RuntimeError` without a GPU, `FileExistsError` unless ``force``, `OSError` where
    ``out`` cannot be written.
    """
    from fdlib.device import interpreting, require_triton

    require_triton()
    import torch

    if not torch.cuda.is_available() or interpreting():
        raise RuntimeError(
            "record needs a GPU and kernels compiled for it; torch sees none here, or TRITON_INTERPRET is set. "
            "The H200's record ships with fdlib."
        )
    from fdlib.record.grid import FEW_SHAPES, SHAPES
    from fdlib.record.run import measure_all
    from fdlib.xray.recorder import short_name

    name = short_name(torch.cuda.get_device_name(0)).lower().replace(" ", "")
    path = Path(out) if out is not None else Path(f"{name}_timelines.json")
    check_writable(path, force=force)
    measure_all(path.resolve(), FEW_SHAPES if quick else SHAPES)  # a link stays one
    return path


def check_writable(path: Path, *, force: bool) -> None:
    """Raise before minutes of work: a file that is there (unless ``force``), or a place that cannot be written."""
    if path.is_dir():
        raise IsADirectoryError(f"out: got the folder {path}, takes a file")
    for each in (path.resolve(), part_of(path.resolve())):
        if os.path.lexists(each) and not each.is_file():
            raise FileExistsError(
                f"out: got {path}, and {each} is no regular file; take another name"
            )
    if path.exists() and not force:
        raise FileExistsError(f"out: {path} exists; take another name, or --force to replace it")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"out: got {path}, and there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"out: got {path}, and the folder {folder} cannot be written")


def part_of(path: Path) -> Path:
    """Where the record is written before it takes the place of ``path``."""
    return path.with_name(path.name + ".part")
