"""Each widget of the X-ray in JupyterLab, moved by keyboard and by mouse in a headless Chromium."""

from __future__ import annotations

import pytest
from bench_widgets import HANDLES, open_widget, place_of, press, start_lab, write_notebook
from test_lab import RUN_LIMIT_S, START_LIMIT_S, STATE, browser_path, page, stop  # noqa: F401
from widget_cells import CELLS, cell

pytestmark = [pytest.mark.lab, pytest.mark.timeout(START_LIMIT_S + RUN_LIMIT_S)]
SENTENCE = ".fdlib-panel p[role=status]"
CONTROLS = ".fdlib-panel button, .fdlib-panel [role=slider]"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    for name in CELLS:
        write_notebook(folder / f"{name}.ipynb", cell(name))
    server, found = start_lab(folder)
    yield found
    stop(server)


@pytest.mark.parametrize("name", CELLS)
def test_keyboard_and_mouse_move_the_picture(address, page, name):  # noqa: F811
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_viewport_size({"width": 1024, "height": 900})
    open_widget(page, address, name)
    handle = page.query_selector(HANDLES)
    images = page.locator(".fdlib-panel img")
    first, sentence = images.get_attribute("src"), page.inner_text(SENTENCE)
    handle.focus()
    assert press(page, handle, "ArrowLeft") or press(page, handle, "ArrowRight")
    assert images.get_attribute("src") != first
    page.wait_for_function(  # it is a message of its own, after the picture
        "([where, before]) => document.querySelector(where).innerText !== before",
        arg=[SENTENCE, sentence],
    )

    second = images.get_attribute("src")
    drag(page, handle)
    page.wait_for_function(
        "before => document.querySelector('.fdlib-panel img').src !== before", arg=second
    )
    state = page.evaluate(STATE)
    assert (state["errors"], state["dialogs"], problems) == ([], [], [])
    assert images.count() == page.locator(".fdlib-panel").count() == 1  # nothing is stacked


def drag(page, handle) -> None:  # noqa: F811
    """Pull the handle over a good part of the slider, towards its middle."""
    before = place_of(handle)
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for by in (40, -40):
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + by, y, steps=8)
        page.mouse.up()
        if place_of(handle) != before:
            return
    pytest.fail("the mouse did not move the slider")


@pytest.mark.parametrize("name", CELLS)
def test_every_control_is_reached_by_the_keyboard(address, page, name):  # noqa: F811
    page.set_viewport_size({"width": 1024, "height": 900})
    open_widget(page, address, name)
    assert not page.locator(".fdlib-panel select").count()  # Lab takes their keys
    wanted = page.locator(CONTROLS).count()
    page.locator(CONTROLS).first.focus()
    reached = 0
    while page.evaluate("() => document.activeElement.closest('.fdlib-panel') !== null"):
        reached += page.evaluate("() => document.activeElement.matches('button, [role=slider]')")
        page.keyboard.press("Tab")
    assert reached == wanted


@pytest.mark.parametrize("name", CELLS)
def test_keys_move_every_control_and_leave_the_notebook_alone(address, page, name):  # noqa: F811
    page.set_viewport_size({"width": 1024, "height": 900})
    open_widget(page, address, name)
    for handle in page.query_selector_all(HANDLES):
        handle.focus()
        moved = [press(page, handle, key) for key in ("ArrowRight", "ArrowDown", "ArrowLeft")]
        assert any(moved)
        stays(page, handle)
    if page.locator(".fdlib-panel .widget-toggle-button").count():
        for key in ("Enter", "Space"):
            other = page.query_selector(".fdlib-panel .widget-toggle-button:not(.mod-active)")
            before = page.get_attribute(".fdlib-panel img", "src")
            other.focus()
            page.keyboard.press(key)
            page.wait_for_function(
                "before => document.querySelector('.fdlib-panel img').src !== before", arg=before
            )
            stays(page, other)


def stays(page, control) -> None:  # noqa: F811
    """The control has the focus still, and the notebook its one cell."""
    assert control.evaluate("it => it === document.activeElement")
    assert page.locator(".jp-Notebook .jp-Cell").count() == 1
