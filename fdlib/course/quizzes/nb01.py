"""Questions of notebook 01."""

from __future__ import annotations

from fdlib.course.quizzes import Choice, Foreseen, Number, OneOf
from fdlib.gpus import get_gpu
from fdlib.shapes import model

__all__ = ["QUESTIONS"]

BIG = model("Llama-3.1-70B")
TOKENS, USERS = 4000, 20
LLAMA = model("Llama-3.1-8B")
WIDE, NARROW = (LLAMA.shape(16_384, dtype=dtype) for dtype in ("float32", "float16"))
RIDGE = get_gpu("H200").ridge


def _cache_gb() -> float:
    return BIG.kv_cache_bytes(TOKENS, batch=USERS) / 1e9


QUESTIONS = (
    OneOf(
        "where a query stands",
        "2 queries, 5 keys, the causal mask as this course has it. Keys are numbered 0 to 4. Which "
        "keys does the first query, query 0, see?",
        (
            Choice(
                "keys 0 to 3",
                "the queries are the last positions of the text. Query 0 stands at 5 - 2 + 0 = 3 and "
                "sees everything up to itself.",
                right=True,
            ),
            Choice(
                "key 0 only",
                "that is the mask aligned top-left: query i sees keys 0 to i. It is right only where "
                "there are as many queries as keys. Here the 2 queries come after 3 older tokens. With "
                "one query and a long cache, such a mask would hide all but the first token.",
            ),
            Choice(
                "all 5 keys",
                "key 4 belongs to the token after it. One query alone sees all keys, because it stands "
                "at the end. Of two, only the second does.",
            ),
            Choice(
                "keys 3 and 4",
                "those are the positions of the two queries themselves. Attention looks back: query 0 "
                "sees the older keys too, and not the one after it.",
            ),
        ),
    ),
    Number(
        name="bytes of a KV cache",
        text=f"{BIG.name} has {BIG.layers} layers, {BIG.heads_q} query heads, {BIG.heads_kv} key-value "
        f"heads and D = {BIG.head_dim}, with 2 bytes a number. {USERS} users are served, each with a text "
        f"of {TOKENS:,} tokens. How many GB (10⁹ bytes) does the KV cache take, on all GPUs together?",
        unit="GB",
        tolerance=0.02,
        value=_cache_gb,
        why="2 (a key and a value) x layers x key-value heads x D x 2 bytes, for every token of every user.",
        foreseen=(
            Foreseen(
                lambda: _cache_gb() / 2,
                "It is half. A token leaves a key and a value, and each number has 2 bytes: one of "
                "these two factors is missing.",
            ),
            Foreseen(
                lambda: _cache_gb() / 4,
                "It is a quarter. A token leaves a key and a value, and each number has 2 bytes: both "
                "factors of 2 are missing.",
            ),
            Foreseen(lambda: _cache_gb() / USERS, "This is one user. Nobody shares a cache here."),
            Foreseen(
                lambda: _cache_gb() / BIG.layers,
                "This is one layer. Each layer has its own keys and values.",
            ),
            Foreseen(
                lambda: _cache_gb() / BIG.heads_kv, "This is one head. Each has its own keys."
            ),
            Foreseen(
                lambda: _cache_gb() * 8,
                f"It is 8 times too much. Keys are kept for the {BIG.heads_kv} key-value heads, not for "
                f"each of the {BIG.heads_q} query heads: a group shares them. (Bits instead of bytes "
                "would also give 8 times.)",
            ),
            Foreseen(lambda: _cache_gb() * 1e3, "This is in MB. A GB has a thousand of them."),
            Foreseen(
                lambda: _cache_gb() * 1e9 / 2**30,
                "This is in units of 2³⁰ bytes (GiB). The course counts GB as 10⁹ bytes.",
            ),
        ),
        otherwise='The formula stands in "How big is the KV cache?": bytes per token. Multiply by '
        "the tokens of all users, and divide by 10⁹.",
    ),
    OneOf(
        "half the bytes a number",
        "A KV cache is kept in float16 instead of float32: 2 bytes a number instead of 4. On an H200, "
        f"what happens to the floor of a decode step's attention ({LLAMA.name}, 16,384 tokens)?",
        (
            Choice(
                "It falls to half: half the bytes are read, and the step still waits for bytes.",
                f"FLOPs per byte rise from {WIDE.intensity:.1f} to {NARROW.intensity:.1f}. The ridge of "
                f"an H200 is at {RIDGE:.0f}. Far left of it, bytes / bandwidth sets the time.",
                right=True,
            ),
            Choice(
                "It falls to a quarter: keys are halved and values are halved.",
                "both are halved, and so is their sum: half of each is half of all.",
            ),
            Choice(
                "It stays: there are as many multiplications as before.",
                "the FLOPs are the same, but they are not what a decode step waits for. It is a read of "
                "the KV cache: see the roofline.",
            ),
            Choice(
                "It falls a little: now the step is compute-bound, and arithmetic sets its time.",
                f"FLOPs per byte double, to {NARROW.intensity:.1f}. That is still far from the "
                f"{RIDGE:.0f} of the ridge.",
            ),
        ),
    ),
)
