"""Each widget without a browser: its first picture, its moves, its ends, and what a cell shows of it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytest.importorskip("ipywidgets")
pytest.importorskip("IPython")
from IPython.display import display
from widget_cells import CELLS, cell

from fdlib.xray import widgets
from fdlib.xray.widgets.panel import VIEW, Panel

PNG = b"\x89PNG\r\n\x1a\n"


def panel(name: str) -> Panel:
    above, call = CELLS[name]
    names: dict[str, Any] = {name: getattr(widgets, name)}
    exec(above, names)
    return eval(call, names)


def choices(widget: Any) -> list[Any]:
    """All values of a control; both ends and a few between of a long slider."""
    if hasattr(widget, "min"):
        return sorted({widget.min, widget.min + 1, (widget.min + widget.max) // 2, widget.max})
    return [option[1] if isinstance(option, tuple) else option for option in widget.options]


each_widget = pytest.mark.parametrize("name", CELLS)


def test_every_widget_has_a_cell():
    assert set(CELLS) == set(widgets.WIDGETS)
    assert set(widgets.WIDGETS) <= set(dir(widgets))
    with pytest.raises(AttributeError, match="no_such"):
        widgets.no_such


@each_widget
def test_a_module_does_not_hide_its_function(name):
    assert (
        name != widgets.WIDGETS[name]
    )  # `from fdlib.xray.widgets import name` would give the module


@each_widget
def test_every_value_of_every_control_has_a_picture_and_a_sentence(name):
    made = panel(name)
    made.box()
    for key, widget in made.widgets.items():
        before, pictures, sentences = widget.value, set(), set()
        for value in choices(widget):
            widget.value = value
            assert made.values[key] == value
            assert "cannot be drawn" not in made.sentence
            pictures.add(made.png)
            sentences.add(made.sentence)
        assert len(pictures) > 1, key
        assert len(sentences) > 1, key
        widget.value = before


@each_widget
def test_all_controls_at_their_lowest_and_their_highest(name):
    made = panel(name)
    made.box()
    for end in (0, -1):
        made.move(**{key: choices(widget)[end] for key, widget in made.widgets.items()})
        assert "cannot be drawn" not in made.sentence


@each_widget
def test_the_way_there_does_not_change_the_picture(name):
    made = panel(name)
    first = made.png
    key, widget = made.box() and next(iter(made.widgets.items()))
    before = widget.value
    for value in choices(widget):
        made.move(**{key: value})
    made.move(**{key: before})
    assert made.png == first


@each_widget
def test_controls_have_names(name):
    made = panel(name)
    made.box()
    assert all(widget.description.strip() for widget in made.widgets.values())


@each_widget
def test_a_cell_shows_one_output_in_three_forms(name, monkeypatch):
    shown: list[dict] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **rest: shown.append(data | rest))
    made = panel(name)
    made._ipython_display_()
    (forms,) = shown
    assert forms["image/png"][:8] == PNG
    assert forms["text/plain"] == repr(made) == forms["metadata"]["image/png"]["alt"]
    assert forms[VIEW]["model_id"] == made.box().model_id


def test_without_ipywidgets_the_still_picture_is_shown(monkeypatch):
    shown: list[dict] = []
    monkeypatch.setattr("IPython.display.display", lambda data, **rest: shown.append(data))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    panel("roofline_explorer")._ipython_display_()
    assert set(shown[0]) == {"text/plain", "image/png"}


def test_nothing_of_pyplot_is_used():
    assert display  # the tests above replace it where the panel looks for it
    for name in CELLS:
        panel(name)
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_the_source_of_a_cell():
    assert cell("kv_cache_growth").endswith("kv_cache_growth()")
