"""The cache of the trace against one written the slow way, sector by sector."""

from __future__ import annotations

import random
from collections import OrderedDict

import numpy as np
import pytest

from fdlib import device

torch = pytest.importorskip("torch")
from fdlib.xray.tracing.lru import Lru  # noqa: E402
from fdlib.xray.tracing.regions import Region  # noqa: E402

KINDS = ("load", "store", "atomic")


def slow(operations, capacity):
    """(sectors read, sectors written) of a cache of `capacity` sectors, oldest use out first."""
    cache: OrderedDict = OrderedDict()  # (region, sector) -> [operation, dirty]
    reads = writes = 0
    for number, (region, sectors, kind) in enumerate(operations):
        keys = {(region, int(sector)) for sector in sectors}
        reads += sum(key not in cache for key in keys) * (kind != "store")
        for key in keys:
            dirty = cache.pop(key)[1] if key in cache else False
            cache[key] = [number, dirty or kind != "load"]
        while len(cache) > capacity:  # all that one operation used last leave together
            oldest = next(iter(cache.values()))[0]
            for key in [key for key, (last, _) in cache.items() if last == oldest]:
                writes += cache.pop(key)[1]
    return reads, writes + sum(dirty for _, dirty in cache.values())


def random_operations(seed, regions, sectors):
    rng = random.Random(seed)
    for _ in range(300):
        start, count = rng.randrange(sectors), rng.randrange(1, 12)
        at = [rng.randrange(max(0, start - 20), start + 1) for _ in range(count)]
        yield rng.randrange(regions), np.array(at), rng.choice(KINDS)


def in_turns(operations, at_once):
    """The same operations, of programs of 7 each, as a wave of `at_once` programs would do them."""
    programs = [operations[i : i + 7] for i in range(0, len(operations), 7)]
    for wave in (programs[i : i + at_once] for i in range(0, len(programs), at_once)):
        for step in range(7):
            yield from (program[step] for program in wave if step < len(program))


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_against_the_slow_one(seed, at_once):
    capacity = (5, 16, 40, 1000)[seed % 4]
    regions = [Region(0, 32 * 60, 4) for _ in range(3)]
    operations = list(random_operations(seed, 3, 60))
    lru = Lru(capacity * 32 / 2**20, at_once)
    for number, (region, sectors, kind) in enumerate(operations):
        lru.access(number // 7, regions[region], sectors, kind)
    lru.flush()
    found = lru.of_launch()
    assert (found.read_bytes // 32, found.write_bytes // 32) == slow(
        list(in_turns(operations, at_once)), capacity
    )
    assert lru.of_all().bytes == found.bytes and lru.of_launch().bytes == 0


@pytest.mark.skipif(not device.interpreting(), reason="traces in this process")
def test_a_cache_that_holds_all_reads_what_must_be_read_and_a_small_one_more():
    import fdlib

    q, k = torch.randn(1, 16, 8, 64), torch.randn(1, 1024, 2, 64)
    call = (fdlib.flash_attention, q, k, k.clone())
    large = fdlib.trace(*call, l2_mb=60)
    assert large.l2.read_bytes == large.hbm_read and large.l2.write_bytes == large.hbm_write
    small = fdlib.trace(*call, l2_mb=0.25)  # one head's keys and values are twice that
    asked = sum(each.loaded_bytes for each in small.launches[0].arguments.values())
    assert small.l2.read_bytes == asked
    together = fdlib.trace(
        *call, l2_mb=0.25, at_once=4
    )  # a group's 4 programs share what one reads
    assert together.l2.read_bytes == large.hbm_read
    assert small.launches[0].l2 == small.l2


@pytest.mark.skipif(not device.interpreting(), reason="traces in this process")
def test_the_cache_keeps_what_it_holds_between_launches():
    import fdlib

    q, k = torch.randn(1, 1, 4, 32), torch.randn(1, 256, 2, 32)
    found = fdlib.trace(fdlib.flash_decode, q, k, k.clone(), num_splits=4, l2_mb=1)
    assert found.launches[1].l2.read_bytes == 0
    assert (found.l2.read_bytes, found.l2.write_bytes) == (found.hbm_read, found.hbm_write)
