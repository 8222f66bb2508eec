"""The README's picture: the same file every time, from the plan, and the one in the repository is not stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
from fdlib.xray import readme_picture

SHIPPED = Path(__file__).parents[2] / "notebooks" / "pictures" / "before_after.svg"


@pytest.fixture(scope="module")
def picture(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("picture") / "before_after.svg"
    assert readme_picture.main([str(path)]) == 0
    return path


def comments(text: str) -> list[str]:
    """Matplotlib keeps each text as a comment above its outlines."""
    return re.findall(r"<!-- (.*?) -->", text)


def test_same_bytes_every_time(picture, tmp_path):
    again = tmp_path / "again.svg"
    readme_picture.write_picture(again)
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
    shipped = SHIPPED.read_text(encoding="utf-8")
    assert comments(shipped) == comments(picture.read_text(encoding="utf-8")), (
        "run `python -m fdlib.xray.readme_picture notebooks/pictures/before_after.svg`"
    )


def test_it_leaves_pyplot_alone(picture):
    source = Path(readme_picture.__file__).read_text(encoding="utf-8")
    assert "pyplot" not in source


@pytest.mark.parametrize("arguments", [[], ["a.svg", "b.svg"]])
def test_wrong_command_line(arguments, capsys):
    assert readme_picture.main(arguments) == 2
    assert "usage" in capsys.readouterr().err
