"""The kernel that notebook 05 teaches with is right itself."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton")
from fdlib.course.longest_key import longest_key
from fdlib.device import kernel_device


@pytest.mark.parametrize("len_kv", [0, 1, 9, 50])
@pytest.mark.parametrize("num_parts", [1, 4, 6])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_each_part_against_torch(len_kv, num_parts, dtype):
    wide = torch.randn(2, len_kv, 3, 32).to(dtype).to(kernel_device())
    keys = wide[..., :16]  # strides that are not those of a fresh tensor
    longest, total = longest_key(keys, num_parts)
    part_len = -(-len_kv // num_parts)
    for part in range(num_parts):
        mine = keys[:, part * part_len : (part + 1) * part_len].double()
        expected = torch.full((2, 3), float("-inf"), dtype=torch.float64, device=keys.device)
        if mine.shape[1]:
            expected = mine.square().sum(-1).amax(1)
        torch.testing.assert_close(longest[..., part].double(), expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(total[:, :, part].double(), mine.sum(1), rtol=1e-5, atol=1e-5)
