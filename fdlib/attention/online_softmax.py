"""Softmax in one pass: the running ``(m, l, acc)``, and the merge of finished parts. Torch only, any device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from fdlib.attention.inputs import check_flag, check_qkv, full_precision, resolve_scale

__all__ = ["SoftmaxState", "finalize", "merge_states", "online_softmax_attention", "update"]

NEG_INF = float("-inf")


@dataclass(frozen=True)
class SoftmaxState:
    """What is known after some of the keys: ``m (..., M)``, ``l (..., M)``, ``acc (..., M, D)``.

    ``m`` is the largest score so far, ``l`` the sum of ``exp(score - m)``, ``acc`` the sum of
    ``exp(score - m) · v``.
    """

    m: torch.Tensor
    l: torch.Tensor  # noqa: E741 (the papers' name)
    acc: torch.Tensor

    @classmethod
    def empty(cls, rows: tuple[int, ...], head_dim: int, like: torch.Tensor) -> SoftmaxState:
        """The state before the first key: the identity of the merge."""
        m = torch.full(rows, NEG_INF, dtype=like.dtype, device=like.device)
        return cls(m, torch.zeros_like(m), m.new_zeros(*rows, head_dim))


def update(state: SoftmaxState, scores: torch.Tensor, v: torch.Tensor) -> SoftmaxState:
    """Fold one block of keys into the state.

    ``scores (..., M, N)`` already scaled and masked with -inf, ``v (..., N, D)``. Source: Milakov
    and Gimelshein 2018, algorithm 3, https://arxiv.org/abs/1805.02867.
    """
    m_new = torch.maximum(state.m, scores.amax(dim=-1))
    # -inf - -inf is NaN: a row that has seen no key yet
    m_safe = m_new.masked_fill(m_new == NEG_INF, 0)
    alpha = torch.exp(state.m - m_safe)  # the correction factor, at most 1
    p = torch.exp(scores - m_safe[..., None])  # (..., M, N)
    l_new = state.l * alpha + p.sum(dim=-1)
    acc_new = state.acc * alpha[..., None] + p @ v
    return SoftmaxState(m_new, l_new, acc_new)


def finalize(state: SoftmaxState) -> tuple[torch.Tensor, torch.Tensor]:
    """``(out, lse)`` of the keys seen so far: one division at the very end; 0 and -inf if there were none."""
    empty = state.l == 0
    l_safe = state.l.masked_fill(empty, 1)
    lse = (state.m + torch.log(l_safe)).masked_fill(empty, NEG_INF)
    return state.acc / l_safe[..., None], lse


def online_softmax_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    block_n: int = 64,
    causal: bool = False,
    softmax_scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention that looks at ``block_n`` keys at a time and never holds more scores than that.

    Shapes, dtypes, errors and the result are those of `fdlib.naive_attention`; ``block_n`` is an int
    of 1 or more. Source: Milakov and Gimelshein 2018, https://arxiv.org/abs/1805.02867.

    >>> q, kv = torch.randn(1, 1, 4, 16), torch.randn(1, 100, 2, 16)
    >>> out, lse = online_softmax_attention(q, kv, kv, block_n=32)
    >>> tuple(out.shape)
    (1, 1, 4, 16)
    """
    check_qkv(q, k, v, any_float=True)
    check_flag("causal", causal)
    if isinstance(block_n, bool) or not isinstance(block_n, int) or block_n < 1:
        raise ValueError(f"block_n: got {block_n!r}, takes an int >= 1")
    scale = resolve_scale(softmax_scale, q.shape[-1])
    dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    (batch, len_q, heads_q, head_dim), (len_kv, heads_kv) = q.shape, k.shape[1:3]
    # a group's query heads share the key head: (B, H_kv, G, L_q, D) against (B, H_kv, 1, N, D)
    qg = q.to(dtype).transpose(1, 2).reshape(batch, heads_kv, heads_q // heads_kv, len_q, head_dim)
    kg, vg = (x.transpose(1, 2)[:, :, None] for x in (k, v))
    limit = len_kv - len_q + 1 + torch.arange(len_q, device=q.device) if causal else None

    with full_precision(q):
        state = SoftmaxState.empty(tuple(qg.shape[:-1]), head_dim, qg)
        for start in range(0, len_kv, block_n):
            keys = torch.arange(start, min(start + block_n, len_kv), device=q.device)
            scores = qg @ kg[..., keys, :].to(dtype).transpose(-1, -2) * scale
            if limit is not None:
                scores = scores.masked_fill(keys >= limit[:, None], NEG_INF)
            state = update(state, scores, vg[..., keys, :].to(dtype))
        out, lse = finalize(state)
    out = out.reshape(batch, heads_q, len_q, head_dim).transpose(1, 2)
    return out.to(q.dtype).contiguous(), lse.reshape(batch, heads_q, len_q)


def merge_states(
    outs: Sequence[torch.Tensor] | torch.Tensor, lses: Sequence[torch.Tensor] | torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention over all keys from attention over parts: exact, any number of parts, any order.

    ``outs``: n tensors ``(B, L_q, H_q, D)``; ``lses``: n tensors ``(B, H_q, L_q)``, natural log. A
    part with ``lse = -inf`` saw no key and changes nothing, whatever its ``out`` holds. Returns
    ``out`` in the dtype of ``outs`` and ``lse`` in that of ``lses``. Raises `ValueError` or
    `TypeError` for no parts or parts that do not fit. Source: Dao et al. 2023, "Flash-Decoding for long-context
    inference", https://pytorch.org/blog/flash-decoding/.

    >>> outs = [torch.ones(1, 1, 1, 2), torch.zeros(1, 1, 1, 2)]
    >>> out, lse = merge_states(outs, [torch.zeros(1, 1, 1)] * 2)
    >>> out.tolist(), round(lse.item(), 4)
    ([[[[0.5, 0.5]]]], 0.6931)
    """
    outs, lses = _stack("outs", outs, 5), _stack("lses", lses, 4)
    n, batch, len_q, heads_q, _ = outs.shape
    fitting = (n, batch, heads_q, len_q)
    if tuple(lses.shape) != fitting:
        got = tuple(lses.shape)
        raise ValueError(f"lses: got shape {got}, takes {fitting}, (n, B, H_q, L_q) to fit outs")
    if lses.device != outs.device:
        raise ValueError(f"lses: got tensors on {lses.device}, takes {outs.device} as outs")
    dtype = torch.promote_types(torch.promote_types(outs.dtype, lses.dtype), torch.float32)
    lse_parts = lses.to(dtype).transpose(2, 3)[..., None]  # (n, B, L_q, H_q, 1)
    m = lse_parts.amax(dim=0)
    m_safe = m.masked_fill(m == NEG_INF, 0)
    weights = torch.exp(lse_parts - m_safe)  # each part's share of the softmax's denominator
    total = weights.sum(dim=0)
    # 0 * NaN is NaN: what an empty part holds must not count
    parts = outs.to(dtype).masked_fill(lse_parts == NEG_INF, 0)
    out = (weights * parts).sum(dim=0) / total.masked_fill(total == 0, 1)
    lse = m_safe + torch.log(total)  # log(0) is the -inf of a row without keys
    return out.to(outs.dtype), lse[..., 0].transpose(1, 2).to(lses.dtype).contiguous()


def _stack(name: str, parts: Sequence[torch.Tensor] | torch.Tensor, dims: int) -> torch.Tensor:
    if not isinstance(parts, torch.Tensor):
        if not isinstance(parts, Iterable):
            raise TypeError(f"{name}: got {type(parts).__name__}, takes tensors")
        parts = list(parts)
        if not parts:
            raise ValueError(f"{name}: got no parts, takes at least one")
        for part in parts:
            if not isinstance(part, torch.Tensor):
                raise TypeError(f"{name}: got a part of type {type(part).__name__}, takes tensors")
            if (part.shape, part.dtype, part.device) != (
                parts[0].shape,
                parts[0].dtype,
                parts[0].device,
            ):
                raise ValueError(
                    f"{name}: got {_form(part)} after {_form(parts[0])}, takes parts that are alike"
                )
        parts = torch.stack(parts)
    if not parts.is_floating_point():
        raise TypeError(f"{name}: got {parts.dtype}, takes a floating point dtype")
    if parts.dim() != dims or parts.shape[0] == 0:
        got = tuple(parts.shape)
        raise ValueError(
            f"{name}: got shape {got}, takes {dims} dimensions, the parts first, not 0"
        )
    return parts


def _form(part: torch.Tensor) -> str:
    return f"{tuple(part.shape)} {part.dtype} on {part.device}"
