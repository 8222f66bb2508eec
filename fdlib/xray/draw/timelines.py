"""Pictures of timelines: SMs from top to bottom, time from left to right, a bar where a program ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fdlib.xray.draw.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    LABEL_SIZE,
    ORANGE,
    PALE,
    PURPLE,
    TEXT_SIZE,
    WHITE,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fdlib.xray.schedule import Timeline

__all__ = [
    "describe_timeline",
    "draw_timeline",
    "draw_timeline_key",
    "draw_two_timelines",
    "format_time",
    "meaning_of_rates",
    "note_of_axes",
    "prepare_timeline",
    "rounded_up",
    "source_of",
]

_COLUMNS = 460  # cells along the time axis: about a pixel each
_LOOKS = ((BLUE, ""), (ORANGE, "//"), (GREEN, "\\\\"), (PURPLE, "xx"))  # one a launch
_MOST_STARTS = 12  # programs of an SM; the starts of more would darken the bars
_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)  # ends of a time axis, times a power of ten


def prepare_timeline(ax: Axes, num_sms: int, *, title: str) -> None:
    """What stays under a timeline: a row an SM, and the title."""
    ax.figure.set_facecolor(WHITE)
    ax.set_facecolor(WHITE)
    ax.set(xlim=(0, 1), ylim=(num_sms, 0), xticks=[])
    middle = num_sms // 2
    ax.set_yticks([0.5, middle + 0.5, num_sms - 0.5], ["SM 0", str(middle), str(num_sms - 1)])
    ax.tick_params(labelsize=TEXT_SIZE, colors=INK)
    ax.annotate(title, (0, 1), **_above(37), fontsize=LABEL_SIZE, weight="bold", color=INK)
    quiet_axes(ax, "left", "bottom")


def draw_timeline_key(ax: Axes, launches: Sequence[str]) -> None:
    """What the bars of each launch look like, and the empty and the grey places: a line below ``ax``, to its right."""
    from matplotlib.patches import Patch

    looks = zip(launches, _LOOKS, strict=False)
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor=INK, linewidth=0.6, label=name)
        for name, (colour, hatch) in looks
    ]
    handles.append(Patch(facecolor=WHITE, edgecolor=GREY, label="no program"))
    handles.append(Patch(facecolor=PALE, edgecolor=GREY, label="all done"))
    ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(-0.05, -0.12), ncols=len(handles),
        frameon=False, fontsize=TEXT_SIZE, labelcolor=INK, handlelength=1.2, handletextpad=0.5,
        columnspacing=1.2,
    )  # fmt: skip


def draw_timeline(ax: Axes, timeline: Timeline, *, end_us: float) -> None:
    """A bar from start to end of each program, on an axis from 0 to ``end_us`` microseconds.

    Each launch has a colour and a pattern. Rows without a program stay white; the time after the
    last end is grey. A badge says whether the times were measured or come from a model.
    """
    from matplotlib.image import AxesImage

    image = AxesImage(ax, extent=(0, 1, timeline.num_sms, 0), interpolation="nearest", zorder=0.5)
    image.set_data(_cells(timeline, end_us * 1e3))
    ax.add_image(image)
    last = timeline.makespan_ns / 1e3 / end_us
    if last < 0.995:
        ax.axvspan(last, 1, color=PALE, linewidth=0, zorder=0.6)
        ax.axvline(last, color=INK, linewidth=1.2, linestyle=(0, (3, 2)))
    _write_head(ax, timeline)
    _write_ticks(ax, end_us)


def draw_two_timelines(
    axes: Sequence[Axes], timelines: Sequence[Timeline], titles: Sequence[str]
) -> str:
    """Timelines beside each other on one time axis, on empty Axes; returns what the picture says, in words.

    Below the Axes stands the key, above them three lines of text: `subplots_adjust` makes the room.
    Raises `TypeError` for one `Timeline` that is not in a list, `ValueError` for lists of different lengths.
    """
    _check_lists(axes, timelines, titles)
    end_us = rounded_up(max(timeline.makespan_ns for timeline in timelines) / 1e3)
    for ax, timeline, title in zip(axes, timelines, titles, strict=True):
        prepare_timeline(ax, timeline.num_sms, title=title)
        draw_timeline(ax, timeline, end_us=end_us)
    most = max(timelines, key=lambda timeline: len(timeline.launches))
    draw_timeline_key(axes[0], [launch.kernel.strip("_") for launch in most.launches])
    pairs = zip(titles, timelines, strict=True)
    said = [f"{title}: {describe_timeline(timeline)}" for title, timeline in pairs]
    return " ".join([*said, meaning_of_rates(timelines)]).strip()


def _check_lists(axes: Any, timelines: Any, titles: Any) -> None:
    for name, got in (("axes", axes), ("timelines", timelines), ("titles", titles)):
        if isinstance(got, str) or not hasattr(got, "__len__"):
            raise TypeError(
                f"{name}: got one {type(got).__name__}, takes a list, one for each timeline"
            )
    if not len(axes) == len(timelines) == len(titles) > 0:
        others = f"{len(axes)} axes and {len(titles)} titles"
        raise ValueError(f"timelines: got {len(timelines)} with {others}, takes as many of each")


def describe_timeline(timeline: Timeline) -> str:
    """A timeline in words: where it comes from, and its numbers.

    >>> from fdlib.xray.schedule import Timeline
    >>> describe_timeline(Timeline((), "H200", 132, "model", "no numbers"))
    'modelled for H200, 0 programs, 0.0 us; 0 of 132 SMs, utilisation 0.0%.'
    """
    programs = sum(launch.programs for launch in timeline.launches)
    source = f"measured on {timeline.gpu}" if timeline.source == "measured" else ""
    return (
        f"{source or f'modelled for {timeline.gpu}'}, {programs:,} program{'s' * (programs != 1)}, "
        f"{_time(timeline)}; {_busy(timeline)}."
    )


def meaning_of_rates(timelines: Sequence[Timeline]) -> str:
    """What GB/s means, as a sentence; nothing where no rate is shown."""
    shown = any(timeline.bandwidth_gbs for timeline in timelines)
    return "GB/s: HBM bytes over time." if shown else ""


def note_of_axes(ax: Axes) -> None:
    """A line below ``ax`` and its key: the pictures beside each other have axes of their own."""
    ax.annotate(
        "note: time axes differ", (1, 0), xycoords="axes fraction", xytext=(0, -44), ha="right", va="top",
        textcoords="offset points", fontsize=TEXT_SIZE, weight="bold", color=INK, annotation_clip=False,
    )  # fmt: skip


def source_of(timeline: Timeline) -> str:
    """The badge: MEASURED or MODEL, and the GPU."""
    return timeline.label


def rounded_up(end_us: float) -> float:
    """The end of a time axis that holds ``end_us``: few ends, so that the axis seldom changes.

    >>> rounded_up(139.2), rounded_up(0)
    (150.0, 1.0)
    """
    if end_us <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(end_us))
    return float(next(step * power for step in _STEPS if step * power >= end_us * 0.999))


def format_time(time_us: float) -> str:
    """A time on the axis.

    >>> format_time(150_000.0), format_time(0.75)
    ('150,000', '0.75')
    """
    return f"{time_us:,.0f}" if time_us >= 1000 else f"{time_us:.4g}"


def _time(timeline: Timeline) -> str:
    rate = timeline.bandwidth_gbs
    return f"{timeline.makespan_ns / 1e3:,.1f} us" + (f", {rate:,.0f} GB/s" if rate else "")


def _busy(timeline: Timeline) -> str:
    return f"{timeline.busy_sms} of {timeline.num_sms} SMs, utilisation {timeline.utilisation:.1%}"


def _above(points: float, x: float = 0) -> dict[str, Any]:
    """Where `annotate` writes a line over the Axes."""
    return {
        "xycoords": "axes fraction",
        "xytext": (x, points),
        "textcoords": "offset points",
        "annotation_clip": False,
    }


def _write_head(ax: Axes, timeline: Timeline) -> None:
    """The badge and the numbers, in three lines under the title."""
    measured = timeline.source == "measured"
    look: dict[str, Any] = (
        {"facecolor": INK, "edgecolor": INK}
        if measured
        else {"facecolor": WHITE, "edgecolor": INK, "linestyle": "--"}
    )
    ax.annotate(
        source_of(timeline), (1, 1), **_above(39, -3), ha="right", fontsize=TEXT_SIZE - 1,
        color=WHITE if measured else INK, bbox={"boxstyle": "round,pad=0.25", **look},
    )  # fmt: skip
    ax.annotate(_time(timeline), (0, 1), **_above(22), fontsize=TEXT_SIZE, color=INK, weight="bold")
    ax.annotate(_busy(timeline), (0, 1), **_above(8), fontsize=TEXT_SIZE, color=INK)


def _write_ticks(ax: Axes, end_us: float) -> None:
    """Three marks of the time axis: they change with the data, and an axis that is drawn anew is slow."""
    for place, side in ((0.0, "left"), (0.5, "center"), (1.0, "right")):
        unit = " us" if place == 1.0 else ""
        ax.annotate(
            f"{format_time(place * end_us)}{unit}", (place, 0), xycoords="axes fraction", xytext=(0, -5),
            textcoords="offset points", ha=side, va="top", fontsize=TEXT_SIZE, color=INK,
            annotation_clip=False,
        )  # fmt: skip


def _cells(timeline: Timeline, end_ns: float) -> np.ndarray:
    """The bars as an image (num_sms, _COLUMNS, 4): thousands of patches would take seconds to draw."""
    from matplotlib.colors import to_rgba

    image = np.full((timeline.num_sms, _COLUMNS, 4), 255, np.uint8)
    stripe = (np.add.outer(np.arange(timeline.num_sms), np.arange(_COLUMNS)) // 2) % 4 == 0
    ink = np.array(to_rgba(INK)) * 255
    for place, launch in enumerate(timeline.launches):
        colour, hatch = _LOOKS[place % len(_LOOKS)]
        first = np.clip(launch.start_ns * _COLUMNS // end_ns, 0, _COLUMNS - 1).astype(int)
        last = np.clip(-(-launch.end_ns * _COLUMNS // end_ns), first + 1, _COLUMNS).astype(int)
        depth = np.zeros((timeline.num_sms, _COLUMNS + 1), int)
        np.add.at(depth, (launch.sm, first), 1)
        np.add.at(depth, (launch.sm, last), -1)
        busy = depth.cumsum(axis=1)[:, :-1] > 0
        image[busy] = np.array(to_rgba(colour)) * 255
        if hatch:
            image[busy & stripe] = ink
        if launch.programs <= _MOST_STARTS * timeline.num_sms:
            later = first > 0
            image[launch.sm[later], first[later]] = ink
    return image
