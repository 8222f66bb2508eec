"""Shares: a bar each from 0 to 100%, with its number, and the same in words."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from fdlib.xray.draw.shares import draw_shares


@pytest.mark.parametrize("rows", [[], [("a", 0.0)], [("a kernel runs", 1.0), ("SMs", 0.0076)]])
def test_bars_and_words(rows):
    ax = Figure().subplots()
    said = draw_shares(ax, rows, title="Shares")
    bars = [patch.get_width() for patch in ax.patches[1::2]]
    assert bars == [share for _, share in rows]
    texts = [text.get_text() for text in ax.texts]
    for label, share in rows:
        assert label in texts
        assert f"{share:.1%}" in texts
        assert f"{label}: {share:.1%}." in said
    ax.figure.canvas.draw()
