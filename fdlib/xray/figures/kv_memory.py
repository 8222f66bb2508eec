"""Weights and KV cache of a named model against the memory of one GPU."""

from __future__ import annotations

from dataclasses import dataclass

from fdlib.gpus import GpuSpec
from fdlib.shapes import ELEMENT_BYTES, model

__all__ = ["PARAMETERS", "KvMemory", "memory_bytes_of"]

# Counted from the sizes in each model's config.json (the one that `fdlib.shapes` names). Models with a sliding window
# are left out: their cache stops growing in some layers.
PARAMETERS = {
    "Llama-3.1-8B": 8_030_261_248,
    "Llama-3.1-70B": 70_553_706_496,
    "Llama-2-7B": 6_738_415_616,
    "Qwen2.5-7B": 7_615_616_512,
    "Falcon-7B": 6_921_720_704,
    "GPT-2": 124_439_808,
}


def memory_bytes_of(gpu: GpuSpec) -> int:
    """Bytes of the GPU's memory; data sheets count in GB of 10^9 bytes."""
    return gpu.memory_gb * 10**9


@dataclass(frozen=True)
class KvMemory:
    """``batch`` texts in the cache of one model on one GPU, all in ``dtype``. A GB of the GPU is 10^9 bytes.

    Raises `ValueError` for a model that is not in `PARAMETERS`.

    >>> from fdlib.gpus import get_gpu
    >>> memory = KvMemory("Llama-3.1-8B", get_gpu("H200"), batch=1, dtype="bfloat16")
    >>> memory.bytes_per_token, memory.tokens_like_weights, memory.tokens_that_fit
    (131072, 122533, 953212)
    """

    name: str
    gpu: GpuSpec
    batch: int
    dtype: str

    def __post_init__(self) -> None:
        if self.name not in PARAMETERS:
            raise ValueError(f"name: got {self.name!r}, takes one of {', '.join(PARAMETERS)}")

    @property
    def memory_bytes(self) -> int:
        """Bytes of the GPU's memory."""
        return memory_bytes_of(self.gpu)

    @property
    def weight_bytes(self) -> int:
        """Bytes of the model's weights."""
        return PARAMETERS[self.name] * ELEMENT_BYTES[self.dtype]

    @property
    def bytes_per_token(self) -> int:
        """Bytes that one more token in each text adds."""
        return self.cache_bytes(1)

    @property
    def bytes_per_token_and_text(self) -> int:
        """Bytes that one more token in one text adds."""
        return self.bytes_per_token // self.batch

    def cache_bytes(self, tokens: int) -> int:
        """Bytes of the cache with ``tokens`` tokens in each text."""
        return model(self.name).kv_cache_bytes(tokens, batch=self.batch, dtype=self.dtype)

    @property
    def tokens_like_weights(self) -> int:
        """The first number of tokens in each text at which the cache is as large as the weights."""
        return -(-self.weight_bytes // self.bytes_per_token)

    @property
    def tokens_that_fit(self) -> int:
        """The most tokens in each text for which weights and cache fit; below 0 if the weights alone do not."""
        return (self.memory_bytes - self.weight_bytes) // self.bytes_per_token
