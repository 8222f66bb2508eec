"""Questions of notebook 03."""

from __future__ import annotations

from fdlib.course.quizzes import Choice, Foreseen, ManyOf, Number, OneOf
from fdlib.plan import cdiv
from fdlib.shapes import model

__all__ = ["QUESTIONS"]

PROMPT = 8192
LAYER = model("Llama-3.1-8B").shape(PROMPT, len_q=PROMPT)
KEYS, BLOCK = 20, 16
PADDING = cdiv(KEYS, BLOCK) * BLOCK - KEYS


def _trips_gb() -> float:
    return 4 * LAYER.scores_bytes / 1e9


QUESTIONS = (
    ManyOf(
        "why it is faster",
        "A prompt is read without a causal mask. Why is FlashAttention faster there than naive "
        "attention in three kernels?",
        (
            Choice(
                "The scores do not travel to HBM and back.",
                "S and P are each written once and read once by the naive kernels. Here they never leave "
                "the SM.",
                right=True,
            ),
            Choice(
                "A tile of scores is used up where it was made, in the memory of the SM.",
                "the program multiplies it with its values at once and keeps only m, l and acc.",
                right=True,
            ),
            Choice(
                "It needs fewer floating point operations.",
                "it does the same two matrix products, and the corrections by alpha on top. Fewer bytes, "
                "not fewer FLOPs.",
            ),
            Choice(
                "It leaves out scores that are too small to matter.",
                "nothing is left out. Only the order of the additions differs: the notebook's section "
                '"Is it exact?" measures it.',
            ),
        ),
    ),
    Number(
        name="trips of the scores",
        text=f"Llama-3.1-8B (32 query heads) reads a prompt of {PROMPT:,} tokens, with naive attention "
        "in three kernels and 2 bytes a number. In one layer, how many GB (10⁹ bytes) do the N² "
        "matrices alone, S and P of all heads, move between HBM and the chip?",
        unit="GB",
        tolerance=0.02,
        value=_trips_gb,
        why="Each N² matrix has 32 x 8,192 x 8,192 x 2 bytes. S is written and read, P is written and "
        "read: four trips.",
        foreseen=(
            Foreseen(
                lambda: _trips_gb() / 4,
                "This is one matrix, once. Follow S and P through the three kernels: who writes them, "
                "and who reads them?",
            ),
            Foreseen(
                lambda: _trips_gb() / 2,
                "It is half. S is written and read, and so is P: four trips. (1 byte a number would "
                "also give half.)",
            ),
            Foreseen(
                lambda: _trips_gb() * 2,
                "It is twice as much. This is half the prompt of the notebook, and N² falls to a "
                "quarter; or you counted 4 bytes a number.",
            ),
            Foreseen(lambda: _trips_gb() / LAYER.heads_q, "This is one head. There are 32."),
            Foreseen(
                lambda: _trips_gb() / PROMPT,
                "This is decode, with one query. In prefill every token of the prompt is a query.",
            ),
            Foreseen(lambda: _trips_gb() * 8, "You counted bits. A byte has 8 of them."),
            Foreseen(lambda: _trips_gb() * 1e3, "This is in MB. A GB has a thousand of them."),
            Foreseen(
                lambda: _trips_gb() * 1e9 / 2**30,
                "This is in units of 2³⁰ bytes (GiB). The course counts GB as 10⁹ bytes.",
            ),
        ),
        otherwise='Heads x N x N x 2 bytes, times the trips: the table in "What naive attention '
        'moves" lists them.',
    ),
    OneOf(
        "keys past the end",
        f"There are {KEYS} keys and BLOCK_N is {BLOCK}. A kernel loads k and v with a mask and "
        "other=0.0. It leaves qk as it is. No causal mask. What comes out?",
        (
            Choice(
                f"{PADDING} places past the end count as keys: the LSE is too large and out is "
                "pulled towards 0.",
                "a key of zeros has the score 0, and exp(0 - m) is not 0. It adds to l, and its value of "
                "zeros adds nothing to acc. Write -inf into qk for these places.",
                right=True,
            ),
            Choice(
                "The right output: keys and values of 0 add nothing.",
                "they add nothing to acc. But a score of 0 is a score: exp(0 - m) is added to l, and "
                "acc is divided by it.",
            ),
            Choice(
                "NaN, because what lies behind the tensor is read.",
                "the mask of the load prevents that: nothing is read there, and other=0.0 says what "
                "stands in its place.",
            ),
            Choice(
                "The LSE is wrong, but out is right, because the extra terms cancel.",
                "they stand in l only, below the line. Above it, in acc, they are multiplied by values of 0.",
            ),
        ),
    ),
)
