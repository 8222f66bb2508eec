"""The inputs that the attention suites share: cases, layouts, poison, on any device; and which kernels ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields

import torch

from fdlib.device import interpreting, require_triton

__all__ = ["DEVICE", "LAYOUTS", "Case", "Inputs", "build", "launches", "spread"]

with suppress(RuntimeError):  # no triton on this platform
    require_triton()  # the mode, and so the device, is settled here
DEVICE = "cuda" if torch.cuda.is_available() and not interpreting() else "cpu"
LAYOUTS = (
    "contiguous",
    "heads_first",  # a (B, H, L, D) tensor, seen transposed
    "packed_kv",  # K and V unbound from one [B, L, 2, H, D] buffer
    "mixed_strides",  # K contiguous, V heads first
    "sliced",  # a window of a larger cache, NaN all around it
    "padded_head",  # rows of D + 8 elements, NaN in the 8
    "unaligned",  # rows of D + 3 elements, starting at the second: no 16-byte alignment
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One attention call; `lens` is what `cache_seqlens` holds, and keys beyond it are NaN and inf."""

    batch: int = 1
    heads_q: int = 1
    heads_kv: int = 1
    len_q: int = 1
    len_kv: int
    head_dim: int = 64
    dtype: str = "float16"
    layout: str = "contiguous"
    causal: bool = True
    num_splits: int = 0
    lens: tuple[int, ...] | None = None
    seed: int = 0

    def __str__(self) -> str:
        """Only what differs from the defaults: short enough for a test's name."""
        own = (
            (f.name, getattr(self, f.name))
            for f in fields(self)
            if getattr(self, f.name) != f.default
        )
        return ",".join(f"{name}={value}" for name, value in own).replace(" ", "")


@dataclass(frozen=True)
class Inputs:
    """The tensors of a `Case`, poisoned and laid out."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    cache_seqlens: torch.Tensor | None


def build(case: Case, device: str = DEVICE) -> Inputs:
    """Random inputs in which nothing is symmetric, and whose running maximum moves at several keys."""
    generator = torch.Generator(device).manual_seed(case.seed)
    dtype = getattr(torch, case.dtype)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, device=device)

    q = normal(case.batch, case.len_q, case.heads_q, case.head_dim).to(dtype)
    k, v = (normal(case.batch, case.len_kv, case.heads_kv, case.head_dim) for _ in "kv")
    # Outlier keys, the later the larger.
    for part, factor in ((0.1, 1.5), (0.35, 2.0), (0.6, 2.5), (0.9, 3.0)):
        k[:, int(part * case.len_kv) : int(part * case.len_kv) + 1] *= factor
    # No zero mean: weights that do not sum to 1 show.
    v += torch.linspace(-1, 2, case.head_dim, device=device)
    v[:, : case.len_kv // 3] += 1.0  # and parts that differ: averaging them shows
    k, v = k.to(dtype), v.to(dtype)
    lens = None
    if case.lens is not None:
        lens = torch.tensor(case.lens, dtype=torch.int32, device=device)
        for b, length in enumerate(case.lens):
            k[b, max(length, 0) :: 2], k[b, max(length, 0) + 1 :: 2] = float("nan"), float("inf")
            v[b, max(length, 0) :: 2], v[b, max(length, 0) + 1 :: 2] = float("-inf"), float("nan")
    return Inputs(*_lay_out(case.layout, q, k, v), lens)


def _lay_out(
    layout: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    if layout == "packed_kv":
        return (_heads_first(q), *torch.stack([k, v], dim=2).unbind(2))
    if layout == "mixed_strides":
        return q, k, _heads_first(v)
    lay = {
        "contiguous": torch.Tensor.contiguous,
        "heads_first": _heads_first,
        "sliced": lambda x: _window(x, (1, 2, 1, 0), (1, 3, 2, 0)),
        "padded_head": lambda x: _window(x, (0, 0, 0, 0), (0, 0, 0, 8)),
        "unaligned": lambda x: _window(x, (0, 0, 0, 1), (0, 0, 0, 2)),
    }[layout]
    return lay(q), lay(k), lay(v)


def _heads_first(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def _window(x: torch.Tensor, before: Sequence[int], after: Sequence[int]) -> torch.Tensor:
    """`x` inside a larger tensor of NaN."""
    sizes = [b + n + a for b, n, a in zip(before, x.shape, after, strict=True)]
    view = x.new_full(sizes, float("nan"))[
        tuple(slice(b, b + n) for b, n in zip(before, x.shape, strict=True))
    ]
    return view.copy_(x)


def spread(x: torch.Tensor, dim: int, stride: int = 2**30) -> torch.Tensor:
    """`x` with `stride` elements between neighbours along `dim`; of the memory in between no page is touched."""
    strides = list(x.contiguous().stride())
    strides[dim] = stride
    storage = x.new_empty((x.shape[dim] - 1) * stride + x.numel())
    return torch.as_strided(storage, x.shape, strides).copy_(x)


@contextmanager
def launches() -> Iterator[list[tuple[str, tuple[int, ...]]]]:
    """Record (kernel, grid) of every launch of fdlib's attention kernels: proof of which path ran."""
    from fdlib.attention import combine, flash_attention, flash_decoding

    seen: list[tuple[str, tuple[int, ...]]] = []

    class Spy:
        def __init__(self, name: str, kernel: object) -> None:
            self.name, self.kernel = name, kernel

        def __getitem__(self, grid: tuple[int, ...]) -> object:
            seen.append((self.name, grid))
            return self.kernel[grid]

    homes = {
        "_flash_attention_kernel": flash_attention,
        "_split_kernel": flash_decoding,
        "_combine_kernel": combine,
    }
    kernels = {name: getattr(home, name) for name, home in homes.items()}
    try:
        for name, home in homes.items():
            setattr(home, name, Spy(name.strip("_").removesuffix("_kernel"), kernels[name]))
        yield seen
    finally:
        for name, home in homes.items():
            setattr(home, name, kernels[name])
