"""The bytes that `fdlib.trace` counts, against bytes counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import fdlib
from fdlib import device

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
from fdlib.xray.tracing import data as trace_data  # noqa: E402

watched_kernels = pytest.importorskip("watched_kernels")
kernels = pytest.importorskip("traced_kernels")
pytestmark = pytest.mark.skipif(
    not device.interpreting(), reason="a GPU's process traces in a child: test_trace_child.py"
)


def only(found):
    (launch,) = found.launches
    return launch


def test_each_program_and_argument():
    launch = only(fdlib.trace(kernels.sum_blocks, torch.ones(56)))
    assert (launch.kernel, launch.grid, launch.programs) == ("sum_kernel", (2, 1, 1), 2)
    x, out = launch.arguments["X"], launch.arguments["Out"]
    assert (x.dtype, x.shape, x.operations) == ("float32", (56,), 4)
    assert x.loaded.tolist() == [128, 96]  # 32 elements; 16 + 8 that the mask lets through
    assert x.loaded_once.tolist() == [128, 96] and x.unique_loaded == 224
    assert out.stored.tolist() == [4, 4] and out.unique_written == 8
    assert (x.hbm_read, x.hbm_write, out.hbm_read, out.hbm_write) == (224, 0, 0, 32)
    assert launch.program_bytes.tolist() == [132, 100] and launch.bytes == 232
    assert x.first_step.tolist() == [0, 0] and out.first_step.tolist() == [2, 2]
    assert launch.order == (("load", "X"), ("load", "X"), ("store", "Out"))
    assert launch.program_bytes.dtype == np.int64


def test_a_block_loaded_twice_and_a_block_left_out_show():
    x = torch.ones(64)
    once, twice, less = (
        only(fdlib.trace(kernels.sum_blocks, x, **how)).arguments["X"]
        for how in ({}, {"repeat": 2}, {"skip": True})
    )
    assert (once.loaded_bytes, once.unique_loaded, once.repeated_loaded) == (256, 256, 0)
    assert (twice.loaded_bytes, twice.unique_loaded, twice.repeated_loaded) == (384, 256, 128)
    assert twice.loaded.tolist() == [192, 192] and twice.loaded_once.tolist() == [128, 128]
    assert (less.loaded_bytes, less.unique_loaded, less.repeated_loaded) == (128, 128, 0)
    assert [each.hbm_read for each in (once, twice, less)] == [256, 256, 128]


def test_grouped_queries_ask_for_the_same_keys_and_split_does_not():
    q, k, v = torch.randn(1, 4, 8, 32), torch.randn(1, 96, 2, 32), torch.randn(1, 96, 2, 32)
    tiled = only(fdlib.trace(fdlib.flash_attention, q, k, v)).arguments
    assert tiled["K"].unique_loaded == tiled["K"].hbm_read == 96 * 2 * 32 * 4
    assert tiled["K"].loaded_bytes == 4 * tiled["K"].unique_loaded  # 4 heads of a group
    assert tiled["Out"].stored_bytes == tiled["Q"].loaded_bytes == 4 * 8 * 32 * 4
    assert tiled["Lse"].stored_bytes == 4 * 8 * 4
    split = fdlib.trace(fdlib.flash_decode, q[:, :1], k, v, num_splits=1)
    assert only(split).arguments["V"].loaded_bytes == 96 * 2 * 32 * 4


def test_two_launches_share_what_the_first_wrote():
    q, k = torch.randn(1, 1, 4, 32), torch.randn(1, 256, 2, 32)
    found = fdlib.trace(fdlib.flash_decode, q, k, k.clone(), num_splits=4)
    split, combine = found.launches
    parts = 4 * 4 * (32 + 1) * 4
    assert (split.kernel, combine.kernel) == ("_split_kernel", "_combine_kernel")
    assert split.hbm_write == combine.hbm_read == parts
    assert found.hbm_read == split.hbm_read  # the parts are in L2
    assert found.hbm_write == split.hbm_write + combine.hbm_write
    assert found.bytes == split.bytes + combine.bytes


def test_in_place_is_read_once_and_written_once():
    x = torch.zeros(64)
    launch = only(fdlib.trace(kernels.in_place_kernel[(4,)], x, BLOCK=16))
    (traffic,) = launch.arguments.values()
    assert (traffic.loaded_bytes, traffic.stored_bytes) == (256, 256)
    assert (launch.hbm_read, launch.hbm_write, launch.hbm_bytes) == (256, 256, 512)


def test_what_the_launch_has_stored_need_not_be_read():
    x = torch.zeros(16)

    def twice():
        kernels.in_place_kernel[(1,)](x, BLOCK=16)
        kernels.in_place_kernel[(1,)](x, BLOCK=16)

    found = fdlib.trace(twice)
    assert [launch.hbm_bytes for launch in found.launches] == [128, 128]
    assert (found.hbm_read, found.hbm_write) == (64, 64)


@pytest.mark.parametrize("across", [False, True])
def test_strided_rows_cost_their_sectors(across):
    x = torch.zeros(8, 100, dtype=torch.float16)
    launch = only(fdlib.trace(kernels.copy_tile, x, 8, 16, across))
    traffic = launch.arguments["X"]
    assert traffic.unique_loaded == 8 * 16 * 2
    used = {(200 * row + byte) // 32 for row in range(8) for byte in range(32)}
    assert traffic.hbm_read == 32 * len(used) == 14 * 32
    assert launch.arguments["Out"].hbm_write == 8 * 16 * 2


def test_views_and_names_of_one_memory_count_once():
    both = torch.zeros(2, 32)
    for k, v in ((both, both), (both, both.view(64)), (both, torch.from_numpy(both.numpy()[1]))):
        launch = only(fdlib.trace(watched_kernels.two_kernel[(1,)], k, v, torch.zeros(8), 32, 0))
        sizes = [launch.arguments[name].unique_loaded for name in ("K", "V")]
        same = v.data_ptr() != k.data_ptr()
        assert sizes == [4, 0 if same else 4]
        assert launch.hbm_read == (32 if same else 64)


def test_memory_that_a_later_launch_sees_whole_is_known_again():
    whole = np.zeros(64, dtype=np.float32)
    part, all_of_it = torch.from_numpy(whole[16:32]), torch.from_numpy(whole)

    def run():
        kernels.in_place_kernel[(1,)](part, BLOCK=16)
        kernels.in_place_kernel[(1,)](all_of_it, BLOCK=64)

    found = fdlib.trace(run)
    apart = whole.ctypes.data % 32 != 0  # numpy promises 16 bytes, a sector has 32
    assert found.launches[1].hbm_read == 256 + 32 * apart
    assert (found.hbm_read, found.hbm_write) == (256 + 32 * apart,) * 2


def test_a_tensor_seen_as_other_types():
    x, out = torch.zeros(8), torch.zeros(4, dtype=torch.int64)
    launch = only(fdlib.trace(watched_kernels.bytes_kernel[(1,)], x, out, N=4))
    traffic = launch.arguments["X"]
    assert traffic.loaded_bytes == 4 + 32
    assert (traffic.unique_loaded, traffic.repeated_loaded, traffic.hbm_read) == (32, 4, 32)
    half = torch.zeros(32, dtype=torch.float16)

    def two_types():
        kernels.in_place_kernel[(1,)](half.view(torch.float32), BLOCK=16)
        kernels.in_place_kernel[(1,)](half, BLOCK=32)

    found = fdlib.trace(two_types)
    assert (found.hbm_read, found.hbm_write) == (64, 64)
    assert [launch.arguments["X"].unique_loaded for launch in found.launches] == [64, 64]


def test_atomics():
    out = torch.zeros(2, dtype=torch.int32)
    launch = only(fdlib.trace(watched_kernels.add_kernel[(3,)], out, 1, RELAXED=True))
    traffic = launch.arguments["Out"]
    assert traffic.atomic.tolist() == [4, 4, 4] and traffic.stored_bytes == 0
    assert (traffic.unique_written, traffic.repeated_written) == (4, 8)
    assert (traffic.hbm_read, traffic.hbm_write) == (32, 32)


def test_programs_are_numbered_x_first():
    launch = only(fdlib.trace(kernels.grid_kernel[(2, 3, 2)], torch.zeros(8)))
    want = [4 * (x + 1) * y for _ in range(2) for y in range(3) for x in range(2)]
    assert launch.program_bytes.tolist() == want
    assert launch.arguments["Out"].first_step.tolist() == [-1, -1, 0, 0, 0, 0] * 2
    assert launch.order == (("store", "Out"),)  # of program (0, 1, 0): (0, 0, 0) does nothing


def test_every_access_on_request():
    found = fdlib.trace(kernels.sum_blocks, torch.ones(56), events=True)
    assert fdlib.trace(kernels.sum_blocks, torch.ones(56)).events is None
    assert len(found.events) == 6 and sum(event.bytes for event in found.events) == found.bytes
    assert found.events[4] == trace_data.Event(0, (1, 0, 0), "load", "X", 32, 192, 223)


@pytest.mark.parametrize("seed", range(6))
def test_any_gather_against_sets(seed):
    rng = np.random.default_rng(seed)
    programs, block, size = 5, 32, 200
    index = rng.integers(-20, size, (programs, block)) // (1 + seed % 3)
    x, out = torch.zeros(size, dtype=torch.float16), torch.zeros(size)
    launch = only(
        fdlib.trace(
            kernels.gather_kernel[(programs,)], x, torch.from_numpy(index), out, BLOCK=block
        )
    )
    lanes = [row[row >= 0] for row in index]
    each = np.concatenate(lanes)
    traffic, stored = launch.arguments["X"], launch.arguments["Out"]
    assert traffic.loaded.tolist() == [2 * row.size for row in lanes]
    assert traffic.loaded_once.tolist() == [2 * len(set(row.tolist())) for row in lanes]
    assert stored.written_once.tolist() == [4 * len(set(row.tolist())) for row in lanes]
    assert traffic.unique_loaded == 2 * len(set(each.tolist()))
    assert traffic.hbm_read == 32 * len(set((each // 16).tolist()))
    assert stored.hbm_write == 32 * len(set((each // 8).tolist()))


def test_memory_is_bounded_by_the_tensors():
    import tracemalloc

    x = torch.zeros(2**18, dtype=torch.float16)
    tracemalloc.start()
    fdlib.trace(kernels.in_place_kernel[(256,)], x, BLOCK=1024)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        peak < 6 * x.numel() * 2
    )  # an int32 per element for loads, one for stores, and little else


def test_tensors_made_and_dropped_in_between_stay_apart():
    def make_and_drop():
        for _ in range(4):
            kernels.in_place_kernel[(1,)](torch.zeros(2**16), BLOCK=16)

    found = fdlib.trace(make_and_drop)
    assert found.hbm_read == sum(launch.hbm_read for launch in found.launches) == 4 * 64
