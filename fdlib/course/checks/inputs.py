"""Inputs for the checks, and the oracle that says what is right about them."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fdlib.course.expect.compare import Mismatch
from fdlib.device import interpreting

if TYPE_CHECKING:
    import torch

__all__ = [
    "CACHE_AXES",
    "LSE_AXES",
    "OUT_AXES",
    "bind_oracle",
    "call",
    "describe",
    "far_apart",
    "in_nan",
    "nan_behind",
    "oracle",
    "random_qkv",
    "unchanged",
]

OUT_AXES = ("batch", "query", "head", "dim")
LSE_AXES = ("batch", "head", "query")
CACHE_AXES = ("batch", "position", "head", "dim")
# NaN lies behind the last key, head and sequence, as far as a plausible wrong index reaches.
_MORE_KEYS, _MORE_SEQUENCES = 64, 4


def call(
    module: ModuleType, name: str, *args: Any, returns: tuple[str, ...] = ("out", "lse"), **kw: Any
) -> tuple[Any, ...]:
    """What the learner's function returned; `Mismatch` if it is gone or returned too few values."""
    function = getattr(module, name, None)
    if not callable(function):
        raise Mismatch(
            f"The function {name} is not there. Give it back the name that the exercise gave it."
        )
    values = function(*args, **kw)
    if not isinstance(values, (tuple, list)) or len(values) != len(returns):
        several = isinstance(values, (tuple, list))
        got = f"{len(values)} values" if several else type(values).__name__
        raise Mismatch(f"{name} returned {got}, expected {len(returns)}: {', '.join(returns)}.")
    return tuple(values)


def describe(q: torch.Tensor, k: torch.Tensor, *more: str) -> str:
    """The test case in one line, for a message."""
    (batch, len_q, heads_q, head_dim), (_, len_kv, heads_kv, _) = q.shape, k.shape
    heads = f"H {heads_q}" if heads_q == heads_kv else f"H_q {heads_q}, H_kv {heads_kv}"
    sizes = f"B {batch}, L_q {len_q}, L_kv {len_kv}, {heads}, D {head_dim}"
    return ", ".join([sizes, *filter(None, more)])


def random_qkv(
    generator: torch.Generator,
    *,
    batch: int,
    len_q: int,
    len_kv: int,
    heads_q: int,
    heads_kv: int = 0,
    head_dim: int = 16,
    level: float = 0.0,
    falling: bool = False,
    dtype: str = "float32",
    packed: bool = False,
    device: str = "cpu",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k and v with every stride different and NaN behind the last key.

    Each query has one key among the last third that beats all others, so the running maximum moves
    late. `level` is added to all scores; if `falling`, to those of the first 16 keys alone.
    `packed` takes k and v out of one tensor (B, L, 2, H, D).
    """
    import torch

    heads_kv = heads_kv or heads_q
    q = torch.randn(batch, len_q, heads_q, head_dim, generator=generator)
    k, v = torch.randn(2, batch, len_kv, heads_kv, head_dim, generator=generator)
    if len_kv:
        late = len_kv - 1 - torch.arange(len_q) * 5 % max(1, len_kv // 3)
        direction = q[:, :, :: heads_q // heads_kv]
        k[:, late] = 5 * direction / direction.norm(dim=-1, keepdim=True)  # scores of about 5
    if level:
        q[..., 0], k[..., 0] = 8, level * math.sqrt(head_dim) / 8
    if falling:
        k[:, 16:, :, 0] = 0
    q, k, v = (x.to(device, getattr(torch, dtype)) for x in (q, k, v))
    q = q.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3)  # stored as (H, B, L, D)
    if packed:
        both = in_nan(torch.stack([k, v], dim=2), (_MORE_SEQUENCES, _MORE_KEYS, 0, 0, 0))
        return q, both[:, :, 0], both[:, :, 1]
    k = in_nan(k, (_MORE_SEQUENCES, _MORE_KEYS, 1, 0))
    v = in_nan(v.transpose(1, 2), (_MORE_SEQUENCES, 1, _MORE_KEYS, 16))  # stored as (B, H, L, D)
    return q, k, v.transpose(1, 2)


def in_nan(x: torch.Tensor, behind: tuple[int, ...]) -> torch.Tensor:
    """A view that equals `x`, in a tensor with `behind` more elements along each axis, all NaN."""
    larger = x.new_full([n + more for n, more in zip(x.shape, behind, strict=True)], math.nan)
    view = larger[tuple(slice(n) for n in x.shape)]
    view.copy_(x)
    return view


def nan_behind(k: torch.Tensor, block_n: int) -> str:
    """What to say of a NaN on a GPU, where nothing but this NaN tells that a key too many was read."""
    if interpreting() or k.shape[1] % block_n == 0:
        return ""
    return " (the memory behind the last key holds NaN: it must not be read)"


def far_apart(q: torch.Tensor, k: torch.Tensor, level: float, order: torch.Tensor) -> str:
    """Change q and k: key j scores level * (1 + order[j]), and minus that in every other head.

    All of a row's weight is then on one key, however the scores are rounded, and no finite number does for -inf. The
    scale is 1/sqrt(D). Returns words for the case.
    """
    q.zero_()
    k.zero_()
    q[:, :, ::2, 0], q[:, :, 1::2, 0] = 8, -8
    k[..., 0] = level * math.sqrt(q.shape[3]) / 8 * (1 + order).to(k)[:, None]
    return f"scores from {level:g} on and, in every other head, from {-level:g} on"


@functools.cache
def bind_oracle() -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """The function that is right, the same one from the first call on."""
    from fdlib.attention.naive import naive_attention

    return naive_attention


def oracle(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Naive attention in float64 on the CPU: out in q's dtype, lse in float32."""
    out, lse = bind_oracle()(*(x.cpu().double() for x in (q, k, v)), causal=causal)
    return out.to(q.dtype), lse.float()


@contextlib.contextmanager
def unchanged(case: str, **tensors: torch.Tensor) -> Iterator[None]:
    """Raise `Mismatch` if the block changes one of these tensors."""
    import torch

    before = {name: tensor.clone() for name, tensor in tensors.items()}
    yield
    for name, tensor in tensors.items():
        if not torch.allclose(tensor, before[name], rtol=0, atol=0, equal_nan=True):
            raise Mismatch(f"{name} was changed in place, for {case}. It has to stay as it was.")
