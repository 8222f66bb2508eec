"""The README's pictures: the same files every time, and those in the repository are not stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
from fdlib.shapes import AttentionShape
from fdlib.xray import readme_picture
from fdlib.xray.recordings import recorded_timeline

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "notebooks" / "pictures"
EXAMPLE = AttentionShape(heads_q=8, heads_kv=1, len_kv=131_072)


@pytest.fixture(scope="module")
def picture(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    assert readme_picture.main([str(folder)]) == 0
    return folder / readme_picture.BEFORE_AFTER


def comments(text: str) -> list[str]:
    """Matplotlib keeps each text as a comment above its outlines."""
    return re.findall(r"<!-- (.*?) -->", text)


def test_same_bytes_every_time(picture, tmp_path):
    again = tmp_path / "again.svg"
    readme_picture.write_before_after(again)
    assert again.read_bytes() == picture.read_bytes()


def test_says_what_it_shows(picture):
    text = picture.read_text(encoding="utf-8")
    assert "busy: 8 of 132 SMs" in comments(text)
    assert "busy: 131 of 132 SMs" in comments(text)
    assert "FlashAttention-2" in text and "Flash-Decoding" in text
    assert "<dc:date>" not in text


def test_stands_on_a_white_card(picture):
    assert "fill: #ffffff" in picture.read_text(encoding="utf-8")


def test_the_one_in_the_repository_says_the_same(picture):
    shipped = (SHIPPED / picture.name).read_text(encoding="utf-8")
    assert comments(shipped) == comments(picture.read_text(encoding="utf-8")), (
        "run `python -m fdlib.xray.readme_picture notebooks/pictures`"
    )


def measured() -> list:
    return [recorded_timeline(call, EXAMPLE) for call in ("flash_attention", "flash_decode")]


def test_the_timelines_are_the_measured_ones(picture, tmp_path):
    again = tmp_path / "again.png"
    said = readme_picture.write_sm_timeline(again)
    written = picture.with_name(readme_picture.SM_TIMELINE).read_bytes()
    assert written == again.read_bytes() and written.startswith(b"\x89PNG")
    for line in measured():
        assert f"{line.busy_sms} of {line.num_sms} SMs" in said
    assert said.count("measured on H200") == 2


def test_the_text_for_the_timelines_states_the_recorded_numbers():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (text,) = re.findall(
        rf"!\[([^\]]*)\]\(notebooks/pictures/{readme_picture.SM_TIMELINE}\)", readme
    )
    before, after = measured()
    assert f"on an {before.gpu}, 8 query heads, {EXAMPLE.len_kv:,} keys" in text
    assert f"FlashAttention: {before.busy_sms} of {before.num_sms} SMs" in text
    assert f"Flash-Decoding: {after.busy_sms} of them" in text


def test_it_leaves_pyplot_alone(picture):
    source = Path(readme_picture.__file__).read_text(encoding="utf-8")
    assert "pyplot" not in source


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["no/such/folder"]])
def test_wrong_command_line(arguments, capsys):
    assert readme_picture.main(arguments) == 2
    assert "usage" in capsys.readouterr().err
