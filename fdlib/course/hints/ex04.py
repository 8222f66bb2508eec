"""Hints of exercise 04."""

from __future__ import annotations

from fdlib.course.hints import Hint

__all__ = ["HINTS"]

HINTS = {
    "the number of programs": Hint(
        nudge="Which three things does FlashAttention-2 count? How many blocks of 128 do 130 queries need, and how "
        "many does one query need?",
        idea="One program takes one block of queries, of one head, of one sequence. So count the blocks and "
        "multiply. A block that is only partly filled is a block, so the division by the length of a block "
        "must round up. The docstring at the top of the file says how to round up with integers.",
        pseudocode="""\
1. blocks = ⌈len_q / block_m⌉, in whole numbers.
2. programs = blocks · query heads · sequences.
Try it: 130 queries, 8 heads, 2 sequences give 2 · 8 · 2 = 32 programs.""",
    ),
    "the idle fraction": Hint(
        nudge="How many SMs can 1000 programs keep busy, if the GPU has 132? And how many are busy with 8?",
        idea="An SM is busy if it has at least one program. With few programs each gets an SM of its own; with "
        "many, every SM is busy and no more. So the busy SMs are the smaller of the two counts. What is left "
        "is idle. You want a share, so this division keeps its fraction.",
        pseudocode="""\
1. busy = the smaller one of programs and SMs.
2. The fraction is 1 minus busy / SMs, not rounded.
Try it: 8 programs on 132 SMs give 0.939; 200 programs give 0.""",
    ),
    "the bytes of K and V": Hint(
        nudge="How many numbers are stored for one token and one key/value head? How many bytes is one number?",
        idea="For each sequence, each key/value head and each token there is one key and one value, of head_dim "
        "numbers each. Do not count the query heads: they share what is stored. Then go from numbers to "
        "bytes.",
        pseudocode="""\
1. Numbers in the keys: B · H_kv · L_kv · D.
2. The values are as many again: two times that.
3. Bytes = numbers · bytes of one number.
Try it: B 1, H_kv 1, L_kv 16,384, D 128 in float16 are 8,388,608 bytes.""",
    ),
    "the operations of the two matrix products": Hint(
        nudge="Take one query and one key. How many multiplications does their score take, and how many additions? "
        "Which second product is there?",
        idea="A score is a sum over head_dim of products: D multiplications and D additions. There is one score "
        "for each query of each query head and each key. The second product, p v, multiplies each weight with "
        "D numbers of a value and adds them up: as many operations again.",
        pseudocode="""\
1. Pairs of a query and a key: B · H_q · L_q · L_kv.
2. One product costs 2 · D for each pair: a multiplication and an addition per dimension.
3. There are two products of the same cost.
Try it: all sizes 1 give 4 operations.""",
    ),
    "operations per byte": Hint(
        nudge="You have the operations from the function above. What has to go through memory, and which of the "
        "four tensors have the same size?",
        idea="Divide operations by bytes. q, k and v are read once and out is written once. k and v have H_kv "
        "heads and L_kv tokens, and you have written a function for them. q and out have H_q heads and L_q "
        "tokens. Give element_bytes to everything that counts bytes.",
        pseudocode="""\
1. Bytes of q: B · H_q · L_q · D · bytes of a number. out has as many.
2. Bytes of k and v together: ask your own function, with the key/value heads.
3. Traffic = q + (k and v) + out.
4. The result is operations / traffic, a fraction.
Try it: in decoding, float16, the answer is close to H_q / H_kv.""",
    ),
    "the time in microseconds": Hint(
        nudge="How many seconds does it take if every SM draws? Then: what changes if half of the SMs are idle? "
        "Which share of the SMs is busy?",
        idea="Time is bytes / (bytes per second). In this model the SMs that are busy draw their share of the "
        "bandwidth and the others' share is lost, so the bandwidth that you really have is the busy share of "
        "the full one. The busy share is what is not idle, and you have a function for the idle share. Mind "
        "the units twice: GB/s to bytes per second, seconds to microseconds.",
        pseudocode="""\
1. busy share = 1 minus the idle fraction (programs, SMs).
2. bandwidth in bytes per second = GB/s · 10⁹.
3. seconds = bytes / (bandwidth · busy share).
4. microseconds = seconds · 10⁶.
Try it: 48,000,000 bytes at 4,800 GB/s take 10 us with all SMs busy, and 20 us with half of them.""",
    ),
    "the number of splits": Hint(
        nudge="With 8 heads, one sequence and 132 SMs: are 16 parts enough? Are 17? What do you divide, and which "
        "way do you round?",
        idea="One query per sequence means one block of queries, so each part gives a program for each head of "
        "each sequence. You look for the smallest number of parts for which that is at least the number of "
        "SMs. So divide the SMs by the programs of one part, and round up, because rounding down leaves SMs "
        "idle. Rounding up also gives 1 if there are programs enough already.",
        pseudocode="""\
1. Programs of one part: sequences · query heads.
2. splits = ⌈SMs / that⌉, in whole numbers.
Try it: 8 heads, 132 SMs give 17; 12 heads give exactly 11; 200 heads give 1.""",
    ),
}
