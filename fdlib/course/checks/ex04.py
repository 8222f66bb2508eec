"""Checks of exercise 04: counting, held to `fdlib.shapes`, `fdlib.plan` and counting by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

from fdlib.course.expect.check import Check, CheckContext
from fdlib.course.expect.compare import Mismatch, expect_equal
from fdlib.course.expect.observe import compared, look, observing
from fdlib.gpus import GPUS
from fdlib.plan import flash_attention_programs
from fdlib.shapes import MODELS, AttentionShape

__all__ = ["CHECKS"]

_Run = Callable[[ModuleType, CheckContext], None]


def _expect(module: ModuleType, name: str, expected: Any, **arguments: Any) -> None:
    """Call the learner's function by position; the names of the arguments are for the message."""
    function = getattr(module, name, None)
    if not callable(function):
        raise Mismatch(
            f"The function {name} is not there. Give it back the name that the exercise gave it."
        )
    case = ", ".join(f"{key} {value}" for key, value in arguments.items())
    expect_equal(function(*arguments.values()), expected, what=f"{name}(...)", case=case)


@contextlib.contextmanager
def _built_on(
    module: ModuleType, context: CheckContext, name: str, **parts: _Run
) -> Iterator[None]:
    """Say so, in the message, if a function is wrong that the checked one calls."""
    with observing() as sight:
        yield
    note = ""
    if sight.first_wrong is not None:
        code = getattr(getattr(module, name), "__code__", None)
        used = [part for part in parts if part in getattr(code, "co_names", ())]
        wrong = [part for part in used if not look(parts[part], module, context).passed]
        uses = f"{name} uses {' and '.join(used)}"
        note = f"\n{uses}; {' and '.join(wrong)} failed above: mend that first." if wrong else ""
    for seen in sight.seen:
        compared(replace(seen, error=seen.error and Mismatch(f"{seen.error}{note}")))


def _shapes(context: CheckContext) -> Iterable[AttentionShape]:
    """Shapes of named models and random ones, H_kv never H_q, no two sizes equal."""
    random = context.random()
    for name in ("Llama-3.1-8B", "Llama-3.1-70B", "Qwen2.5-7B"):
        yield MODELS[name].shape(random.randrange(1000, 100_000), batch=random.choice((1, 3, 5)))
    for dtype in ("float16", "float32"):
        heads_kv, group = random.choice((2, 3)), random.choice((5, 7))
        yield AttentionShape(
            batch=random.choice((4, 6)),
            heads_q=heads_kv * group,
            heads_kv=heads_kv,
            len_q=random.randrange(200, 900),
            len_kv=random.randrange(1000, 5000),
            head_dim=random.choice((80, 96)),
            dtype=dtype,
        )


def _grid(module: ModuleType, context: CheckContext) -> None:
    random = context.random()
    for block_m in (128, 64):
        some = random.randrange(5, 9) * block_m + random.randrange(1, block_m // 2)
        for len_q in (1, block_m - 1, block_m, block_m + 1, some):
            batch, heads_q = random.choice((1, 3, 5)), random.choice((7, 8, 32))
            shape = AttentionShape(
                batch=batch, heads_q=heads_q, heads_kv=1, len_q=len_q, len_kv=1000
            )
            sizes = {"batch": batch, "heads_q": heads_q, "len_q": len_q}
            sizes |= {"block_m": block_m} if block_m != 128 else {}
            _expect(module, "grid_programs", flash_attention_programs(shape, block_m), **sizes)


def _idle(module: ModuleType, context: CheckContext) -> None:
    for gpu in GPUS.values():
        sms = gpu.num_sms
        for programs in (1, 8, context.random().randrange(9, sms), sms - 1, sms, sms + 1, 3 * sms):
            # SM i gets program i, if there is one.
            idle = sum(1 for sm in range(sms) if sm >= programs)
            _expect(module, "idle_fraction", idle / sms, programs=programs, num_sms=sms)


def _bytes(module: ModuleType, context: CheckContext) -> None:
    for shape in _shapes(context):
        sizes = {"batch": shape.batch, "heads_kv": shape.heads_kv}
        sizes |= {"len_kv": shape.len_kv, "head_dim": shape.head_dim}
        sizes |= {"element_bytes": 4} if shape.element_bytes == 4 else {}
        _expect(module, "kv_bytes", shape.kv_bytes, **sizes)


def _flops(module: ModuleType, context: CheckContext) -> None:
    for shape in _shapes(context):
        sizes = {"batch": shape.batch, "heads_q": shape.heads_q, "len_q": shape.len_q}
        sizes |= {"len_kv": shape.len_kv, "head_dim": shape.head_dim}
        _expect(module, "flops", shape.flops, **sizes)


def _intensity(module: ModuleType, context: CheckContext) -> None:
    for shape in _shapes(context):
        sizes = {"batch": shape.batch, "heads_q": shape.heads_q, "heads_kv": shape.heads_kv}
        sizes |= {"len_q": shape.len_q, "len_kv": shape.len_kv, "head_dim": shape.head_dim}
        sizes |= {"element_bytes": 4} if shape.element_bytes == 4 else {}
        with _built_on(module, context, "intensity", kv_bytes=_bytes, flops=_flops):
            _expect(module, "intensity", shape.intensity, **sizes)


def _time(module: ModuleType, context: CheckContext) -> None:
    random = context.random()
    for bandwidth_gbs, sms in ((1555, 108), (3350, 132), (4800, 132)):
        for programs in (1, 8, random.randrange(9, sms), sms, sms + 5, 4 * sms):
            bytes_read = random.randrange(10**6, 10**9)
            per_sm_gbs = bandwidth_gbs / sms
            seconds = bytes_read / (per_sm_gbs * min(programs, sms)) / 1e9
            sizes = {"bytes_read": bytes_read, "bandwidth_gbs": bandwidth_gbs}
            sizes |= {"programs": programs, "num_sms": sms}
            with _built_on(module, context, "decode_time_us", idle_fraction=_idle):
                _expect(module, "decode_time_us", seconds * 1e6, **sizes)


def _splits(module: ModuleType, context: CheckContext) -> None:
    for batch, heads_q in ((1, 8), (1, 12), (3, 11), (2, 66), (1, 132), (1, 133), (5, 40), (1, 1)):
        for num_sms in (132, 108, context.random().randrange(50, 200)):
            splits = 1
            while splits * batch * heads_q < num_sms:
                splits += 1
            _expect(module, "splits_to_fill", splits, batch=batch, heads_q=heads_q, num_sms=num_sms)


CHECKS = (
    Check(
        "grid",
        "The programs of FlashAttention-2's grid, partly filled blocks included.",
        2,
        _grid,
        read="The grid",
        region="the number of programs",
    ),
    Check(
        "idle",
        "The share of idle SMs, also when there are more programs than SMs.",
        1,
        _idle,
        read="The grid",
        region="the idle fraction",
    ),
    Check(
        "kv-bytes",
        "The bytes of keys and values together.",
        1,
        _bytes,
        read="01: How big is the KV cache?",
        region="the bytes of K and V",
    ),
    Check(
        "flops",
        "The operations of both matrix products.",
        1,
        _flops,
        read="01: FLOPs per byte",
        region="the operations of the two matrix products",
    ),
    Check(
        "intensity",
        "Operations per byte of q, k, v and out.",
        2,
        _intensity,
        read="01: FLOPs per byte",
        region="operations per byte",
    ),
    Check(
        "time",
        "The time to read the bytes with the SMs that are busy.",
        2,
        _time,
        read="A model of the time",
        region="the time in microseconds",
    ),
    Check(
        "splits",
        "The smallest number of splits that gives every SM a program.",
        1,
        _splits,
        read="The grid",
        region="the number of splits",
    ),
)
