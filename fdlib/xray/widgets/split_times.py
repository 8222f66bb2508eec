"""The time of Flash-Decoding against the number of splits: model, measured points, and waves of programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdlib.xray.draw.split_times import draw_split_times, prepare_split_times
from fdlib.xray.figures.split_curve import SPLITS, SplitCurve, split_curve
from fdlib.xray.widgets.controls import Control
from fdlib.xray.widgets.panel import Panel
from fdlib.xray.widgets.shapes import BATCH, GPU, HEADS, KEYS, decode_shape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["time_against_splits"]


def time_against_splits() -> Panel:
    """Microseconds of one decoding step over 1 to 512 splits; shape and GPU to choose."""
    controls: dict[str, Control] = {"keys": KEYS, "heads": HEADS, "batch": BATCH, "gpu": GPU}
    return Panel(
        "Time against splits", _draw, controls, size=(6.6, 3.7), ground=_ground, ground_of=()
    )


def _ground(figure: Figure) -> None:
    ax = figure.add_axes((0.105, 0.225, 0.88, 0.685))
    prepare_split_times(ax, SPLITS, title="Flash-Decoding: time against number of splits")


def _draw(figure: Figure, keys: int, heads: str, batch: int, gpu: str) -> str:
    curve = split_curve(decode_shape(batch, heads, keys), gpu)
    draw_split_times(figure.axes[0], curve)
    return _sentence(curve)


def _sentence(curve: SplitCurve) -> str:
    if not curve.shape.len_kv:
        return "There are no keys to split: more splits take more time and bring nothing."
    best, best_us = curve.best_model
    text = (
        f"{curve.gpu}: of the counts shown, the model is fastest at "
        f"{best} split{'s' * (best != 1)}, {best_us:,.1f} us"
    )
    if curve.best_measured is None:
        text += "; nothing was measured here"
    else:
        seen, seen_us = curve.best_measured
        text += f"; measured at {seen}, {seen_us:,.1f} us"
    full = curve.splits_that_fill
    filled = f"from {full:,.0f} splits on" if full > 1 else "with 1 split already"
    return (
        f"{text}. The rule chooses {curve.rule}. A split has {curve.programs} "
        f"program{'s' * (curve.programs != 1)}: every one of the {curve.num_sms} SMs has one {filled}."
    )
