"""The roofline of attention: GPU, model, phase, context and batch move a call under the roof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdlib.gpus import GPUS, get_gpu
from fdlib.shapes import MODELS, model
from fdlib.xray.draw.roofline import draw_call, draw_ghost, prepare_roofline
from fdlib.xray.draw.style import format_bytes
from fdlib.xray.draw.timelines import format_time
from fdlib.xray.figures.roofline import Roofline, roof_line
from fdlib.xray.widgets.controls import Choice, Control, Stops
from fdlib.xray.widgets.panel import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["roofline_explorer"]

_LOWEST, _HIGHEST = 0.5, 2.0**17  # FLOPs per byte that the picture spans


def roofline_explorer() -> Panel:
    """One layer's attention of a named model under the roof of a GPU, as decode or as prefill."""
    models = [
        (f"{spec.name} ({spec.heads_q}/{spec.heads_kv})", name) for name, spec in MODELS.items()
    ]
    controls: dict[str, Control] = {
        "phase": Choice("Phase", ["decode", "prefill"], "decode", buttons=True),
        "context": Stops("Context", [2**power for power in range(18)], 16_384),
        "batch": Stops("Batch", [2**power for power in range(10)], 1),
        "gpu": Choice("GPU", list(GPUS), "H200"),
        "name": Choice("Model, heads", models, "Llama-3.1-8B"),
    }
    return Panel("Roofline", _draw, controls, size=(6.6, 3.5), ground=_ground, ground_of=("gpu",))


def _ground(figure: Figure, gpu: str) -> None:
    ax = figure.add_axes((0.105, 0.16, 0.575, 0.73))
    spec = get_gpu(gpu)
    title = f"The roofline of attention on {spec.full_name}"
    prepare_roofline(ax, *roof_line(spec, _LOWEST, _HIGHEST), ridge=spec.ridge, title=title)


def _draw(figure: Figure, phase: str, context: int, batch: int, name: str, gpu: str) -> str:
    calls = {
        each: Roofline(
            model(name).shape(context, batch=batch, len_q=1 if each == "decode" else context),
            get_gpu(gpu),
        )
        for each in ("decode", "prefill")
    }
    other = "prefill" if phase == "decode" else "decode"
    call, one_place = calls[phase], calls[phase].is_near(calls[other])
    draw_ghost(figure.axes[0], calls[other], "" if one_place else other)
    draw_call(figure.axes[0], call, f"{phase}, {other}" if one_place else phase)
    return (
        f"One layer of {name} on an {gpu}: {phase}, batch {batch}, {context:,} token{'s' * (context != 1)}. "
        f"{call.shape.flops:,} FLOPs, at least {format_bytes(call.shape.min_bytes)} moved: "
        f"{call.shape.intensity:,.1f} FLOPs per byte, the ridge is at {call.gpu.ridge:,.0f}. It is {call.bound}-bound: "
        f"at least {format_time(call.floor_us)} us, with at most {call.tflops / call.gpu.fp16_tflops:.1%} of the peak."
    )
