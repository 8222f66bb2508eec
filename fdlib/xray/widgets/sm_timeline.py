"""Which SM runs which program when: FlashAttention beside Flash-Decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdlib.gpus import get_gpu
from fdlib.xray.draw.timelines import (
    describe_timeline,
    draw_timeline,
    draw_timeline_key,
    format_time,
    meaning_of_rates,
    note_of_axes,
    prepare_timeline,
    rounded_up,
)
from fdlib.xray.figures.decode_step import DecodeStep, decode_step
from fdlib.xray.figures.split_curve import SPLITS
from fdlib.xray.widgets.controls import Choice, Control, Stops
from fdlib.xray.widgets.panel import Panel
from fdlib.xray.widgets.shapes import BATCH, GPU, HEADS, KEYS, decode_shape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["sm_timeline_explorer"]

_RULE = 0  # of the splits: `plan_splits` chooses


def _show_splits(count: int) -> str:
    return "the rule's" if count == _RULE else str(count)


def sm_timeline_explorer() -> Panel:
    """Both timelines of one decoding step, measured where the recording has it; shape, splits and GPU to choose."""
    axes = [("shared", True), ("own", False)]
    controls: dict[str, Control] = {
        "splits": Stops("Splits", (_RULE, *SPLITS), _RULE, show=_show_splits),
        "keys": KEYS,
        "heads": HEADS,
        "batch": BATCH,
        "gpu": GPU,
        "same_axis": Choice("Time axis", axes, True, buttons=True),
    }
    return Panel(
        "SM timeline", _draw, controls, size=(6.6, 4.15), ground=_ground, ground_of=("gpu",)
    )


def _ground(figure: Figure, gpu: str) -> None:
    num_sms = get_gpu(gpu).num_sms
    for left, title in ((0.075, "FlashAttention"), (0.565, "Flash-Decoding")):
        ax = figure.add_axes((left, 0.206, 0.42, 0.616))
        prepare_timeline(ax, num_sms, title=title)
    draw_timeline_key(figure.axes[0], ("attention kernel or split kernel", "combine"))


def _draw(
    figure: Figure, splits: int, keys: int, heads: str, batch: int, gpu: str, same_axis: bool
) -> str:
    step = decode_step(decode_shape(batch, heads, keys), gpu, splits)
    lines = (step.attention, step.decode)
    ends = [rounded_up(line.makespan_ns / 1e3) for line in lines]
    ends = [max(ends)] * 2 if same_axis else ends
    for ax, line, end_us in zip(figure.axes, lines, ends, strict=True):
        draw_timeline(ax, line, end_us=end_us)
    if ends[0] != ends[1]:
        note_of_axes(figure.axes[1])
    return " ".join([_sentence(step, splits), meaning_of_rates(lines), _axes(ends, same_axis)])


def _axes(ends: list[float], same_axis: bool) -> str:
    if same_axis:
        return f"Both time axes end at {format_time(ends[0])} us; 'own' gives each its own and shows a short one."
    return (
        "The time axes end at " + " and ".join(f"{format_time(end_us)} us" for end_us in ends) + "."
    )


def _sentence(step: DecodeStep, splits: int) -> str:
    plan = step.plan
    whose = "the rule's choice" if splits == _RULE else "your choice"
    count = "1 split" if plan.num_splits == 1 else f"{plan.num_splits} splits"
    text = (
        f"FlashAttention: {describe_timeline(step.attention)} "
        f"Flash-Decoding, {count} ({whose}): {describe_timeline(step.decode)} {_verdict(step)}"
    )
    if not plan.shape.len_kv:
        text += " There are no keys: out is 0 and the LSE is -inf. Each program starts and writes that, no more"
        return text + (
            f"; the combine reads what they wrote in {step.combine_us:,.1f} us."
            if step.combine_us
            else "."
        )
    if step.empty_splits:
        text += f" {step.empty_splits} of the {plan.num_splits} splits get no key."
    return text


def _verdict(step: DecodeStep) -> str:
    mixed = "" if step.one_source else ", a measured time against a modelled one"
    ratio = step.speedup
    if ratio >= 1:
        return f"Flash-Decoding is {ratio:.1f} times as fast{mixed}."
    return f"Flash-Decoding takes {1 / ratio:.1f} times as long{mixed}."
