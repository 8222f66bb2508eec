"""Back, next and play beside a slider: buttons with words on them, which ipywidgets' own Play does not have."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["player_row"]


def player_row(slider: Any, interval_s: float) -> Any:
    """The slider and three buttons in a row. The slider's ends stop them; play starts again from its beginning."""
    import ipywidgets as widgets

    back, play, forward = (
        widgets.Button(description=text, layout={"width": "auto"})
        for text in ("Back", "Play", "Next")
    )
    back.on_click(lambda _: step(slider, -1))
    forward.on_click(lambda _: step(slider, 1))
    play.on_click(_Playing(slider, play, interval_s).toggle)
    return widgets.HBox([slider, back, play, forward], layout={"flex_flow": "row wrap"})


def step(slider: Any, by: int) -> bool:
    """Move the slider by ``by`` and say whether it moved."""
    before = slider.value
    slider.value = min(max(before + by, slider.min), slider.max)
    return slider.value != before


class _Playing:
    """What the play button starts and stops: a task of the kernel's own loop, so that it waits while a cell runs."""

    def __init__(self, slider: Any, button: Any, interval_s: float) -> None:
        self.slider, self.button, self.interval_s = slider, button, interval_s
        self.task: asyncio.Task[None] | None = None

    def toggle(self, _button: Any) -> None:
        if self.task is not None:
            self.task.cancel()
            self._rest()
            return
        self.task = asyncio.get_running_loop().create_task(self._run())
        self.button.description = "Pause"

    async def _run(self) -> None:
        if self.slider.value == self.slider.max:
            self.slider.value = self.slider.min
        try:
            while step(self.slider, 1):
                await asyncio.sleep(self.interval_s)
        finally:
            self._rest()

    def _rest(self) -> None:
        self.task = None
        self.button.description = "Play"
