"""The controls that a panel can have. Each has a name in words, and is what ipywidgets 7.7 and 8.1 both have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Choice", "Control", "Player", "Slider", "Stops"]

_LABEL_WIDTH = "7em"
_SHORT = 9  # letters that fit where a slider's number stands


@dataclass(frozen=True)
class Slider:
    """Whole numbers from ``low`` to ``high``."""

    label: str
    low: int
    high: int
    value: int

    def check(self, name: str, value: Any) -> None:
        """Raise `ValueError` for what the slider cannot show."""
        if type(value) is not int or not self.low <= value <= self.high:
            raise ValueError(f"{name}: got {value!r}, takes an int from {self.low} to {self.high}")

    def build(self) -> Any:
        """The ipywidget."""
        import ipywidgets as widgets

        return widgets.IntSlider(
            value=self.value, min=self.low, max=self.high, **_look(self.label), **_WIDE
        )


@dataclass(frozen=True)
class Player(Slider):
    """A slider with buttons beside it: back, next, and play, which moves on every ``interval_s`` seconds."""

    interval_s: float = 0.8


@dataclass(frozen=True)
class Stops:
    """A slider with stops at ``values``, such as powers of two; ``show`` writes one."""

    label: str
    values: Sequence[Any]
    value: Any
    show: Callable[[Any], str] = "{:,}".format

    def check(self, name: str, value: Any) -> None:
        """Raise `ValueError` for what is no stop."""
        _check_one_of(name, value, self.values)

    def build(self) -> Any:
        """The ipywidget."""
        import ipywidgets as widgets

        options = [(self.show(value), value) for value in self.values]
        return widgets.SelectionSlider(
            options=options, value=self.value, **_look(self.label), **_WIDE
        )


@dataclass(frozen=True)
class Choice:
    """One of ``options``, each a text or ``(text, value)``: a slider with the text beside it, or buttons in a row.

    No drop-down: JupyterLab takes the arrow keys and letters from it, and moves to another cell or cuts this one.
    """

    label: str
    options: Sequence[Any]
    value: Any
    buttons: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise `ValueError` for what is no option."""
        pairs = (each if isinstance(each, tuple) else (each, each) for each in self.options)
        _check_one_of(name, value, [own for _, own in pairs])

    def build(self) -> Any:
        """The ipywidget."""
        import ipywidgets as widgets

        kind = widgets.ToggleButtons if self.buttons else widgets.SelectionSlider
        look = _look(self.label)
        if self.buttons:
            look["style"]["button_width"] = "auto"
        texts = [each[0] if isinstance(each, tuple) else each for each in self.options]
        long = not self.buttons and max(map(len, texts)) > _SHORT
        wide = _WIDER if long else _WIDE
        widget = kind(options=list(self.options), value=self.value, **look, **wide)
        widget.add_class("fdlib-long" if long else "fdlib-short")
        return widget


Control = Slider | Stops | Choice


def _check_one_of(name: str, value: Any, values: Sequence[Any]) -> None:
    if value not in values:
        some = map(str, values if len(values) <= 20 else [*values[:3], "...", values[-1]])
        raise ValueError(f"{name}: got {value!r}, takes one of {', '.join(some)}")


def _look(label: str) -> dict[str, Any]:
    return {"description": label, "style": {"description_width": _LABEL_WIDTH}}


_WIDE: dict[str, Any] = {"layout": {"width": "22em", "max_width": "100%"}}
_WIDER: dict[str, Any] = {
    "layout": {"width": "32em", "max_width": "100%"}
}  # the text takes its part
