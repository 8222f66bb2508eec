"""The kernels that notebook 03 teaches with: they do what the notebook says, at sizes that need their masks."""

from __future__ import annotations

import pytest
import torch

from fdlib.course import first_kernels as first
from fdlib.device import kernel_device

DEVICE = kernel_device()


def test_program_ids():
    out = torch.full((3, 2), -1, device=DEVICE)
    first.program_ids_kernel[(3, 2)](out, 2)
    assert out.tolist() == [[0, 1], [10, 11], [20, 21]]


def test_scale_leaves_what_lies_behind_alone():
    x = torch.arange(12, dtype=torch.float32, device=DEVICE)
    out = torch.full_like(x, -1)
    first.scale_kernel[(3,)](x, out, 10, 2.0, BLOCK=4)
    assert out.tolist() == [*(2.0 * i for i in range(10)), -1, -1]


@pytest.mark.parametrize("transposed", [False, True])
def test_row_sums_follow_the_strides(transposed):
    x = torch.arange(15, dtype=torch.float32, device=DEVICE).reshape(3, 5)
    x = x.t() if transposed else x
    out = torch.empty(x.shape[0], device=DEVICE)
    first.row_sums_kernel[(x.shape[0],)](x, out, x.shape[1], *x.stride(), BLOCK=8)
    assert torch.equal(out, x.sum(1))


def test_row_lse():
    torch.manual_seed(0)
    x = (torch.randn(3, 10, device=DEVICE) * 20).half()
    out = torch.empty(3, device=DEVICE)
    first.row_lse_kernel[(3,)](x, out, 10, x.stride(0), BLOCK=16)
    torch.testing.assert_close(out, torch.logsumexp(x.float(), 1))


@pytest.mark.parametrize("columns", [1, 16, 50])
def test_row_max(columns):
    torch.manual_seed(0)
    x = torch.randn(4, columns, device=DEVICE) - 10  # below 0: a masked 0 would win
    out = torch.empty(4, device=DEVICE)
    first.row_max_kernel[(1,)](x, out, columns, x.stride(0), ROWS=4, BLOCK=16)
    assert torch.equal(out, x.max(1).values)


@pytest.mark.parametrize("causal", [False, True])
def test_causal_tile(causal):
    left, top = torch.randn(4, device=DEVICE), torch.randn(4, device=DEVICE)
    out = torch.empty(4, 4, device=DEVICE)
    first.causal_tile_kernel[(1,)](left, top, out, SIZE=4, CAUSAL=causal)
    expected = left[:, None] + top
    hidden = torch.ones(4, 4, dtype=torch.bool, device=DEVICE).triu(1)
    assert torch.equal(out, expected.masked_fill(hidden & causal, float("-inf")))


def test_tile_dot():
    torch.manual_seed(0)
    a, b = torch.randn(16, 32, device=DEVICE), torch.randn(64, 32, device=DEVICE)
    out = torch.empty(16, 64, device=DEVICE)
    first.tile_dot_kernel[(1,)](a, b, out, M=16, N=64, K=32, PRECISION="ieee")
    torch.testing.assert_close(out.double(), a.double() @ b.double().T, rtol=1e-5, atol=1e-5)
