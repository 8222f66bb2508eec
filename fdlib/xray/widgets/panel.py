"""A panel: controls, the picture they move, and a sentence that says what the picture says.

The picture is drawn before the message of a control is answered. Both versions of ipywidgets wait for that answer
and then send the newest value only, so a slow drag does not queue up.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from fdlib.xray.widgets.canvas import Canvas, Draw, Ground
from fdlib.xray.widgets.controls import Control, Player
from fdlib.xray.widgets.player import player_row

__all__ = ["VIEW", "Panel"]

VIEW = "application/vnd.jupyter.widget-view+json"
# The card is white in both themes; all else takes the theme's own colours.
STYLE = """<style>
.fdlib-panel img {
  max-width: 100%; height: auto; background: white; border-radius: 8px; }
.fdlib-panel .widget-readout { min-width: 4.5em; overflow: visible; }
.fdlib-panel .fdlib-short .widget-readout { flex: none; width: 5em; white-space: nowrap; }
.fdlib-panel .fdlib-long .widget-readout { flex: none; width: 10em; text-align: left; white-space: nowrap; }
.fdlib-panel .widget-toggle-buttons { display: flex; flex-flow: row nowrap; align-items: center; height: auto; }
.fdlib-panel .widget-toggle-buttons .widget-label { text-align: right; margin-right: 6px; }
.fdlib-panel .widget-inline-hbox .widget-label { padding-right: 6px; }
.fdlib-panel .widget-label, .fdlib-panel .widget-readout, .fdlib-panel button,
.fdlib-panel .widget-html-content { font-size: var(--jp-content-font-size1, 14px) !important; }
.fdlib-panel .widget-html, .fdlib-panel .widget-html-content { height: auto; }
.fdlib-panel .widget-html-content p { margin: 0; line-height: 1.5; max-width: 92ch; min-height: 3em; }
.fdlib-panel .noUi-handle:focus, .fdlib-panel .ui-slider-handle:focus, .fdlib-panel button:focus-visible {
  outline: 3px solid #D55E00; outline-offset: 2px; }
</style>"""


class Panel:
    """``draw(figure, **values) -> str`` and named ``controls``, one for each value, as something that a cell shows.

    ``name`` says what this is; ``size`` is in inches, 6.6 wide fits a page of 1024 pixels. For ``ground`` and
    ``ground_of`` see `Canvas`. `values` are the present ones, `png` and `sentence` belong to them. ``widgets`` holds
    the controls by name after `box` was made; nothing before that needs ipywidgets.
    """

    def __init__(
        self,
        name: str,
        draw: Draw,
        controls: Mapping[str, Control],
        *,
        size: tuple[float, float] = (6.6, 4.0),
        ground: Ground | None = None,
        ground_of: Sequence[str] = (),
    ) -> None:
        self.name, self.controls = name, dict(controls)
        self.values: dict[str, Any] = {key: control.value for key, control in controls.items()}
        self.widgets: dict[str, Any] = {}
        self.png, self.sentence = b"", ""
        self._canvas = Canvas(draw, size=size, ground=ground, ground_of=ground_of)
        self._image: Any = None
        self._text: Any = None
        self._box: Any = None
        self._redraw()

    def __repr__(self) -> str:
        return f"{self.name}. {self.sentence}"

    def move(self, **values: Any) -> None:
        """Set some values, as the controls do; one picture for all of them.

        Raises `ValueError` for a name that is not a control's and a value that its control does not
        take; then nothing has moved.
        """
        if unknown := sorted(set(values) - set(self.controls)):
            raise ValueError(f"move: got {unknown[0]!r}, takes {', '.join(self.controls)}")
        for key, value in values.items():
            self.controls[key].check(key, value)
        self.values.update(values)
        for key in values.keys() & self.widgets.keys():
            self.widgets[key].value = values[key]
        self._redraw()

    def _moved(self, key: str, value: Any) -> None:
        if self.values[key] != value:
            self.values[key] = value
            self._redraw()

    def _redraw(self) -> None:
        try:
            self.png, self.sentence = self._canvas.frame(self.values)
        except Exception as error:  # a control must never end in a traceback beside the picture
            reason = " ".join(str(error).split()) or type(error).__name__
            kept = " The picture is the one before." if self.png else ""
            self.sentence = f"This cannot be drawn: {reason.rstrip('.')}.{kept}"
        if self._image is not None:
            self._show_image()
            self._text.value = _paragraph(self.sentence)

    def _show_image(self) -> None:
        """The picture; nothing where there is none yet, for a browser would show a torn one."""
        self._image.layout.display = None if self.png else "none"
        if self.png:
            self._image.value = self.png

    def box(self) -> Any:
        """The widget: made at the first call, the same one after that."""
        if self._box is None:
            self._box = self._build()
        return self._box

    def _build(self) -> Any:
        import ipywidgets as widgets

        self._image = widgets.Image(
            value=self.png, format="png", layout={"width": f"{self._canvas.shown_width}px"}
        )
        self._show_image()
        self._text = widgets.HTML(_paragraph(self.sentence))
        rows = [self._row(key, control) for key, control in self.controls.items()]
        style = widgets.HTML(STYLE, layout={"height": "0", "margin": "0"})
        wrapped = widgets.HBox(rows, layout={"flex_flow": "row wrap"})
        box = widgets.VBox([style, wrapped, self._image, self._text], layout={"width": "100%"})
        box.add_class("fdlib-panel")
        return box

    def _row(self, key: str, control: Control) -> Any:
        widget = control.build()
        widget.value = self.values[key]
        widget.observe(lambda change: self._moved(key, change["new"]), names="value")
        self.widgets[key] = widget
        return player_row(widget, control.interval_s) if isinstance(control, Player) else widget

    def _ipython_display_(self) -> None:
        """One output in up to three forms. A viewer takes the first that it can show."""
        from IPython.display import display

        forms: dict[str, Any] = {"text/plain": repr(self)}
        if self.png:
            forms["image/png"] = self.png
        if importlib.util.find_spec("ipywidgets") is not None:
            model = self.box().model_id
            forms[VIEW] = {"version_major": 2, "version_minor": 0, "model_id": model}
        still = {"alt": repr(self), "width": self._canvas.shown_width}
        display(forms, metadata={"image/png": still}, raw=True)


def _paragraph(sentence: str) -> str:
    return f'<p role="status">{escape(sentence)}</p>'
