"""Bytes of weights and cache, and the two places where the cache outgrows something."""

from __future__ import annotations

import pytest

from fdlib.gpus import get_gpu
from fdlib.shapes import MODELS
from fdlib.xray.figures.kv_memory import PARAMETERS, KvMemory, memory_bytes_of


def test_the_models_are_named_in_shapes():
    assert set(PARAMETERS) <= set(MODELS)


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_the_two_places(name, batch, dtype):
    memory = KvMemory(name, get_gpu("H200"), batch, dtype)
    like = memory.tokens_like_weights
    assert memory.cache_bytes(like - 1) < memory.weight_bytes <= memory.cache_bytes(like)
    fits = memory.tokens_that_fit
    if fits >= 0:
        assert memory.weight_bytes + memory.cache_bytes(fits) <= memory.memory_bytes
        assert memory.weight_bytes + memory.cache_bytes(fits + 1) > memory.memory_bytes


def test_bytes_of_a_token_in_one_text_do_not_grow_with_the_texts():
    one, many = (KvMemory("Llama-3.1-8B", get_gpu("H200"), n, "bfloat16") for n in (1, 16))
    assert many.bytes_per_token == 16 * one.bytes_per_token
    assert many.bytes_per_token_and_text == one.bytes_per_token_and_text == one.bytes_per_token
    assert memory_bytes_of(get_gpu("H200")) == one.memory_bytes == 141 * 10**9


def test_weights_that_do_not_fit():
    assert KvMemory("Llama-3.1-70B", get_gpu("T4"), 1, "bfloat16").tokens_that_fit < 0


def test_an_unknown_model():
    with pytest.raises(ValueError, match="name: got 'Mistral-7B', takes one of Llama-3.1-8B"):
        KvMemory("Mistral-7B", get_gpu("T4"), 1, "bfloat16")
