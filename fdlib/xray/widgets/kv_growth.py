"""How the KV cache fills a GPU's memory beside the weights of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdlib.gpus import GPUS, get_gpu
from fdlib.xray.draw.kv_memory import draw_kv_memory, prepare_kv_memory
from fdlib.xray.draw.style import format_bytes
from fdlib.xray.figures.kv_memory import PARAMETERS, KvMemory, memory_bytes_of
from fdlib.xray.widgets.controls import Choice, Control, Stops
from fdlib.xray.widgets.panel import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["kv_cache_growth"]

_MOST_TOKENS = 131_072
_STEP = 1024  # tokens for one step of the slider


def kv_cache_growth() -> Panel:
    """Weights and KV cache of a named model on one GPU; tokens, batch, dtype, model and GPU to choose."""
    dtypes = [("16 bits", "bfloat16"), ("32 bits", "float32")]
    controls: dict[str, Control] = {
        "tokens": Stops("Tokens", range(0, _MOST_TOKENS + 1, _STEP), 32_768),
        "batch": Stops("Texts", [2**power for power in range(8)], 1),
        "name": Choice("Model", list(PARAMETERS), "Llama-3.1-8B"),
        "dtype": Choice("Each number", dtypes, "bfloat16", buttons=True),
        "gpu": Choice("GPU", list(GPUS), "RTX 4090"),
    }
    return Panel("KV cache", _draw, controls, size=(6.6, 3.8), ground=_ground, ground_of=("gpu",))


def _ground(figure: Figure, gpu: str) -> None:
    ax = figure.add_axes((0.12, 0.28, 0.82, 0.635))
    memory = memory_bytes_of(get_gpu(gpu))
    title = f"Weights and KV cache in the memory of one {gpu}"
    prepare_kv_memory(ax, memory, _MOST_TOKENS, title=title)


def _draw(figure: Figure, tokens: int, batch: int, name: str, dtype: str, gpu: str) -> str:
    memory = KvMemory(name, get_gpu(gpu), batch, dtype)
    draw_kv_memory(figure.axes[0], memory, tokens)
    return f"{_now(memory, tokens)} {_limits(memory)}"


def _now(memory: KvMemory, tokens: int) -> str:
    texts = "1 text" if memory.batch == 1 else f"{memory.batch} texts"
    each = memory.bytes_per_token_and_text
    return (
        f"{memory.name}: {each:,} bytes for each token. {texts} of {tokens:,} token{'s' * (tokens != 1)}: "
        f"{format_bytes(memory.cache_bytes(tokens))} of cache beside {format_bytes(memory.weight_bytes)} of weights."
    )


def _limits(memory: KvMemory) -> str:
    if memory.tokens_that_fit < 0:
        return f"The weights alone do not fit on one {memory.gpu.name}."
    whose = "" if memory.batch == 1 else " in each"
    return (
        f"The cache is as large as the weights at {memory.tokens_like_weights:,} tokens{whose}; "
        f"the memory of the {memory.gpu.name} is full after {memory.tokens_that_fit:,}."
    )
