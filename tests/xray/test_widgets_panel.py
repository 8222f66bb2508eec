"""The panel: one picture for one move, the ground drawn once, errors as a sentence, buttons that play."""

from __future__ import annotations

import asyncio
import io

import pytest

pytest.importorskip("ipywidgets")
matplotlib = pytest.importorskip("matplotlib")

from fdlib.xray.widgets.canvas import encode_png  # noqa: E402
from fdlib.xray.widgets.controls import Choice, Player, Slider, Stops  # noqa: E402
from fdlib.xray.widgets.panel import Panel  # noqa: E402


class Dots:
    """A ground and a draw that count how often they are called."""

    def __init__(self) -> None:
        self.grounds = self.draws = 0

    def ground(self, figure, gpu: str) -> None:
        self.grounds += 1
        ax = figure.add_axes((0.1, 0.1, 0.8, 0.8))
        ax.set(xlim=(0, 10), ylim=(0, 10), title=gpu)

    def draw(self, figure, n: int, gpu: str) -> str:
        self.draws += 1
        figure.axes[0].plot([n], [n], "o", color="black")
        figure.text(0.5, 0.5, str(n))
        if n == 7:
            raise ValueError("n: got 7, takes any\nother number.")
        return f"A dot at {n} on {gpu}."


@pytest.fixture
def dots():
    return Dots()


@pytest.fixture
def panel(dots):
    controls = {
        "n": Player("Number", 0, 9, 3, interval_s=0.01),
        "gpu": Choice("GPU", ["A", "B"], "A"),
    }
    return Panel("Dots", dots.draw, controls, size=(3, 2), ground=dots.ground, ground_of=("gpu",))


def rows(panel) -> list:
    """The slider of the player and its buttons: back, play, next."""
    return list(panel.box().children[1].children[0].children)


def test_the_ground_is_drawn_again_only_for_its_own_values(panel, dots):
    for n in range(5):
        panel.move(n=n)
    assert (dots.grounds, dots.draws) == (1, 6)
    panel.move(gpu="B", n=0)
    assert (dots.grounds, dots.draws) == (2, 7)
    assert repr(panel) == "Dots. A dot at 0 on B."


def test_what_moves_leaves_nothing_behind(panel, dots):
    figure = panel._canvas.figure
    children = len(figure.get_children()), len(figure.axes[0].get_children())
    first = panel.png
    panel.move(n=5)
    assert panel.png != first
    panel.move(n=3)
    assert panel.png == first
    assert children == (len(figure.get_children()), len(figure.axes[0].get_children()))


def test_a_move_of_the_same_value_draws_nothing(panel, dots):
    panel.box()
    panel.widgets["n"].value = 4
    panel.widgets["n"].value = 4
    assert dots.draws == 2


def test_several_values_are_one_picture_and_reach_the_controls(panel, dots):
    panel.box()
    panel.move(n=9, gpu="B")
    assert (panel.widgets["n"].value, panel.widgets["gpu"].value) == (9, "B")
    assert dots.draws == 2


def test_an_error_is_a_sentence_and_the_next_move_works(panel):
    box, before = panel.box(), panel.png
    panel.widgets["n"].value = 7
    assert panel.sentence == (
        "This cannot be drawn: n: got 7, takes any other number. The picture is the one before."
    )
    assert panel.png == before
    assert panel.sentence in box.children[-1].value
    panel.widgets["n"].value = 3
    assert panel.png == before
    assert panel.sentence == "A dot at 3 on A."


def test_an_error_at_the_first_picture():
    def draw(figure, n):
        raise RuntimeError

    panel = Panel("Broken", draw, {"n": Slider("N", 0, 1, 0)})
    assert repr(panel) == "Broken. This cannot be drawn: RuntimeError."
    assert panel.png == b""
    assert panel.box().children[2].layout.display == "none"  # no torn picture


def test_without_ground_the_figure_is_empty_each_time():
    seen = []

    def draw(figure, n):
        seen.append(len(figure.axes))
        figure.subplots().plot([0, n])
        return f"A line to {n}."

    panel = Panel("Line", draw, {"n": Stops("N", (1, 2, 1024), 1)}, size=(3, 2))
    panel.box()
    panel.widgets["n"].value = 1024
    assert seen == [0, 0]
    assert panel.widgets["n"].label == "1,024"


def test_move_names_what_it_takes(panel):
    with pytest.raises(ValueError, match="move: got 'm', takes n, gpu"):
        panel.move(m=1)


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"n": 5, "gpu": "Z"}, "gpu: got 'Z', takes one of A, B"),
        ({"n": 10}, "n: got 10, takes an int from 0 to 9"),
        ({"gpu": "B", "n": "3"}, "n: got '3', takes an int from 0 to 9"),
    ],
)
def test_a_value_that_a_control_does_not_take_moves_nothing(panel, dots, shown, values, text):
    if shown:
        panel.box()
    with pytest.raises(ValueError, match=text):
        panel.move(**values)
    assert panel.values == {"n": 3, "gpu": "A"}
    assert dots.draws == 1
    panel.move(n=4)
    assert panel.sentence == "A dot at 4 on A."


def test_stops_and_pairs_take_their_values_only():
    Choice("Axis", [("one", 1), ("two", 2)], 1).check("axis", 2)
    with pytest.raises(ValueError, match="axis: got 'two', takes one of 1, 2"):
        Choice("Axis", [("one", 1), ("two", 2)], 1).check("axis", "two")
    with pytest.raises(ValueError, match=r"t: got 7, takes one of 0, 5, 10, \.\.\., 495"):
        Stops("Tokens", range(0, 500, 5), 0).check("t", 7)


def test_back_and_next_stop_at_the_ends(panel):
    slider, back, _, forward = rows(panel)
    forward.click()
    assert (slider.value, panel.values["n"]) == (4, 4)
    for _ in range(9):
        back.click()
    assert slider.value == 0


def test_play_goes_to_the_end_and_starts_again(panel):
    slider, _, play, _ = rows(panel)

    async def watch() -> list:
        play.click()
        names = [play.description]
        await asyncio.sleep(1.5)
        names.append(play.description)
        end = slider.value
        play.click()
        await asyncio.sleep(0)
        names.append(str(slider.value))
        play.click()
        await asyncio.sleep(0.01)
        return [end, *names, play.description]

    assert asyncio.run(watch()) == [9, "Pause", "Play", "1", "Play"]


def test_the_text_is_escaped():
    panel = Panel("T", lambda figure, n: "<b> & more", {"n": Slider("N", 0, 1, 0)}, size=(2, 1))
    assert "&lt;b&gt; &amp; more" in panel.box().children[-1].value


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (100, 7)])
def test_a_png_holds_the_pixels(size):
    image = pytest.importorskip("PIL.Image")
    numpy = pytest.importorskip("numpy")
    pixels = numpy.random.default_rng(0).integers(0, 256, (*size, 4), dtype=numpy.uint8)
    read = numpy.asarray(image.open(io.BytesIO(encode_png(pixels))).convert("RGBA"))
    assert (read == pixels).all()
