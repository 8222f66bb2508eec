from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fdlib.course.build import BuildReport, build, generate, is_as_generated
from fdlib.course.regions import is_not_started, outside

from .toy import ADD, SOLUTION, TOY_NAME


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    source = tmp_path / "solutions"
    source.mkdir()
    (source / TOY_NAME).write_text(SOLUTION)
    (source / "README.md").write_text("not an exercise")
    return tmp_path / "exercises", source


def test_build_writes_skeletons(folders: tuple[Path, Path]) -> None:
    into, source = folders
    assert build(into, source=source).written == (TOY_NAME,)
    text = (into / TOY_NAME).read_text()
    assert is_not_started(text)
    assert outside(text) == outside(SOLUTION)
    assert [path.name for path in into.iterdir()] == [TOY_NAME]  # no temporary file is left


def test_a_second_build_changes_nothing(folders: tuple[Path, Path]) -> None:
    into, source = folders
    build(into, source=source)
    before = (into / TOY_NAME).stat()
    report = build(into, source=source)
    assert report == BuildReport(unchanged=(TOY_NAME,))
    assert report.drifted == ()
    assert (into / TOY_NAME).stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('        raise NotImplementedError("write: add the value")\n', ADD),  # a region filled
        ("result = 0", "result = 1"),  # an edit outside
        ("# >>> write: divide", "# my notes"),  # a marker gone
    ],
)
def test_what_somebody_wrote_is_kept(folders: tuple[Path, Path], old: str, new: str) -> None:
    into, source = folders
    build(into, source=source)
    edited = (into / TOY_NAME).read_text().replace(old, new)
    (into / TOY_NAME).write_text(edited)
    (source / TOY_NAME).write_text(SOLUTION.replace("Add and average", "Sum and average"))
    report = build(into, source=source)
    assert (report.kept, report.drifted) == ((TOY_NAME,), (TOY_NAME,))
    assert f"kept {TOY_NAME}: it holds edits" in str(report)
    assert "0 written, 0 unchanged, 1 kept" in str(report)
    assert (into / TOY_NAME).read_text() == edited


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_older_generated_file_is_replaced(folders: tuple[Path, Path], newline: str) -> None:
    into, source = folders
    build(into, source=source)
    text = (into / TOY_NAME).read_text()
    (into / TOY_NAME).write_text(text, newline=newline)
    (source / TOY_NAME).write_text(SOLUTION.replace("Add and average", "Sum and average"))
    assert build(into, source=source).written == (TOY_NAME,)
    assert "Sum and average" in (into / TOY_NAME).read_text()


def test_check_writes_nothing_and_names_what_drifted(folders: tuple[Path, Path]) -> None:
    into, source = folders
    assert build(into, source=source, check=True).drifted == (TOY_NAME,)
    assert not into.exists()
    build(into, source=source)
    (into / "ex92_gone.py").write_text("x = 1\n")
    report = build(into, source=source, check=True)
    assert (report.orphans, report.drifted) == (("ex92_gone.py",), ("ex92_gone.py",))


@pytest.mark.parametrize("present", ["folder", "latin-1"])
def test_what_cannot_be_read_is_kept(folders: tuple[Path, Path], present: str) -> None:
    into, source = folders
    if present == "folder":
        (into / TOY_NAME).mkdir(parents=True)
    else:
        into.mkdir()
        (into / TOY_NAME).write_bytes("# Größe".encode("latin-1"))
    report = build(into, source=source)
    assert report.kept == report.drifted == (TOY_NAME,)
    assert ("it is a folder; move it away" in str(report)) == (present == "folder")


def test_a_dangling_link_is_named(folders: tuple[Path, Path]) -> None:
    into, source = folders
    into.mkdir()
    (into / TOY_NAME).symlink_to(into / "gone.py")
    assert "it is a link to a file that is not there" in str(build(into, source=source))
    assert not (into / "gone.py").exists()


def test_a_file_in_place_of_the_folder_is_refused(folders: tuple[Path, Path]) -> None:
    into, source = folders
    into.write_text("notes")
    for check in (False, True):
        with pytest.raises(ValueError, match="exercises is not a folder; move it away"):
            build(into, source=source, check=check)
    assert into.read_text() == "notes"


def test_a_folder_that_cannot_be_written_to_is_one_sentence(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    into, source = folders
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(ValueError, match=r"exercises cannot be written to \(Read-only file"):
        build(into, source=source)
    assert list(into.iterdir()) == []


def test_wrong_markers_name_the_file(folders: tuple[Path, Path]) -> None:
    into, source = folders
    (source / TOY_NAME).write_text(SOLUTION.replace("# <<<", "", 1))
    with pytest.raises(ValueError, match=f"{TOY_NAME}: line 16: a region opens inside"):
        build(into, source=source)
    assert not into.exists()


def test_a_folder_without_solutions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no file named exNN_\*\.py"):
        build(tmp_path / "exercises", source=tmp_path)


def test_only_the_generated_text_agrees_with_its_digest() -> None:
    text = generate(SOLUTION, TOY_NAME)
    assert is_as_generated(text)
    assert not is_as_generated(text.replace("result = 0", "result = 1"))
    assert not is_as_generated(text + "x = 1\n")
    assert not is_as_generated(SOLUTION)
    assert not is_as_generated("")
