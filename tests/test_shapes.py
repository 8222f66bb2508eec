"""fdlib.shapes: counts against plain arithmetic, refusals, model presets and tensor parallelism."""

from __future__ import annotations

import dataclasses
import math

import pytest

from fdlib.shapes import ELEMENT_BYTES, MODELS, AttentionShape, ModelSpec, model

# All sizes differ, so that a swapped pair shows.
ODD = AttentionShape(batch=3, heads_q=10, heads_kv=5, len_q=7, len_kv=11, head_dim=13)


def test_counts_against_plain_arithmetic() -> None:
    assert ODD.group_size == 2
    assert ODD.q_bytes == math.prod((3, 7, 10, 13)) * 2 == ODD.out_bytes
    assert ODD.kv_bytes == 2 * math.prod((3, 11, 5, 13)) * 2
    assert ODD.scores_bytes == math.prod((3, 10, 7, 11)) * 2
    assert ODD.min_bytes == 2 * ODD.q_bytes + ODD.kv_bytes
    assert ODD.flops == 2 * (2 * math.prod((3, 10, 7, 11, 13)))
    assert ODD.intensity == ODD.flops / ODD.min_bytes


@pytest.mark.parametrize(("dtype", "size"), ELEMENT_BYTES.items())
def test_bytes_scale_with_the_dtype(dtype: str, size: int) -> None:
    shape = dataclasses.replace(ODD, dtype=dtype)
    assert shape.element_bytes == size
    for name in ("q_bytes", "kv_bytes", "out_bytes", "scores_bytes", "min_bytes"):
        assert getattr(shape, name) * 2 == getattr(ODD, name) * size
    assert shape.flops == ODD.flops


def test_decode_intensity_tends_to_the_group_size_in_16_bits() -> None:
    shape = AttentionShape(heads_q=32, heads_kv=8, len_kv=1_000_000)
    assert shape.intensity == pytest.approx(4, rel=1e-4)


def test_defaults_are_one_token_of_one_sequence() -> None:
    shape = AttentionShape(heads_q=8, heads_kv=1, len_kv=5)
    assert (shape.batch, shape.len_q, shape.head_dim, shape.dtype) == (1, 1, 128, "bfloat16")


@pytest.mark.parametrize("zero", [{"batch": 0}, {"len_q": 0}, {"len_kv": 0}])
def test_zero_sizes_are_allowed(zero: dict[str, int]) -> None:
    shape = dataclasses.replace(ODD, **zero)
    assert shape.flops == 0
    assert shape.intensity == 0.0


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"len_kv": -1}, ValueError, "len_kv: got -1, takes an int >= 0"),
        ({"len_q": -2}, ValueError, "len_q: got -2, takes an int >= 0"),
        ({"batch": -3}, ValueError, "batch: got -3, takes an int >= 0"),
        ({"heads_q": 0}, ValueError, "heads_q: got 0, takes an int >= 1"),
        ({"heads_kv": 0}, ValueError, "heads_kv: got 0, takes an int >= 1"),
        ({"head_dim": 0}, ValueError, "head_dim: got 0, takes an int >= 1"),
        ({"len_kv": 2.0}, TypeError, "len_kv: got 2.0, takes an int >= 0"),
        ({"batch": True}, TypeError, "batch: got True, takes an int >= 0"),
        ({"heads_q": 12}, ValueError, "heads_q: got 12, takes a multiple of heads_kv (5)"),
        (
            {"dtype": "fp16"},
            ValueError,
            "dtype: got 'fp16', takes one of float16, bfloat16, float32",
        ),
        ({"dtype": None}, ValueError, "dtype: got None, takes one of float16, bfloat16, float32"),
    ],
)
def test_refusals_name_the_field(change: dict, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as error:
        dataclasses.replace(ODD, **change)
    assert str(error.value) == message


def test_presets_follow_their_config_files() -> None:
    sizes = {m.name: (m.layers, m.heads_q, m.heads_kv, m.head_dim) for m in MODELS.values()}
    assert sizes == {
        "Llama-3.1-8B": (32, 32, 8, 128),
        "Llama-3.1-70B": (80, 64, 8, 128),
        "Llama-2-7B": (32, 32, 32, 128),
        "Mistral-7B": (32, 32, 8, 128),
        "Qwen2.5-7B": (28, 28, 4, 128),
        "Gemma-2-9B": (42, 16, 8, 256),
        "Phi-3-mini": (32, 32, 32, 96),
        "GPT-2": (12, 12, 12, 64),
        "Falcon-7B": (32, 71, 1, 64),
    }
    assert all("https://" in m.source for m in MODELS.values())


@pytest.mark.parametrize("spec", MODELS.values(), ids=MODELS)
def test_the_cache_is_every_layer_of_the_shape(spec: ModelSpec) -> None:
    for dtype in ELEMENT_BYTES:
        cache = spec.kv_cache_bytes(777, batch=3, dtype=dtype)
        assert cache == spec.layers * spec.shape(777, batch=3, dtype=dtype).kv_bytes
        assert cache == 3 * 777 * spec.kv_bytes_per_token(dtype)
    assert spec.kv_cache_bytes(0) == 0


def test_look_up() -> None:
    assert model(" llama-3.1-8b ") is MODELS["Llama-3.1-8B"]
    for name in ("Llama", "", None):
        with pytest.raises(ValueError, match=r"^name: got .*, takes one of Llama-3.1-8B, .*Falcon"):
            model(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "gpus", "heads"),
    [
        ("Llama-3.1-70B", 1, (64, 8)),
        ("Llama-3.1-70B", 8, (8, 1)),
        ("Llama-3.1-70B", 16, (4, 1)),  # more GPUs than KV heads: each is held twice
        ("Falcon-7B", 71, (1, 1)),
        ("Qwen2.5-7B", 14, None),
        ("Qwen2.5-7B", 28, (1, 1)),
    ],
)
def test_tensor_parallel_heads(name: str, gpus: int, heads: tuple[int, int] | None) -> None:
    if heads is None:  # 14 divides the 28 query heads, but 4 KV heads do not spread over 14 GPUs
        with pytest.raises(ValueError, match=r"^gpus: got 14, takes a divisor or a multiple of he"):
            model(name).shape(100, gpus=gpus)
        return
    shape = model(name).shape(100, batch=2, len_q=3, gpus=gpus, dtype="float16")
    assert (shape.heads_q, shape.heads_kv) == heads
    assert (shape.batch, shape.len_q, shape.len_kv, shape.dtype) == (2, 3, 100, "float16")
    assert shape.head_dim == model(name).head_dim


@pytest.mark.parametrize("gpus", [0, -1, 3, 1.0])
def test_gpu_counts_that_do_not_divide_are_refused(gpus: object) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^gpus: got "):
        model("Llama-3.1-8B").shape(100, gpus=gpus)  # type: ignore[arg-type]


def test_bad_cache_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^tokens: got -1, takes an int >= 0"):
        model("GPT-2").kv_cache_bytes(-1)
    with pytest.raises(ValueError, match=r"^dtype: got 'int8', takes one of"):
        model("GPT-2").kv_bytes_per_token("int8")
