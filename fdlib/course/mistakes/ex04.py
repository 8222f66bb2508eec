"""Known mistakes of exercise 04, all of them; wrong counts of programs, bytes, operations and time are here."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake
from fdlib.course.mistakes.ex04_splits import SPLITS_MISTAKES

__all__ = ["MISTAKES"]

_PROGRAMS = "blocks * heads_q * batch"
_BLOCKS = "-(-len_q // block_m)"
_FLOPS = "2 * (2 * batch * heads_q * len_q * len_kv * head_dim)"
_TRAFFIC = "q_bytes + kv_read + q_bytes"
_TIME = "bytes_read / (bandwidth_gbs * 1e9 * busy_share) * 1e6"

MISTAKES = (
    Mistake(
        name="grid-rounded-down",
        check="grid",
        edits=((_BLOCKS, "len_q // block_m"),),
        says="the number of query blocks is rounded down",
        why="One query fills 1/128 of a block. Rounded down that is no block, no program, and nobody to answer the "
        "query. A block that is only partly filled needs a program too.",
        read="The grid",
    ),
    Mistake(
        name="grid-full-blocks-only",
        check="grid",
        edits=((_BLOCKS, "max(1, len_q // block_m)"),),
        says="only full blocks of queries are counted, and one if there are none",
        why="130 queries are one full block and 2 queries more. Those 2 need a program as well, so the division has "
        "to be rounded up. One query alone hides this, 129 show it.",
        read="The grid",
    ),
    Mistake(
        name="grid-one-block-too-many",
        check="grid",
        edits=((_BLOCKS, "len_q // block_m + 1"),),
        says="1 is always added to the number of full blocks",
        why="That is right as long as the last block is partly filled. With exactly 128 queries and blocks of 128 "
        "nothing is left over, and the second block has no query.",
        read="The grid",
    ),
    Mistake(
        name="grid-program-per-query",
        check="grid",
        edits=((_PROGRAMS, "len_q * heads_q * batch"),),
        says="every query has a program of its own",
        why="A program takes a whole block of queries, so that the keys it loads serve all of them. With one query "
        "the two counts agree, with 128 they are 128 times apart.",
        read="The grid",
    ),
    Mistake(
        name="grid-batch-forgotten",
        check="grid",
        edits=((_PROGRAMS, "blocks * heads_q"),),
        says="the sequences of the batch are not counted",
        why="Each sequence has its own queries and its own keys, and so its own programs. Batch 1 hides this; at "
        "batch 5 you count a fifth. This factor is why batching fills a GPU.",
        read="The grid",
    ),
    Mistake(
        name="grid-heads-forgotten",
        check="grid",
        edits=((_PROGRAMS, "blocks * batch"),),
        says="the query heads are not counted",
        why="The grid has three factors: blocks of queries, query heads, sequences. In decoding the first is 1, and "
        "the heads are most of what is left.",
        read="The grid",
    ),
    Mistake(
        name="idle-not-capped",
        check="idle",
        edits=(("min(programs, num_sms)", "programs"),),
        says="every program keeps an SM busy, even when there are more programs than SMs",
        why="With three programs per SM you get 300% busy and -200% idle. One SM can run several programs, so no more "
        "SMs can be busy than there are.",
        read="The grid",
    ),
    Mistake(
        name="idle-is-busy",
        check="idle",
        edits=(("1 - busy / num_sms", "busy / num_sms"),),
        says="it is the share of the busy SMs",
        why="8 programs on 132 SMs are 6% busy and 94% idle. Try 1 program: nearly all SMs must be idle.",
        read="The grid",
    ),
    Mistake(
        name="idle-rounded",
        check="idle",
        edits=(("1 - busy / num_sms", "1 - busy // num_sms"),),
        says="the busy share is rounded down to a whole number",
        why="8 // 132 is 0, so the GPU looks all idle until its last SM is busy. A share is a fraction and must keep "
        "what comes after the point.",
        read="The grid",
    ),
    Mistake(
        name="kv-v-forgotten",
        check="kv-bytes",
        edits=(("2 * batch * heads_kv", "batch * heads_kv"),),
        says="only one of the two tensors k and v is counted",
        why="The cache holds a key and a value for each token and head. Both are read in every step, so half of the "
        "bytes would promise half of the time.",
        read="01: How big is the KV cache?",
    ),
    Mistake(
        name="kv-elements",
        check="kv-bytes",
        edits=(("len_kv * head_dim * element_bytes", "len_kv * head_dim"),),
        says="elements are counted, not bytes",
        why="A float16 number is 2 bytes, a float32 number 4. The bandwidth of a GPU is in bytes per second, so the "
        "time would come out too short by that factor.",
        read="01: How big is the KV cache?",
    ),
    Mistake(
        name="kv-bits",
        check="kv-bytes",
        edits=(("len_kv * head_dim * element_bytes", "len_kv * head_dim * element_bytes * 8"),),
        says="bits are counted, not bytes",
        why="The name float16 gives the size in bits; element_bytes is in bytes already. Everything built on this "
        "number would be 8 times too large.",
        read="01: How big is the KV cache?",
    ),
    Mistake(
        name="flops-half",
        check="flops",
        edits=((_FLOPS, "2 * batch * heads_q * len_q * len_kv * head_dim"),),
        says="one matrix product is counted, or a multiplication and its addition as one operation",
        why="There are two products, q kᵀ and p v. In each, every pair of a query and a key takes D multiplications "
        "and D additions. Two times two: a factor of 4 in all.",
        read="01: FLOPs per byte",
    ),
    Mistake(
        name="flops-quarter",
        check="flops",
        edits=((_FLOPS, "batch * heads_q * len_q * len_kv * head_dim"),),
        says="the multiplications of a single matrix product are counted",
        why="Two factors of 2 are missing: there are two products, q kᵀ and p v, and each multiplication is followed "
        "by an addition.",
        read="01: FLOPs per byte",
    ),
    Mistake(
        name="intensity-all-heads-read-kv",
        check="intensity",
        edits=(("kv_bytes(batch, heads_kv", "kv_bytes(batch, heads_q"),),
        says="k and v are counted once for every query head",
        why="The query heads of a group share their keys and values, and memory holds them once per key/value head. "
        "With 8 query heads and 1 key/value head you count the cache 8 times.",
        read="01: How big is the KV cache?",
    ),
    Mistake(
        name="intensity-out-forgotten",
        check="intensity",
        edits=((_TRAFFIC, "q_bytes + kv_read"),),
        says="the bytes of out are not counted",
        why="The kernel writes out once, and out is as large as q. With one query that is hardly visible beside the "
        "cache; with many queries it is a large part of the traffic.",
        read="01: FLOPs per byte",
    ),
    Mistake(
        name="intensity-only-kv",
        check="intensity",
        edits=((_TRAFFIC, "kv_read"),),
        says="only k and v are counted as traffic",
        why="q is read and out is written too. In decoding they vanish beside the cache, in prefill they do not: with "
        "as many queries as keys they weigh as much, or more.",
        read="01: FLOPs per byte",
    ),
    Mistake(
        name="intensity-element-bytes-not-passed-on",
        check="intensity",
        edits=(("len_kv, head_dim, element_bytes)", "len_kv, head_dim)"),),
        says="element_bytes is not passed on for k and v",
        why="kv_bytes then takes its default of 2 bytes. float16 looks right, and float32 counts half of the cache.",
        read="01: FLOPs per byte",
    ),
    Mistake(
        name="time-gib",
        check="time",
        edits=(("1e9", "2**30"),),
        says="a GB has 2**30 bytes",
        why="Data sheets count in powers of ten: 1 GB is 10⁹ bytes. 2³⁰ is a GiB, 7% more, so every time comes out 7% "
        "too short.",
        read="A model of the time",
    ),
    Mistake(
        name="time-all-sms",
        check="time",
        edits=((_TIME, "bytes_read / (bandwidth_gbs * 1e9) * 1e6"),),
        says="all SMs draw, the idle ones too",
        why="That is the time of a full GPU. In this model an SM draws its own share and no more: with 8 of 132 SMs "
        "busy the step takes 16.5 times as long.",
        read="A model of the time",
    ),
    Mistake(
        name="time-not-capped",
        check="time",
        edits=(("1 - idle_fraction(programs, num_sms)", "programs / num_sms"),),
        says="more programs than SMs draw more than the whole bandwidth",
        why="Four programs per SM do not make the memory four times as fast. The busy share ends at 1.",
        read="A model of the time",
    ),
    Mistake(
        name="time-milliseconds",
        check="time",
        edits=((_TIME, "bytes_read / (bandwidth_gbs * 1e9 * busy_share) * 1e3"),),
        says="the time is in milliseconds",
        why="A second has a thousand milliseconds and a million microseconds. Bytes divided by bytes per second give "
        "seconds.",
        read="A model of the time",
    ),
    *SPLITS_MISTAKES,
)
