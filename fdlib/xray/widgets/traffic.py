"""Bytes that kernels ask for and bytes that must reach HBM, from traces of the kernels themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from fdlib.device import interpreting
from fdlib.xray.draw.traced_bytes import draw_traced_bytes, prepare_traced_bytes, rows_high
from fdlib.xray.figures.traced_bytes import KernelBytes, traced_bytes
from fdlib.xray.trace import trace
from fdlib.xray.widgets.controls import Stops
from fdlib.xray.widgets.panel import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["hbm_traffic"]

_TOKENS = (32, 64, 128, 256)
_ROW_INCHES = 0.17


def hbm_traffic(
    kernels: Mapping[str, Callable[..., Any]],
    *,
    len_q: int | None = None,
    heads: int = 2,
    head_dim: int = 64,
) -> Panel:
    """Traces of ``kernels[name](q, k, v)`` beside each other; the number of tokens to choose.

    q ``(1, len_q, heads, head_dim)`` (all tokens if ``len_q`` is None), k and v ``(1, tokens, heads,
    head_dim)``, float16. Where kernels are interpreted, all sizes are traced at the start.
    """

    @cache
    def traced(tokens: int) -> list[KernelBytes]:
        inputs = _inputs(tokens, len_q or tokens, heads, head_dim)
        return [traced_bytes(name, trace(run, *inputs)) for name, run in kernels.items()]

    def ground(figure: Figure) -> None:
        ax = figure.add_axes((0.165, 0.56 / height, 0.825, 1 - 0.9 / height))
        prepare_traced_bytes(ax, traced(_TOKENS[-1]), title=title)

    def draw(figure: Figure, tokens: int) -> str:
        return draw_traced_bytes(figure.axes[0], traced(tokens))

    queries = (
        "every token a query" if len_q is None else f"{len_q} quer{'y' if len_q == 1 else 'ies'}"
    )
    title = f"Bytes of attention, traced: {queries}, {heads} heads"
    if interpreting():  # a trace is quick there; on a GPU machine each takes a process of its own
        for tokens in _TOKENS:
            traced(tokens)
    controls = {"tokens": Stops("Tokens", _TOKENS, _TOKENS[-1])}
    height = 0.92 + rows_high(traced(_TOKENS[-1])) * _ROW_INCHES
    return Panel("HBM traffic", draw, controls, size=(6.6, height), ground=ground)


def _inputs(tokens: int, len_q: int, heads: int, head_dim: int) -> tuple[Any, Any, Any]:
    import torch

    of = torch.Generator().manual_seed(0)
    sizes = (len_q, tokens, tokens)
    q, k, v = (torch.randn(1, n, heads, head_dim, generator=of).half() for n in sizes)
    return q, k, v
