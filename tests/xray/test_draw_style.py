"""The shared look: palette, hatches, labels for bytes."""

from __future__ import annotations

import itertools
import re

import pytest

from fdlib.xray.draw import style


def test_colours_are_hex_and_differ():
    assert all(re.fullmatch(r"#[0-9A-F]{6}", colour) for colour in style.CYCLE)
    assert len(set(style.CYCLE)) == len(style.CYCLE)


def test_neighbours_differ_in_hatch_too():
    looks = [style.series_style(index) for index in range(len(style.CYCLE))]
    assert len({(look["facecolor"], look["hatch"]) for look in looks}) == len(looks)
    assert all(a["hatch"] != b["hatch"] for a, b in itertools.pairwise(looks))


def test_the_cycle_starts_again():
    assert style.series_style(len(style.CYCLE)) == style.series_style(0)


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colour", [style.INK, style.GREY])
def test_text_can_be_read_on_white(colour):
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5


def test_text_is_large_enough():
    assert min(style.TEXT_SIZE, style.LABEL_SIZE, style.TITLE_SIZE) >= 10


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.6, "1.00 kB"),
        (1536, "1.54 kB"),
        (9_995_000, "10.0 MB"),
        (67_108_864, "67.1 MB"),
        (999_600_000, "1.00 GB"),
        (70.5e9, "70.5 GB"),
        (3e15, "3000 TB"),
    ],
)
def test_format_bytes(count, text):
    assert style.format_bytes(count) == text
