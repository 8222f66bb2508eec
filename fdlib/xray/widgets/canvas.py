"""One figure, drawn again and again: what stays is drawn once, what moves is drawn on top, and out comes a PNG.

A tick label costs more than a millisecond and an Axes tens of them, so a picture that follows a slider keeps them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

__all__ = ["SHOWN_DPI", "Canvas", "encode_png"]

SHOWN_DPI = 120  # pixels of the page for an inch of the figure: 10 points are 16.7 pixels
_SHARPNESS = 1.4  # pixels of the PNG for a pixel of the page

Draw = Callable[..., str]
Ground = Callable[..., None]


class Canvas:
    """A figure of ``size`` inches. `frame` draws it for some values and returns the PNG and the sentence.

    ``draw(figure, **values)`` adds what moves and returns a sentence that says what the picture says.
    ``ground(figure, **some_of_the_values)`` makes the Axes, ticks and all that stays; it is called again when one of
    the values named in ``ground_of`` has changed. Without ``ground`` the figure is empty when ``draw`` gets it.
    """

    def __init__(
        self,
        draw: Draw,
        *,
        size: tuple[float, float],
        ground: Ground | None = None,
        ground_of: Sequence[str] = (),
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=size, dpi=SHOWN_DPI * _SHARPNESS, facecolor="white")
        self.shown_width = round(size[0] * SHOWN_DPI)  # pixels of the page
        self._agg = FigureCanvasAgg(
            self.figure
        )  # no pyplot: nothing shows twice, nothing is left behind
        self._draw, self._ground, self._ground_of = draw, ground, tuple(ground_of)
        self._background: Any = None
        self._drawn_for: dict[str, Any] | None = None

    def frame(self, values: Mapping[str, Any]) -> tuple[bytes, str]:
        """The picture for these values, as ``(png, sentence)``; after an error of ``draw`` the next call works."""
        try:
            return self._frame(values)
        except BaseException:
            self._drawn_for = None
            raise

    def _frame(self, values: Mapping[str, Any]) -> tuple[bytes, str]:
        wanted = {name: values[name] for name in self._ground_of}
        if self._ground is None or self._drawn_for != wanted:
            self.figure.clear()
            if self._ground is not None:
                self._ground(self.figure, **wanted)
            self._agg.draw()
            self._background = self._agg.copy_from_bbox(self.figure.bbox)
            self._drawn_for = wanted
        if self._ground is None:
            sentence = self._draw(self.figure, **values)
            self._agg.draw()
        else:
            sentence = self._draw_moving(values)
        return encode_png(self._agg.buffer_rgba()), sentence

    def _draw_moving(self, values: Mapping[str, Any]) -> str:
        """Draw on the background only what ``draw`` adds, and take it away again."""
        standing = {id(artist) for artist in _children(self.figure)}
        sentence = self._draw(self.figure, **values)
        added = [artist for artist in _children(self.figure) if id(artist) not in standing]
        self._agg.restore_region(self._background)
        for artist in sorted(added, key=lambda artist: artist.get_zorder()):
            self.figure.draw_artist(artist)
        for artist in added:
            artist.remove()
        return sentence


def _children(figure: Figure) -> list[Artist]:
    inside = [artist for ax in figure.axes for artist in ax.get_children()]
    return [*figure.get_children(), *inside]


def encode_png(pixels: Any) -> bytes:
    """A PNG of ``pixels`` (height, width, 4) of 8 bits, twice as fast as an encoder that tries filters.

    Source: https://www.w3.org/TR/png-3/, colour type 6, filter 0.

    >>> encode_png([[(255, 255, 255, 255)]])[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    import numpy as np

    rgba = np.asarray(pixels, dtype=np.uint8)
    height, width = rgba.shape[:2]
    rows = np.zeros((height, 1 + 4 * width), np.uint8)  # the first byte of a row is its filter
    rows[:, 1:] = rgba.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum
