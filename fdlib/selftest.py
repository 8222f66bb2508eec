"""Known computations with known answers, run by ``fdlib doctor`` in a process of their own.

A broken pair of versions can return wrong numbers, hang or kill the process, so nothing here runs in the doctor's
own process. Each finding is one line of JSON on stdout, printed as soon as it is known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

from fdlib.device import choose_mode, kernel_device

__all__ = ["main"]

TOLERANCE = 1e-5  # float32 against a float64 oracle; values are of order 1


def main() -> None:
    """Print one JSON line for torch, then one for each known computation that this machine can run."""
    _say("torch", _torch_facts)
    if choose_mode() == "torch only":
        _say("online_softmax_attention", _online_softmax_error)
        return
    _say("masked_sum", _masked_sum_error)
    _say("flash_decode", _flash_decode_error)


def _say(name: str, finding: Callable[[], dict[str, object]]) -> None:
    try:
        found = finding()
    except Exception as error:  # whatever is broken, the doctor has to report it
        found = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"name": name, **found}), flush=True)


def _torch_facts() -> dict[str, object]:
    import torch

    facts: dict[str, object] = {"cuda": torch.version.cuda, "gpu": None, "capability": None}
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name(0)
        facts["capability"] = list(torch.cuda.get_device_capability(0))
    return facts


def _masked_sum_error() -> dict[str, object]:
    from fdlib.masked_sum import masked_sum

    return _worst_masked_sum(masked_sum)


def _worst_masked_sum(masked_sum: Callable) -> dict[str, object]:
    import torch

    x = torch.linspace(-1.0, 3.0, 100, device=kernel_device())
    worst = 0.0
    for length in (0, 31, 32, 77):
        got = masked_sum(x, length).item()
        worst = _larger(worst, abs(got - x[:length].double().sum().item()) / max(1, length))
    return _verdict(worst)


def _flash_decode_error() -> dict[str, object]:
    from fdlib.attention.flash_decoding import flash_decode

    q, k, v, lengths = _small_ragged_case()
    got = flash_decode(q, k, v, cache_seqlens=lengths, num_splits=3, return_lse=True)
    return _against_oracle(got, (q, k, v), lengths, causal=True)


def _online_softmax_error() -> dict[str, object]:
    from fdlib.attention.online_softmax import online_softmax_attention

    q, k, v, _ = _small_ragged_case()
    got = online_softmax_attention(q, k, v, block_n=16)
    return _against_oracle(got, (q, k, v), None, causal=False)


def _small_ragged_case() -> tuple:
    """Two sequences of 77 and 0 keys, four query heads over two key heads."""
    import torch

    generator = torch.Generator().manual_seed(2)
    q = torch.randn(2, 1, 4, 32, generator=generator)
    k, v = (torch.randn(2, 90, 2, 32, generator=generator) for _ in range(2))
    lengths = torch.tensor([77, 0], dtype=torch.int32)
    return tuple(x.to(kernel_device()) for x in (q, k, v, lengths))


def _against_oracle(got: tuple, qkv: tuple, lengths: object, *, causal: bool) -> dict[str, object]:
    from fdlib.attention.naive import naive_attention

    want = naive_attention(*(x.double() for x in qkv), causal=causal, cache_seqlens=lengths)
    worst = 0.0
    for mine, theirs in zip(got, want, strict=True):
        empty = theirs.isinf()  # the empty sequence has lse -inf on both sides
        if not (mine.isinf() == empty).all():
            return _verdict(float("inf"))
        gap = (mine.double() - theirs.double())[~empty].abs().max().item()
        worst = _larger(worst, gap)
    return _verdict(worst)


def _larger(worst: float, error: float) -> float:
    """The larger of two errors; a NaN counts as the largest."""
    return error if error != error or error > worst else worst


def _verdict(max_error: float) -> dict[str, object]:
    stated = max_error if math.isfinite(max_error) else None  # JSON has neither NaN nor infinity
    return {"max_error": stated, "ok": max_error <= TOLERANCE}


if __name__ == "__main__":
    main()
