"""Weights and cache in a GPU's memory: what stands in the picture is what was given."""

from __future__ import annotations

import pytest

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

from fdlib.gpus import GPUS, get_gpu  # noqa: E402
from fdlib.xray.draw.kv_memory import draw_kv_memory, prepare_kv_memory  # noqa: E402
from fdlib.xray.figures.kv_memory import PARAMETERS, KvMemory  # noqa: E402

MOST = 131_072


def drawn(memory: KvMemory, tokens: int):
    ax = Figure(figsize=(6, 4)).subplots()
    prepare_kv_memory(ax, memory.memory_bytes, MOST, title="memory")
    draw_kv_memory(ax, memory, tokens)
    ax.figure.canvas.draw()
    return ax


def markers(ax) -> dict:
    """Where each marker stands among the data; the same markers below the Axes say what they are."""
    inside = [line for line in ax.lines if line.get_transform() != ax.transAxes]
    points = [(line.get_marker(), line.get_xydata()) for line in inside]
    return {marker: tuple(point[0]) for marker, point in points if len(point) == 1}


def test_markers_where_the_cache_outgrows_weights_and_memory():
    memory = KvMemory("Llama-2-7B", get_gpu("RTX 4090"), batch=1, dtype="bfloat16")
    found = markers(drawn(memory, 4096))
    assert found["D"] == (memory.tokens_like_weights, 2 * memory.weight_bytes)
    assert found["X"][0] == memory.tokens_that_fit
    assert found["o"] == (4096, memory.weight_bytes + memory.cache_bytes(4096))


def test_sizes_are_written():
    ax = drawn(KvMemory("Llama-3.1-8B", get_gpu("RTX 4090"), batch=1, dtype="bfloat16"), 32_768)
    texts = {text.get_text() for text in ax.texts}
    assert {"20.4 GB", "KV cache: 4.29 GB", "weights: 16.1 GB"} <= texts
    assert "no room: the RTX 4090 has 24.0 GB" in texts


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(("batch", "tokens"), [(1, 0), (128, MOST)])
def test_ends(name, gpu, batch, tokens):
    memory = KvMemory(name, get_gpu(gpu), batch, "float32")
    found = markers(drawn(memory, tokens))
    assert ("o" in found) != ("^" in found)  # within the picture, or above it
    assert ("X" in found) == (0 <= memory.tokens_that_fit <= MOST)


def test_the_key_names_what_is_in_the_picture_and_no_more():
    ax = drawn(KvMemory("Llama-3.1-70B", get_gpu("RTX 4090"), batch=1, dtype="bfloat16"), 32_768)
    texts = {text.get_text() for text in ax.texts}
    assert {"weights: 141 GB", "both now"} <= texts
    assert not {"memory full", "cache as large as weights"} & texts
    assert markers(ax)["^"][1] < ax.get_ylim()[1]  # below the title
