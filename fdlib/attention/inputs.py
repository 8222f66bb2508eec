"""What the attention functions accept. Every refusal names the argument, what it got and what it takes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch

from fdlib.device import interpreting, require_somewhere_to_run

__all__ = [
    "check_flag",
    "check_for_kernel",
    "check_memory",
    "check_num_splits",
    "check_qkv",
    "check_seqlens",
    "check_tensor",
    "full_precision",
    "resolve_scale",
]

MIN_HEAD_DIM, MAX_HEAD_DIM = 16, 256
MAX_LENGTH = 2**31 - 2**12  # positions are int32 in the kernels, offsets int64
MAX_SCALE = 1e38  # times log2 e it still is a float32
KERNEL_DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def check_qkv(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    any_float: bool = False,
    names: tuple[str, str, str] = ("q", "k", "v"),
) -> None:
    """Raise unless ``q (B, L_q, H_q, D)`` and ``k, v (B, L_kv, H_kv, D)`` fit together.

    ``any_float=True`` is for the torch stages: float64 too, any head_dim, any strides, gradients
    allowed.
    """
    for name, x in zip(names, (q, k, v), strict=True):
        check_tensor(name, x)
        if x.dim() != 4:
            layout = "(B, L_q, H_q, D)" if name == "q" else "(B, L_kv, H_kv, D)"
            raise ValueError(f"{name}: got shape {tuple(x.shape)}, takes 4 dimensions {layout}")
        if x.device != q.device:
            raise ValueError(f"{name}: got a tensor on {x.device}, takes {q.device} as q")
        if x.dtype != q.dtype:
            raise TypeError(f"{name}: got {x.dtype}, takes {q.dtype} as q")
        if not any_float:
            check_for_kernel(name, x)
    if any_float and not q.is_floating_point():
        raise TypeError(f"q: got {q.dtype}, takes a floating point dtype")
    _check_sizes(q, k, v, names)


def check_tensor(name: str, x: object) -> None:
    """Raise unless ``x`` is a tensor."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name}: got {type(x).__name__}, takes a torch.Tensor")
    if x.layout != torch.strided:
        raise TypeError(f"{name}: got a {x.layout} tensor, takes a dense one")


def _check_sizes(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, names: tuple[str, str, str]
) -> None:
    name_q, name_k, name_v = names
    if v.shape != k.shape:
        raise ValueError(
            f"{name_v}: got shape {tuple(v.shape)}, takes {tuple(k.shape)} as {name_k}"
        )
    if k.shape[0] != q.shape[0]:
        raise ValueError(f"{name_k}: got batch {k.shape[0]}, takes {q.shape[0]} as q")
    if k.shape[3] != q.shape[3]:
        raise ValueError(f"{name_k}: got head_dim {k.shape[3]}, takes {q.shape[3]} as q")
    if max(k.shape[1], q.shape[1] * q.shape[2]) > MAX_LENGTH:
        raise ValueError(f"{name_k}: got {k.shape[1]} keys, takes at most {MAX_LENGTH}")
    heads_q, heads_kv = q.shape[2], k.shape[2]
    if heads_kv == 0 or heads_q == 0 or heads_q % heads_kv:
        raise ValueError(
            f"{name_q}: got {heads_q} heads with {heads_kv} key/value heads, takes a positive multiple of them"
        )


def check_for_kernel(name: str, x: torch.Tensor) -> None:
    """Raise unless a Triton kernel can attend with ``x (..., D)``: memory, dtype, head_dim, strides."""
    check_memory(name, x)
    if x.dtype not in KERNEL_DTYPES:
        raise TypeError(f"{name}: got {x.dtype}, takes float16, bfloat16 or float32")
    if not MIN_HEAD_DIM <= x.shape[-1] <= MAX_HEAD_DIM:
        got = x.shape[-1]
        raise ValueError(f"{name}: got head_dim {got}, takes {MIN_HEAD_DIM} to {MAX_HEAD_DIM}")
    if x.stride(-1) != 1:
        takes = "a contiguous last dimension (stride 1); call .contiguous()"
        raise ValueError(f"{name}: got strides {x.stride()}, takes {takes}")
    before_ampere = x.is_cuda and torch.cuda.get_device_capability(x.device) < (8, 0)
    if before_ampere and x.dtype == torch.bfloat16:
        takes = "float16 or float32 on this GPU (bfloat16 needs compute capability 8.0)"
        raise TypeError(f"{name}: got bfloat16, takes {takes}")


def check_memory(name: str, x: torch.Tensor) -> None:
    """Raise unless a Triton kernel can read the memory of ``x`` as it lies, and no gradient is lost."""
    allowed = ("cpu", "cuda") if interpreting() else ("cuda",)
    if x.device.type not in allowed:
        require_somewhere_to_run()
        raise ValueError(f"{name}: got a tensor on {x.device}, takes one on {' or '.join(allowed)}")
    if x.is_neg():
        raise ValueError(f"{name}: got a lazily negated tensor; takes {name}.resolve_neg()")
    if x.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(
            f"{name}: got requires_grad=True, takes tensors without gradients (there is no backward "
            f"pass); use {name}.detach() or torch.no_grad()"
        )


def resolve_scale(softmax_scale: float | None, head_dim: int) -> float:
    """The factor on the scores: ``1/sqrt(head_dim)`` unless given."""
    if softmax_scale is None:
        return 1 / math.sqrt(head_dim) if head_dim else 1.0
    if isinstance(softmax_scale, bool) or not isinstance(softmax_scale, numbers.Real):
        raise TypeError(f"softmax_scale: got {type(softmax_scale).__name__}, takes a float or None")
    if not -MAX_SCALE <= softmax_scale <= MAX_SCALE:  # NaN fails as well
        raise ValueError(f"softmax_scale: got {softmax_scale}, takes -1e38 to 1e38")
    return float(softmax_scale)


def check_flag(name: str, value: bool) -> None:
    """Raise unless ``value`` is a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: got {type(value).__name__}, takes a bool")


def check_num_splits(num_splits: int) -> None:
    """Raise unless ``num_splits`` is an int of 0 (the heuristic chooses) or more."""
    if isinstance(num_splits, bool) or not isinstance(num_splits, int):
        raise TypeError(f"num_splits: got {type(num_splits).__name__}, takes an int")
    if num_splits < 0:
        raise ValueError(f"num_splits: got {num_splits}, takes 0 (the heuristic chooses) or more")


def check_seqlens(
    cache_seqlens: torch.Tensor | int | None,
    q: torch.Tensor,
    len_cache: int,
    *,
    validate: bool = True,
) -> torch.Tensor | None:
    """``cache_seqlens`` as an int tensor ``(B,)`` on q's device, or None.

    With ``validate`` the values are checked too: 0 to ``len_cache``. On a GPU that waits for the
    device.
    """
    if cache_seqlens is None:
        return None
    if isinstance(cache_seqlens, numbers.Integral) and not isinstance(cache_seqlens, bool):
        cache_seqlens = int(cache_seqlens)
        _check_lengths(cache_seqlens, cache_seqlens, len_cache)
        return torch.full((q.shape[0],), cache_seqlens, dtype=torch.int32, device=q.device)
    if not isinstance(cache_seqlens, torch.Tensor) or cache_seqlens.layout != torch.strided:
        raise TypeError(
            f"cache_seqlens: got {type(cache_seqlens).__name__}, takes an int or an int tensor (B,)"
        )
    if cache_seqlens.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"cache_seqlens: got {cache_seqlens.dtype}, takes int32 or int64")
    if tuple(cache_seqlens.shape) != (q.shape[0],):
        raise ValueError(
            f"cache_seqlens: got shape {tuple(cache_seqlens.shape)}, takes ({q.shape[0]},)"
        )
    if cache_seqlens.device != q.device:
        raise ValueError(
            f"cache_seqlens: got a tensor on {cache_seqlens.device}, takes {q.device} as q"
        )
    if validate and cache_seqlens.numel():
        _check_lengths(int(cache_seqlens.min()), int(cache_seqlens.max()), len_cache)
    return cache_seqlens.contiguous()


def _check_lengths(shortest: int, longest: int, len_cache: int) -> None:
    if shortest < 0 or longest > len_cache:
        got = shortest if shortest < 0 else longest
        raise ValueError(
            f"cache_seqlens: got length {got}, takes 0 to {len_cache} (the cache's length)"
        )


@contextmanager
def full_precision(x: torch.Tensor) -> Iterator[None]:
    """A context in which float32 means float32 on ``x``'s device: no autocast, no TF32."""
    device = x.device.type
    lowered = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    before = torch.get_float32_matmul_precision()
    try:
        if before != "highest":
            torch.set_float32_matmul_precision("highest")
        with torch.autocast(device, enabled=False) if lowered else nullcontext():
            yield
    finally:
        if before != "highest":
            torch.set_float32_matmul_precision(before)
