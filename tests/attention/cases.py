"""Inputs, layouts, the float64 oracle and the error budget that the attention suites share, on any device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields

import torch

from fdlib import naive_attention
from fdlib.device import interpreting

__all__ = ["DEVICE", "LAYOUTS", "Case", "Errors", "Expected", "Inputs", "assert_close", "build", "launches", "measure", "oracle", "spread"]

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
        own = ((f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default)
        return ",".join(f"{name}={value}" for name, value in own).replace(" ", "")


@dataclass(frozen=True)
class Inputs:
    """The tensors of a `Case`, poisoned and laid out."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    cache_seqlens: torch.Tensor | None


@dataclass(frozen=True)
class Expected:
    """The oracle's float64 answer, and how far from it each element may be."""

    out: torch.Tensor
    lse: torch.Tensor
    out_size: torch.Tensor  # sum_j weight_j |v_j|
    out_budget: torch.Tensor
    lse_budget: torch.Tensor


def build(case: Case, device: str = DEVICE) -> Inputs:
    """Random inputs in which nothing is symmetric, and whose running maximum moves at several keys."""
    generator = torch.Generator(device).manual_seed(case.seed)
    dtype = getattr(torch, case.dtype)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, device=device)

    q = normal(case.batch, case.len_q, case.heads_q, case.head_dim).to(dtype)
    k, v = (normal(case.batch, case.len_kv, case.heads_kv, case.head_dim) for _ in "kv")
    for part, factor in ((0.1, 1.5), (0.35, 2.0), (0.6, 2.5), (0.9, 3.0)):  # outlier keys, the later the larger
        k[:, int(part * case.len_kv) : int(part * case.len_kv) + 1] *= factor
    v += torch.linspace(-1, 2, case.head_dim, device=device)  # no zero mean: weights that do not sum to 1 show
    v[:, : case.len_kv // 3] += 1.0  # and parts that differ: averaging them shows
    k, v = k.to(dtype), v.to(dtype)
    lens = None
    if case.lens is not None:
        lens = torch.tensor(case.lens, dtype=torch.int32, device=device)
        for b, length in enumerate(case.lens):
            k[b, max(length, 0) :: 2], k[b, max(length, 0) + 1 :: 2] = float("nan"), float("inf")
            v[b, max(length, 0) :: 2], v[b, max(length, 0) + 1 :: 2] = float("-inf"), float("nan")
    return Inputs(*_lay_out(case.layout, q, k, v), lens)


def _lay_out(layout: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
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
    view = x.new_full(sizes, float("nan"))[tuple(slice(b, b + n) for b, n in zip(before, x.shape, strict=True))]
    return view.copy_(x)


def spread(x: torch.Tensor, dim: int, stride: int = 2**30) -> torch.Tensor:
    """`x` with `stride` elements between neighbours along `dim`; of the memory in between no page is touched."""
    strides = list(x.contiguous().stride())
    strides[dim] = stride
    storage = x.new_empty((x.shape[dim] - 1) * stride + x.numel())
    return torch.as_strided(storage, x.shape, strides).copy_(x)


def oracle(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    lens: Sequence[int] | None = None,
    causal: bool,
    scale: float | None = None,
) -> Expected:
    """The answer for these rounded inputs, one sequence and one key/value head at a time, keys beyond `lens` cut off.

    The budget of an output element, relative to `sum_j weight_j |v_j|` (so that cancellation does not count):
    - eps of the dtype: half for rounding the weights before the product with V, half for rounding the output;
    - float32's eps times (8 + 2 S), S a bound on the scores: a score's rounding error grows with the score, and
      `exp` turns it into a relative error; 8 for the products and sums of a few hundred terms;
    - float32's eps times sqrt(L_kv): random rounding errors in the sums over keys;
    - in float16 alone, L_kv * 2^-25 * max |v|: weights below 2^-14 of the largest are subnormal.
    The LSE never passes through the dtype: it has the float32 terms only.
    """
    (batch, len_q, heads_q, head_dim), (len_kv, heads_kv) = q.shape, k.shape[1:3]
    group, eps32 = heads_q // heads_kv, torch.finfo(torch.float32).eps
    out, out_size, out_budget = (torch.zeros(q.shape, dtype=torch.float64, device=q.device) for _ in "osb")
    lse, lse_budget = (torch.zeros(batch, heads_q, len_q, dtype=torch.float64, device=q.device) for _ in "lb")
    for b in range(batch):
        length = len_kv if lens is None else lens[b]
        for h in range(heads_kv):
            heads = slice(h * group, (h + 1) * group)
            q1, k1, v1 = (x.double() for x in (q[b : b + 1, :, heads], k[b : b + 1, :length, h, None], v[b : b + 1, :length, h, None]))
            out[b, :, heads], lse[b, heads] = (x[0] for x in naive_attention(q1, k1, v1, causal=causal, softmax_scale=scale))
            out_size[b, :, heads] = naive_attention(q1, k1, v1.abs(), causal=causal, softmax_scale=scale)[0][0]
            factor = 1 / math.sqrt(head_dim) if scale is None else abs(scale)
            largest = factor * q1.norm(dim=-1).amax() * k1.norm(dim=-1).amax() if length and len_q else 0.0
            in_float32 = eps32 * (8 + 2 * largest + math.sqrt(length))
            out_budget[b, :, heads] = out_size[b, :, heads] * (torch.finfo(q.dtype).eps + in_float32)
            if q.dtype == torch.float16 and length:
                out_budget[b, :, heads] += length * 2.0**-25 * v1.abs().amax()
            lse_budget[b, heads] = in_float32 + eps32 * lse[b, heads].abs().nan_to_num(posinf=0)
    return Expected(out, lse, out_size, out_budget, lse_budget)


@dataclass(frozen=True)
class Errors:
    """Largest errors: absolute, relative to `sum_j weight_j |v_j|`, and as a share of the budget (at most 1)."""

    out_abs: float
    out_rel: float
    out_share: float
    lse_abs: float
    lse_share: float


def measure(out: torch.Tensor, lse: torch.Tensor | None, expected: Expected) -> Errors:
    """How far `out` and `lse` are from the oracle; NaN, or an empty row that is not exactly 0 and -inf, is inf."""
    error = (out.double() - expected.out).abs().nan_to_num(nan=math.inf)
    of_out = tuple(_largest(_ratio(error, size)) for size in (1.0, expected.out_size, expected.out_budget))
    if lse is None:
        return Errors(*of_out, 0.0, 0.0)
    both_empty = (expected.lse == float("-inf")) & (lse == float("-inf"))
    error = torch.where(both_empty, 0.0, (lse.double() - expected.lse).abs()).nan_to_num(nan=math.inf)
    return Errors(*of_out, _largest(error), _largest(_ratio(error, expected.lse_budget)))


def _ratio(error: torch.Tensor, size: torch.Tensor | float) -> torch.Tensor:
    return torch.where(error == 0, 0.0, error / size)  # no error is none, also where nothing is allowed


def _largest(x: torch.Tensor) -> float:
    return x.max().item() if x.numel() else 0.0


def assert_close(out: torch.Tensor, lse: torch.Tensor | None, expected: Expected, what: object = "") -> None:
    """Raise unless shapes fit and every element is within its budget; say where the worst one is."""
    assert out.shape == expected.out.shape, f"{what}: out has shape {tuple(out.shape)}"
    if lse is not None:
        assert lse.dtype == torch.float32 and lse.shape == expected.lse.shape, f"{what}: lse {lse.dtype} {lse.shape}"
    errors = measure(out, lse, expected)
    if errors.out_share > 1:
        share = ((out.double() - expected.out).abs() / expected.out_budget).nan_to_num(nan=math.inf)
        at = tuple(i.item() for i in torch.unravel_index(share.argmax(), share.shape))
        raise AssertionError(f"{what}: out{at} is {out[at]}, takes {expected.out[at]}; {errors}")
    assert errors.lse_share <= 1, f"{what}: {errors}"


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
