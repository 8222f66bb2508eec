"""Timelines: bars lie where the data says, idle SMs stay white, and the badge tells measured from modelled."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from fdlib.xray.draw.style import BLUE
from fdlib.xray.draw.timelines import (
    describe_timeline,
    draw_timeline,
    draw_timeline_key,
    draw_two_timelines,
    meaning_of_rates,
    prepare_timeline,
    rounded_up,
    source_of,
)
from fdlib.xray.schedule import LaunchSpans, Timeline

WHITE = (255, 255, 255)


def launch(*bars: tuple[int, int, int], kernel: str = "split", moved: int | None = 4000):
    sm, start, end = np.array(bars, np.int64).reshape(-1, 3).T
    return LaunchSpans(kernel, (len(bars), 1, 1), sm, start, end, moved)


def line(*launches: LaunchSpans, source: str = "model", num_sms: int = 4) -> Timeline:
    return Timeline(tuple(launches), "H200", num_sms, source, "made up")


@pytest.fixture
def ax():
    ax = Figure(figsize=(5, 4)).subplots()
    ax.figure.subplots_adjust(top=0.8, bottom=0.2)
    yield ax
    ax.figure.canvas.draw()  # what cannot be rendered fails here


def drawn(ax, timeline: Timeline, end_us: float) -> np.ndarray:
    """The cells of the picture: (SMs, columns, RGB)."""
    prepare_timeline(ax, timeline.num_sms, title="Timeline")
    draw_timeline(ax, timeline, end_us=end_us)
    return np.asarray(ax.images[-1].get_array())[..., :3]


def share(cells: np.ndarray) -> np.ndarray:
    """Of each SM's row: the part that is not white."""
    return (cells != WHITE).any(-1).mean(axis=1)


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_bars_lie_where_the_data_says(ax):
    cells = drawn(ax, line(launch((0, 0, 1000), (2, 500, 1000))), 2.0)
    assert share(cells) == pytest.approx([0.5, 0, 0.25, 0], abs=0.01)
    columns = np.flatnonzero((cells[2] != WHITE).any(-1)) / cells.shape[1] * 2000
    assert (columns.min(), columns.max()) == pytest.approx((500, 1000), abs=5)
    assert tuple(cells[0, 5]) == tuple(int(255 * x) for x in to_rgb(BLUE))


def test_launches_differ_in_colour_and_in_pattern(ax):
    timeline = line(launch((0, 0, 500)), launch((0, 500, 1000), kernel="combine"))
    cells = drawn(ax, timeline, 1.0)
    first, second = np.split(cells[0], 2)
    assert len(np.unique(first[1:-1], axis=0)) == 1
    assert len(np.unique(second[2:], axis=0)) == 2  # stripes


def test_where_programs_meet_on_an_sm_a_line_parts_them(ax):
    cells = drawn(ax, line(launch((0, 0, 500), (0, 500, 1000))), 1.0)
    assert (cells[0, 100] != cells[0, cells.shape[1] // 2]).any()


def test_a_short_program_is_still_seen(ax):
    assert share(drawn(ax, line(launch((3, 10, 11))), 1000.0))[3] > 0


def test_the_time_after_the_end_is_marked(ax):
    before = len(ax.patches)
    drawn(ax, line(launch((0, 0, 1000))), 2.0)
    assert len(ax.patches) == before + 1
    assert ax.patches[-1].get_x() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("source", "badge"), [("measured", "MEASURED on H200"), ("model", "MODEL of H200")]
)
def test_the_badge_says_where_the_times_come_from(ax, source, badge):
    timeline = line(launch((0, 0, 1000)), source=source)
    drawn(ax, timeline, 1.0)
    assert badge == source_of(timeline)
    assert badge in texts(ax)
    assert source in describe_timeline(timeline).replace("modelled", "model")


def test_the_numbers_stand_above(ax):
    drawn(ax, line(launch((0, 0, 1000), (1, 0, 500))), 1.0)
    assert "1.0 us, 4 GB/s" in texts(ax)
    assert "2 of 4 SMs, utilisation 37.5%" in texts(ax)


def test_no_bytes_no_rate(ax):
    drawn(ax, line(launch((0, 0, 1000), moved=None)), 1.0)
    assert "1.0 us" in texts(ax)


@pytest.mark.parametrize("launches", [(), (launch(),)])
def test_nothing_ran(ax, launches):
    timeline = line(*launches)
    assert share(drawn(ax, timeline, rounded_up(0))) == pytest.approx([0, 0, 0, 0])
    assert "0 of 4 SMs" in describe_timeline(timeline)


def test_many_programs_are_one_image(ax):
    bars = [(p % 132, 10 * p, 10 * p + 10) for p in range(20_000)]
    drawn(ax, line(launch(*bars), num_sms=132), 200.0)
    assert len(ax.images) == 1


@pytest.mark.parametrize(
    ("end", "rounded"), [(0, 1.0), (1, 1.0), (1.01, 1.2), (139.2, 150.0), (8.1, 10.0), (0.03, 0.03)]
)
def test_the_axis_ends_at_a_round_number(end, rounded):
    assert rounded_up(end) == pytest.approx(rounded)


def test_two_share_a_time_axis_and_are_told_in_words():
    axes = Figure().subplots(1, 2)
    long, short = line(launch((0, 0, 9000)), source="measured"), line(launch((0, 0, 900)))
    said = draw_two_timelines(axes, [long, short], ["Before", "After"])
    assert "Before: measured on H200, 1 program, 9.0 us" in said
    assert "After: modelled for H200, 1 program, 0.9 us" in said
    for ax in axes:
        assert "10 us" in texts(ax)
    axes[0].figure.canvas.draw()


def test_lists_are_asked_for_by_name(ax):
    one = line(launch((0, 0, 9000)))
    with pytest.raises(TypeError, match="timelines: got one Timeline, takes a list"):
        draw_two_timelines([ax], one, ["One"])
    with pytest.raises(ValueError, match="timelines: got 1 with 1 axes and 2 titles"):
        draw_two_timelines([ax], [one], ["One", "Two"])


def test_rates_are_explained_where_they_are_shown(ax):
    assert "GB/s: HBM" in draw_two_timelines([ax], [line(launch((0, 0, 9000)))], ["One"])
    assert not meaning_of_rates([line(launch((0, 0, 9000), moved=None))])


def test_the_key_names_launches_and_what_is_empty(ax):
    draw_timeline_key(ax, ("split", "combine"))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["split", "combine", "no program", "all done"]
    assert len({patch.get_hatch() for patch in ax.get_legend().get_patches()[:2]}) == 2
