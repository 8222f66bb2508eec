"""A learner's file as text, and what cannot be read as such."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fdlib.course.reading import LONGEST_BYTES, is_special, read_source


def test_a_text_is_read_as_utf8_with_plain_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "ex91_toy.py"
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\nb = 2\r")
    assert read_source(path) == "a = 1\nb = 2\n"
    with pytest.raises(IsADirectoryError):
        read_source(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.py")
        with pytest.raises(ValueError, match=r"pipe\.py is a pipe or a device"):
            read_source(tmp_path / "pipe.py")
    for content in ("# Größe".encode("latin-1"), b"a\0b"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"ex91_toy\.py"):
            read_source(path)


def test_a_pipe_is_special_and_a_file_a_folder_or_nothing_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not any(map(is_special, (tmp_path, tmp_path / "file", tmp_path / "nothing")))
    assert is_special(Path(os.devnull))


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "ex91_toy.py"
    path.write_bytes(b"#" * (LONGEST_BYTES + 1))
    with pytest.raises(ValueError, match="1,000,001 bytes; more than 1,000,000 are not checked"):
        read_source(path)
