"""Sizes, bytes and FLOPs of an attention call, and the head layouts of named models."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ELEMENT_BYTES", "MODELS", "AttentionShape", "ModelSpec", "model"]

ELEMENT_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4}


def _check_int(name: str, value: int, minimum: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name}: got {value!r}, takes an int >= {minimum}")
    if value < minimum:
        raise ValueError(f"{name}: got {value}, takes an int >= {minimum}")


def _check_dtype(dtype: str) -> None:
    if not isinstance(dtype, str) or dtype not in ELEMENT_BYTES:
        raise ValueError(f"dtype: got {dtype!r}, takes one of {', '.join(ELEMENT_BYTES)}")


def _check_heads(heads_q: int, heads_kv: int, head_dim: int) -> None:
    for name, value in (("heads_q", heads_q), ("heads_kv", heads_kv), ("head_dim", head_dim)):
        _check_int(name, value, 1)
    if heads_q % heads_kv:
        raise ValueError(f"heads_q: got {heads_q}, takes a multiple of heads_kv ({heads_kv})")


@dataclass(frozen=True, kw_only=True)
class AttentionShape:
    """The sizes of one attention call: q (B, L_q, H_q, D) against k and v (B, L_kv, H_kv, D).

    Fields are passed by name. Raises TypeError for a size that is not an int, ValueError for one
    out of range, for heads_q that is no multiple of heads_kv, and for an unknown dtype.

    One decoding step of Llama-3.1-8B over 4096 tokens reads the KV cache and does little else:

    >>> step = AttentionShape(heads_q=32, heads_kv=8, len_kv=4096)
    >>> step.group_size, step.q_bytes, step.kv_bytes
    (4, 8192, 16777216)
    >>> round(step.intensity, 1)
    4.0
    """

    batch: int = 1
    heads_q: int
    heads_kv: int
    len_q: int = 1
    len_kv: int
    head_dim: int = 128
    dtype: str = "bfloat16"

    def __post_init__(self) -> None:
        for name in ("batch", "len_q", "len_kv"):
            _check_int(name, getattr(self, name), 0)
        _check_heads(self.heads_q, self.heads_kv, self.head_dim)
        _check_dtype(self.dtype)

    @property
    def group_size(self) -> int:
        """Query heads that share one KV head: 1 for MHA, heads_q for MQA."""
        return self.heads_q // self.heads_kv

    @property
    def element_bytes(self) -> int:
        """Bytes of one element of q, k, v or out."""
        return ELEMENT_BYTES[self.dtype]

    @property
    def q_bytes(self) -> int:
        """Bytes of q."""
        return self.batch * self.len_q * self.heads_q * self.head_dim * self.element_bytes

    @property
    def kv_bytes(self) -> int:
        """Bytes of k and v together."""
        return 2 * self.batch * self.len_kv * self.heads_kv * self.head_dim * self.element_bytes

    @property
    def out_bytes(self) -> int:
        """Bytes of out, which has the shape and dtype of q."""
        return self.q_bytes

    @property
    def scores_bytes(self) -> int:
        """Bytes of the (B, H_q, L_q, L_kv) scores that naive attention writes, in `dtype`."""
        return self.batch * self.heads_q * self.len_q * self.len_kv * self.element_bytes

    @property
    def min_bytes(self) -> int:
        """Bytes that no kernel can avoid: q, k and v read once, out written once."""
        return self.q_bytes + self.kv_bytes + self.out_bytes

    @property
    def flops(self) -> int:
        """FLOPs of q k^T and p v: 4 B H_q L_q L_kv D, without a discount for a causal mask."""
        return 4 * self.batch * self.heads_q * self.len_q * self.len_kv * self.head_dim

    @property
    def intensity(self) -> float:
        """FLOPs per byte: flops / min_bytes, or 0.0 when there is nothing to move."""
        return self.flops / self.min_bytes if self.min_bytes else 0.0


@dataclass(frozen=True)
class ModelSpec:
    """The attention layers of one decoder-only model, and the document that `source` names.

    Raises TypeError or ValueError as AttentionShape does.

    >>> llama = model("Llama-3.1-8B")
    >>> llama.kv_bytes_per_token(), llama.kv_cache_bytes(131072) // 2**30
    (131072, 16)
    >>> llama.shape(4096, gpus=4).heads_kv
    2
    """

    name: str
    layers: int
    heads_q: int
    heads_kv: int
    head_dim: int
    source: str

    def __post_init__(self) -> None:
        _check_int("layers", self.layers, 1)
        _check_heads(self.heads_q, self.heads_kv, self.head_dim)

    def kv_bytes_per_token(self, dtype: str = "bfloat16") -> int:
        """Bytes of keys and values that one token adds, over all layers; no sliding window."""
        _check_dtype(dtype)
        return 2 * self.layers * self.heads_kv * self.head_dim * ELEMENT_BYTES[dtype]

    def kv_cache_bytes(self, tokens: int, batch: int = 1, dtype: str = "bfloat16") -> int:
        """Bytes of the KV cache of `batch` sequences of `tokens` tokens each, over all layers."""
        _check_int("tokens", tokens, 0)
        _check_int("batch", batch, 0)
        return batch * tokens * self.kv_bytes_per_token(dtype)

    def shape(
        self, len_kv: int, *, batch: int = 1, len_q: int = 1, gpus: int = 1, dtype: str = "bfloat16"
    ) -> AttentionShape:
        """The attention call of one layer on one of `gpus` GPUs under tensor parallelism.

        Heads are divided by `gpus`. With more GPUs than KV heads, each GPU holds a copy of one.
        Raises ValueError when heads do not divide evenly.
        """
        _check_int("gpus", gpus, 1)
        if self.heads_q % gpus:
            raise ValueError(
                f"gpus: got {gpus}, takes a divisor of heads_q ({self.heads_q} in {self.name})"
            )
        if self.heads_kv % gpus and gpus % self.heads_kv:
            raise ValueError(
                f"gpus: got {gpus}, takes a divisor or a multiple of heads_kv "
                f"({self.heads_kv} in {self.name})"
            )
        return AttentionShape(
            batch=batch,
            heads_q=self.heads_q // gpus,
            heads_kv=max(self.heads_kv // gpus, 1),
            len_q=len_q,
            len_kv=len_kv,
            head_dim=self.head_dim,
            dtype=dtype,
        )


_HUB = "config.json, https://huggingface.co/"

# name, layers, heads_q, heads_kv, head_dim (hidden_size / heads_q where the file has none), source.
_MODELS = (
    ModelSpec("Llama-3.1-8B", 32, 32, 8, 128, _HUB + "meta-llama/Llama-3.1-8B"),
    ModelSpec("Llama-3.1-70B", 80, 64, 8, 128, _HUB + "meta-llama/Llama-3.1-70B"),
    ModelSpec("Llama-2-7B", 32, 32, 32, 128, _HUB + "meta-llama/Llama-2-7b-hf"),
    ModelSpec("Mistral-7B", 32, 32, 8, 128, _HUB + "mistralai/Mistral-7B-v0.1"),
    ModelSpec("Qwen2.5-7B", 28, 28, 4, 128, _HUB + "Qwen/Qwen2.5-7B"),
    ModelSpec("Gemma-2-9B", 42, 16, 8, 256, _HUB + "google/gemma-2-9b"),
    ModelSpec("Phi-3-mini", 32, 32, 32, 96, _HUB + "microsoft/Phi-3-mini-4k-instruct"),
    ModelSpec("GPT-2", 12, 12, 12, 64, _HUB + "openai-community/gpt2"),
    # multi_query is true: one KV head. Some copies of the file also carry num_kv_heads 71, unused.
    ModelSpec("Falcon-7B", 32, 71, 1, 64, _HUB + "tiiuae/falcon-7b"),
)

MODELS: dict[str, ModelSpec] = {spec.name: spec for spec in _MODELS}


def model(name: str) -> ModelSpec:
    """The ModelSpec called `name`, in any case; ValueError for a name that MODELS does not have.

    >>> model("falcon-7b").heads_kv
    1
    """
    for key, spec in MODELS.items():
        if isinstance(name, str) and name.strip().lower() == key.lower():
            return spec
    raise ValueError(f"name: got {name!r}, takes one of {', '.join(MODELS)}")
