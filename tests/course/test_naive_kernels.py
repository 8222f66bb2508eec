"""Three kernels compute attention, and their traffic is the textbook's."""

from __future__ import annotations

import pytest

from fdlib import device

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
import fdlib  # noqa: E402
from fdlib.course import naive_kernels  # noqa: E402

DEVICE = device.kernel_device()


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-6), ("float16", 4e-3)])
@pytest.mark.parametrize(("block", "heads_kv"), [(16, 4), (64, 2), (32, 1)])
def test_against_the_oracle(dtype, tolerance, block, heads_kv):
    torch.manual_seed(0)
    q = torch.randn(2, 37, 4, 32, dtype=getattr(torch, dtype), device=DEVICE)
    k, v = (torch.randn(2, 75, heads_kv, 32, dtype=q.dtype, device=DEVICE) for _ in range(2))
    out = naive_kernels.naive_attention_kernels(q, k, v, block=block)
    want, _ = fdlib.naive_attention(q.double(), k.double(), v.double())
    assert out.dtype == q.dtype and (out.double() - want).abs().max() < tolerance


def test_the_scores_go_out_and_in_three_more_times():
    q = torch.zeros(1, 64, 4, 16, device=DEVICE)
    k = torch.zeros(1, 128, 2, 16, device=DEVICE)
    found = fdlib.trace(naive_kernels.naive_attention_kernels, q, k, k.clone())
    scores = 4 * 64 * 128 * 4
    first, second, third = found.launches
    assert (first.hbm_write, second.hbm_read, second.hbm_write) == (scores,) * 3
    assert third.hbm_read == scores + 128 * 2 * 16 * 4


@pytest.mark.parametrize(
    ("name", "make", "words"),
    [
        ("q", lambda q, k: (q.bfloat16(), k), "q: got torch.bfloat16, takes float16 or float32"),
        ("k", lambda q, k: (q, k.half()), "k: got torch.float16, takes torch.float32"),
        (
            "q",
            lambda q, k: (q[:, ::2], k),
            r"q: got shape .*, strides .*, takes a contiguous tensor",
        ),
        ("q", lambda q, k: (q[..., :3].contiguous(), k), "q: got D = 3, takes 16, 32"),
        ("k", lambda q, k: (q, k[..., :16].contiguous()), "k: got shape .*, takes B and D as in"),
    ],
)
def test_what_it_refuses(name, make, words):
    q, k = make(torch.zeros(1, 8, 4, 32), torch.zeros(1, 8, 2, 32))
    with pytest.raises((TypeError, ValueError), match=words):
        naive_kernels.scores_to_memory(q, k)
