from __future__ import annotations

import multiprocessing
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fdlib.course import files
from fdlib.course.files import (
    Refused,
    file_digest,
    keep_copy,
    locked,
    must_be_writable,
    sentence,
    shown,
    write_atomically,
)

from .toy import linux_only, posix_only


def test_text_is_written_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    write_atomically(path, "é\r\nb\n")
    assert path.read_bytes() == "é\r\nb\n".encode()
    write_atomically(path, b"\xff")
    assert path.read_bytes() == b"\xff"
    assert [each.name for each in tmp_path.iterdir()] == ["a.py"]


@posix_only
def test_the_mode_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    path.chmod(0o640)
    write_atomically(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@posix_only
def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f".b.py.{ended.pid}.7.fdlib.tmp"
    alive = tmp_path / f".a.py.{os.getppid()}.7.fdlib.tmp"
    other = tmp_path / ".a.py.notes.x.fdlib.tmp"
    for path in (left, alive, other):
        path.write_text("")
    write_atomically(tmp_path / "a.py", "new")
    assert not left.exists()
    assert alive.exists()
    assert other.exists()


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.py"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.py", "old")]


def test_no_copy_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "ex05_flash.py"
    copies = []
    for content in (b"\xff\xfe1", b"2", b"3"):
        path.write_bytes(content)
        copies.append(keep_copy(path, tmp_path / "backups"))
    assert [copy.read_bytes() for copy in copies] == [b"\xff\xfe1", b"2", b"3"]
    assert len({copy.name for copy in copies}) == 3
    assert all(copy.name.startswith("ex05_flash.20") and copy.suffix == ".py" for copy in copies)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0", b"a" + bytes(200_000) + b"b", b"a" * 70_000 + bytes(65_536), bytes(131_072)],
)
def test_a_copy_is_the_same_byte_for_byte(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.py").write_bytes(content)
    assert keep_copy(tmp_path / "a.py", tmp_path / "backups").read_bytes() == content


@linux_only
def test_a_hole_is_copied_as_a_hole(tmp_path: Path) -> None:
    with open(tmp_path / "a.py", "wb") as file:
        file.write(b"x = 1\n")
        file.truncate(1 << 26)
    if (tmp_path / "a.py").stat().st_blocks > 1000:
        pytest.skip("this file system has no holes")
    copy = keep_copy(tmp_path / "a.py", tmp_path / "backups")
    assert copy.stat().st_size == 1 << 26
    assert copy.stat().st_blocks < 1000


@posix_only
def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    with pytest.raises(OSError, match="it is a pipe or a device; remove it"), locked(tmp_path):
        pass


def test_the_lock_is_held_by_one_thread_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")

    def add() -> None:
        for _ in range(20):
            with locked(tmp_path):
                path.write_text(str(int(path.read_text()) + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "80"


def _hold(folder: Path, held) -> None:
    with locked(folder):
        held.set()
        threading.Event().wait()


def test_a_killed_process_frees_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    process = context.Process(target=_hold, args=(tmp_path, held))
    process.start()
    try:
        assert held.wait(30)
        monkeypatch.setattr(files, "_LOCK_WAIT_S", 0.1)
        with pytest.raises(TimeoutError, match="another fdlib is busy"), locked(tmp_path):
            pass
    finally:
        process.kill()
        process.join()
    monkeypatch.setattr(files, "_LOCK_WAIT_S", 10.0)
    with locked(tmp_path):
        pass


def test_what_may_not_be_written_is_named(tmp_path: Path) -> None:
    must_be_writable(tmp_path / "new.py")
    for name, message in (("link", "is a link to"), ("folder", "is a folder; move it away")):
        path = tmp_path / name
        path.mkdir() if name == "folder" else path.symlink_to(tmp_path / "gone")
        with pytest.raises(Refused, match=message):
            must_be_writable(path)
    path = tmp_path / "my file.py"
    path.write_text("")
    must_be_writable(path)
    path.chmod(0o444)
    with pytest.raises(
        Refused, match=r"is read-only; make it writable \(chmod u\+w '.*my file.py'"
    ):
        must_be_writable(path)


def test_the_digest_is_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    first = file_digest(path)
    path.write_bytes(b"x = 1\n")
    assert file_digest(path) == first != ""
    path.write_bytes(b"\xff")
    assert file_digest(path) == file_digest(tmp_path / "gone") == ""


def test_a_path_is_shown_as_it_is_typed_from_here(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path / "a" / "b.py") == os.path.join("a", "b.py")
    assert shown(tmp_path.parent) == str(tmp_path.parent)


@posix_only
@pytest.mark.usefixtures("gone")
def test_a_path_is_shown_in_full_where_here_is_gone(tmp_path: Path) -> None:
    assert shown(tmp_path / "b.py") == str(tmp_path / "b.py")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("two\n lines"), "two lines"),
        (RuntimeError(), "RuntimeError"),
        (PermissionError(13, "Permission denied", "/a/b"), "/a/b: Permission denied"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (FileNotFoundError("no folder"), "no folder"),
    ],
)
def test_an_error_in_a_sentence(error: Exception, said: str) -> None:
    assert sentence(error) == said
