"""Who computes what: split ranges, grids and the split count, as plain integers.

This is the keystone of the package. The kernels' launchers and every picture read the same
functions, so a picture cannot show a schedule that the kernel does not run. No torch, no triton.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from fdlib.gpus import GpuSpec, get_gpu
from fdlib.shapes import AttentionShape

__all__ = [
    "COMBINE_BLOCK",
    "SplitPlan",
    "cdiv",
    "choose_num_splits",
    "flash_attention_programs",
    "key_block",
    "num_stages",
    "plan_splits",
    "row_block",
    "split_range",
    "split_ranges",
]

# A key tile of at most 16 KiB: K's and V's, three times (pipeline stages), are 96 KiB of shared
# memory.
KEY_TILE_BYTES = 16 * 1024
# A tensor core's tile has 16 rows; fewer are padded to it. The accumulator (rows x head_dim, float32)
# has to stay in registers.
MIN_ROW_BLOCK, MAX_ROW_BLOCK, MAX_ACC_ELEMENTS = 16, 64, 64 * 128
# Parts that the combine merges in the time of one key block of the split kernel: fitted to the best
# split count of one sweep on an H200 (8/1 heads, 16k keys, data/recorded/h200_decode.json).
MERGES_PER_BLOCK = 14
# Splits that the combine merges per step: 16 rows of 128 float32 are 8 KiB in flight.
COMBINE_BLOCK = 16


def cdiv(a: int, b: int) -> int:
    """Ceiling division: how many blocks of ``b`` cover ``a``.

    >>> cdiv(130, 64)
    3
    """
    return -(-a // b)


def _next_power_of_2(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def key_block(head_dim: int, element_bytes: int) -> int:
    """Keys per tile (BLOCK_N): 64, or fewer where a tile of that many would pass 16 KiB.

    >>> key_block(128, 2), key_block(256, 4)
    (64, 16)
    """
    row_bytes = _next_power_of_2(head_dim) * element_bytes
    return max(1, min(64, KEY_TILE_BYTES // row_bytes))


def num_stages(head_dim: int, element_bytes: int) -> int:
    """Key blocks in flight: as many as keep K and V tiles within 96 KiB of shared memory, 2 to 4.

    >>> num_stages(128, 2), num_stages(64, 2)
    (3, 4)
    """
    tile_bytes = key_block(head_dim, element_bytes) * _next_power_of_2(head_dim) * element_bytes
    return min(max(96 * 1024 // (2 * tile_bytes), 2), 4)


def row_block(rows: int, head_dim: int, element_bytes: int) -> int:
    """Query rows per tile (BLOCK_M): a power of two from 16 to 64, 16 in float32 (no tensor cores).

    A row is one query head at one query position; the rows of a group share the tile, and so each
    key read.

    >>> row_block(4, 128, 2), row_block(24, 128, 2), row_block(1000, 256, 2)
    (16, 32, 32)
    """
    fits = MIN_ROW_BLOCK if element_bytes == 4 else MAX_ACC_ELEMENTS // _next_power_of_2(head_dim)
    largest = max(MIN_ROW_BLOCK, min(MAX_ROW_BLOCK, fits))
    return min(max(_next_power_of_2(rows), MIN_ROW_BLOCK), largest)


def split_range(len_kv: int, num_splits: int, split: int, block_n: int) -> tuple[int, int]:
    """Keys ``start`` to ``end - 1`` of one split: whole blocks, as even as whole blocks can be.

    Every split starts at a block boundary; only the last key block may be partial. A split can be
    empty (``start == end``) when there are more splits than blocks. `flash_decoding._split_range`
    is the same formula on the GPU, and a test holds them together.

    >>> [split_range(300, 3, s, 64) for s in range(3)]
    [(0, 64), (64, 192), (192, 300)]
    """
    blocks = cdiv(len_kv, block_n)
    start = split * blocks // num_splits * block_n
    end = (split + 1) * blocks // num_splits * block_n
    return min(start, len_kv), min(end, len_kv)


def split_ranges(len_kv: int, num_splits: int, block_n: int) -> list[tuple[int, int]]:
    """The ranges of all splits, in order; together they cover 0 to ``len_kv - 1`` once.

    >>> split_ranges(100_000, 10, 16)[:2]
    [(0, 10000), (10000, 20000)]
    """
    return [split_range(len_kv, num_splits, split, block_n) for split in range(num_splits)]


def flash_attention_programs(shape: AttentionShape, block_m: int = 128) -> int:
    """Programs (thread blocks) of FlashAttention-2's forward: one per query block, head, sequence.

    Keys do not appear in it: that is the axis that it leaves alone. Source: Dao 2023,
    "FlashAttention-2", section 3.2, https://arxiv.org/abs/2307.08691.

    >>> flash_attention_programs(AttentionShape(heads_q=8, heads_kv=1, len_kv=100_000))
    8
    """
    return cdiv(shape.len_q, block_m) * shape.heads_q * shape.batch


def choose_num_splits(programs: int, key_blocks: int, num_sms: int) -> int:
    """How many parts to cut the keys into: as near to one program per SM as whole parts come.

    ``programs`` is the grid without splitting, ``key_blocks`` the key blocks of the whole cache.
    A grid that leaves more than a tenth of the SMs idle is split in two at least: on an H200, batch
    11 to 14 of 8 heads ran up to 1.2 times faster so.
    Short contexts get fewer: splitting shortens the loop (``key_blocks / splits`` steps) and
    lengthens the combine (``splits / MERGES_PER_BLOCK`` steps), and their sum is least at
    ``sqrt(MERGES_PER_BLOCK * key_blocks)``. Of the counts that leave the longest part as long,
    the smallest.

    >>> choose_num_splits(programs=8, key_blocks=256, num_sms=132)
    16
    >>> choose_num_splits(programs=1, key_blocks=16, num_sms=132)
    8
    >>> choose_num_splits(programs=128, key_blocks=256, num_sms=132)
    1
    """
    if programs == 0 or key_blocks == 0:
        return 1
    # num_sms / programs, rounded to the nearest; a half rounds down
    nearest = (2 * num_sms + programs - 1) // (2 * programs)
    if programs < 0.9 * num_sms:
        nearest = max(nearest, 2)  # two halves spread more evenly than one part each on some SMs
    splits = max(1, min(nearest, math.isqrt(MERGES_PER_BLOCK * key_blocks)))
    return cdiv(key_blocks, cdiv(key_blocks, splits))


@dataclass(frozen=True)
class SplitPlan:
    """What Flash-Decoding launches for one shape on a GPU of ``num_sms`` SMs.

    ``block_m`` and ``block_n`` are the tile (query rows, keys). The grid has ``programs`` thread
    blocks: one per sequence, key/value head, row block and split.
    """

    shape: AttentionShape
    num_sms: int
    block_m: int
    block_n: int
    num_splits: int

    @property
    def row_blocks(self) -> int:
        """Row tiles per key/value head: its query heads times the query positions, in tiles."""
        return cdiv(self.shape.group_size * self.shape.len_q, self.block_m)

    @property
    def programs(self) -> int:
        """Thread blocks of the split kernel."""
        return self.shape.batch * self.shape.heads_kv * self.row_blocks * self.num_splits

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """(start, end) of each split's keys."""
        return split_ranges(self.shape.len_kv, self.num_splits, self.block_n)

    @property
    def busy_sms(self) -> int:
        """SMs that get at least one program."""
        return min(self.programs, self.num_sms)

    @property
    def idle_fraction(self) -> float:
        """Share of the SMs that get no program at all."""
        return 1 - self.busy_sms / self.num_sms

    @property
    def scratch_bytes(self) -> int:
        """Bytes of partial outputs and LSEs, both float32; nothing at one split."""
        if self.num_splits == 1:
            return 0
        rows = self.num_splits * self.shape.batch * self.shape.heads_q * self.shape.len_q
        return rows * (self.shape.head_dim + 1) * 4


def plan_splits(shape: AttentionShape, gpu: GpuSpec | str | int, num_splits: int = 0) -> SplitPlan:
    """The schedule that `fdlib.flash_decode` runs for ``shape`` on ``gpu``, if it takes that shape.

    ``gpu`` is a `GpuSpec`, a name such as ``"H200"``, or a number of SMs; ``num_splits=0`` lets
    `choose_num_splits` decide. Raises `ValueError` for an unknown GPU or a negative ``num_splits``.

    >>> plan = plan_splits(AttentionShape(heads_q=8, heads_kv=1, len_kv=100_000), "H100")
    >>> plan.num_splits, plan.programs, plan.busy_sms
    (131, 131, 131)
    """
    if not isinstance(shape, AttentionShape):
        raise TypeError(f"shape: got {type(shape).__name__}, takes an AttentionShape")
    gpu = get_gpu(gpu) if isinstance(gpu, str) else gpu
    num_sms = gpu.num_sms if isinstance(gpu, GpuSpec) else gpu
    if type(num_sms) is not int or num_sms < 1:
        raise ValueError(f"gpu: got {gpu!r}, takes a GpuSpec, a name or a number of SMs >= 1")
    if type(num_splits) is not int or num_splits < 0:
        raise ValueError(f"num_splits: got {num_splits!r}, takes an int >= 0 (0: the rule chooses)")
    block_m = row_block(shape.group_size * shape.len_q, shape.head_dim, shape.element_bytes)
    block_n = key_block(shape.head_dim, shape.element_bytes)
    whole = SplitPlan(shape, num_sms, block_m, block_n, num_splits=1)
    if num_splits == 0:
        num_splits = choose_num_splits(whole.programs, cdiv(shape.len_kv, block_n), num_sms)
    return replace(whole, num_splits=num_splits)
