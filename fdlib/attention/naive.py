"""Attention as the formula says it: the oracle that every faster stage is held to. Torch only, any device."""

from __future__ import annotations

import torch

from fdlib.attention.inputs import (
    check_flag,
    check_qkv,
    check_seqlens,
    full_precision,
    resolve_scale,
)

__all__ = ["naive_attention"]


def naive_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    cache_seqlens: torch.Tensor | int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """``softmax(q kᵀ · scale) v`` with the whole score matrix in memory.

    ``q (B, L_q, H_q, D)``, ``k, v (B, L_kv, H_kv, D)``, H_q a multiple of H_kv; ``cache_seqlens
    (B,)`` int: how many keys of each sequence count. ``causal`` aligns bottom-right: query i sees
    keys up to ``len - L_q + i``. Returns ``out`` like ``q`` and ``lse (B, H_q, L_q)``, natural log.
    Computes in float64 if ``q`` is float64, else in float32. Raises `ValueError` or `TypeError`
    naming the argument. Source: Vaswani et al. 2017, equation 1, https://arxiv.org/abs/1706.03762.

    >>> q, kv = torch.randn(2, 1, 4, 16), torch.randn(2, 10, 2, 16)
    >>> out, lse = naive_attention(q, kv, kv)
    >>> tuple(out.shape), tuple(lse.shape)
    ((2, 1, 4, 16), (2, 4, 1))
    """
    check_qkv(q, k, v, any_float=True)
    check_flag("causal", causal)
    scale = resolve_scale(softmax_scale, q.shape[-1])
    lens = check_seqlens(cache_seqlens, q, k.shape[1])
    visible = _visible(q, k, lens, causal)  # (B, 1, L_q, L_kv)

    dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    group = q.shape[2] // k.shape[2]
    # read q once, k and v once per query head of the group (a copy here; the kernels read them once
    # per group)
    qh = q.to(dtype).transpose(1, 2)  # (B, H_q, L_q, D)
    kh = k.to(dtype).transpose(1, 2).repeat_interleave(group, dim=1)  # (B, H_q, L_kv, D)
    vh = v.to(dtype).transpose(1, 2).repeat_interleave(group, dim=1)
    # 0 * NaN is NaN: keys that no query sees must not count
    vh = vh.masked_fill(~visible.any(dim=2)[..., None], 0)

    with full_precision(q):
        # write B*H_q*L_q*L_kv scores, read them again for the softmax, and again for the product with v
        scores = (qh @ kh.transpose(-1, -2) * scale).masked_fill(~visible, float("-inf"))
        lse = torch.logsumexp(scores, dim=-1)  # (B, H_q, L_q)
        empty = lse == float("-inf")  # a row without keys: its softmax is 0 / 0
        weights = torch.softmax(scores, dim=-1).masked_fill(empty[..., None], 0)
        out = (weights @ vh).transpose(1, 2)  # (B, L_q, H_q, D)
    return out.to(q.dtype).contiguous(), lse


def _visible(
    q: torch.Tensor, k: torch.Tensor, lens: torch.Tensor | None, causal: bool
) -> torch.Tensor:
    """True where query i of sequence b may see key j: (B, 1, L_q, L_kv)."""
    batch, len_q, len_kv = q.shape[0], q.shape[1], k.shape[1]
    if lens is None:
        lens = torch.full((batch,), len_kv, device=q.device)
    limit = lens[:, None].expand(batch, len_q)  # number of keys that the query sees
    if causal:
        limit = limit - len_q + 1 + torch.arange(len_q, device=q.device)
    return (torch.arange(len_kv, device=q.device) < limit[..., None])[:, None]
