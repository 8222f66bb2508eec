"""Questions of notebook 00. The first is asked before anything is taught."""

from __future__ import annotations

from fdlib.course.quizzes import Choice, Foreseen, ManyOf, Number, OneOf
from fdlib.gpus import get_gpu
from fdlib.plan import cdiv, flash_attention_programs
from fdlib.shapes import AttentionShape

__all__ = ["QUESTIONS"]

CALL = AttentionShape(batch=3, heads_q=16, heads_kv=2, len_kv=50_000)
SMS = get_gpu("H100").num_sms

QUESTIONS = (
    OneOf(
        "the axis left alone",
        "Flash-Decoding parallelises an axis that FlashAttention-2 left alone: which?",
        (
            Choice(
                "the keys",
                "the keys, the sequence of the KV cache. Within a block of queries, FlashAttention-2 "
                "walks through all the keys in a loop, one block after the other. Flash-Decoding cuts "
                "that loop in parts, runs the parts at the same time, and merges their results exactly.",
                right=True,
            ),
            Choice(
                "the queries",
                "that is what FlashAttention-2 added. It cuts the queries in blocks and runs the blocks "
                "side by side. That helps when there are thousands of queries. A model that writes has "
                "one query, and one query makes one block.",
            ),
            Choice(
                "the heads",
                "even the first FlashAttention gave each head its own piece of work. Heads never need "
                "each other's results, so this is the easiest cut.",
            ),
            Choice(
                "the batch",
                "even the first FlashAttention gave each text its own piece of work. What can still be "
                "cut when there is one text and one query?",
            ),
        ),
    ),
    Number(
        name="programs of a grid",
        text=f"{CALL.batch} texts are written at the same time, one token of each. The model has "
        f"{CALL.heads_q} query heads and {CALL.heads_kv} key-value heads, and each text so far has "
        f"{CALL.len_kv:,} tokens. How many programs does FlashAttention-2 launch for one layer?",
        unit="programs",
        value=lambda: flash_attention_programs(CALL),
        why=f"One block of queries x {CALL.heads_q} query heads x {CALL.batch} texts. "
        "The number of tokens so far is not in it.",
        foreseen=(
            Foreseen(
                lambda: CALL.heads_q,
                "This is one text alone. Each text has its own programs: look at the formula in "
                '"How idle is the GPU?".',
            ),
            Foreseen(
                lambda: CALL.batch * CALL.heads_kv,
                "You counted key-value heads. FlashAttention-2 launches a program for each query head. "
                "It is fdlib's Flash-Decoding that lets one program serve all heads that share keys.",
            ),
            Foreseen(
                lambda: CALL.batch * CALL.heads_q * cdiv(CALL.len_kv, 128),
                "You cut the keys in blocks of 128. FlashAttention-2 cuts the queries; a program walks "
                "through all keys of its head. There is one query in each text.",
            ),
            Foreseen(
                lambda: CALL.batch * CALL.heads_q * CALL.len_kv,
                "You counted the keys. They are not in the formula: a program walks through all of them.",
            ),
            Foreseen(
                lambda: SMS,
                "This is the number of SMs of an H100. A launch has as many programs as there is work "
                "to share out by its rule, whatever the GPU.",
            ),
        ),
        otherwise="Count the blocks of queries, the query heads and the texts, and multiply: the "
        'formula stands in "How idle is the GPU?".',
    ),
    ManyOf(
        "what splitting changes",
        "The keys of a long text are cut in 10 splits, and their results are merged. What is true?",
        (
            Choice(
                "More SMs have work at the same time.",
                "each split is a program of its own, and a program runs on one SM.",
                right=True,
            ),
            Choice(
                "Merging is work that was not there before.",
                "somebody stands at the desk. The results of the splits are written, read again and "
                "weighed. That is why more splits are not always better.",
                right=True,
            ),
            Choice(
                "Each key is read 10 times instead of once.",
                "a split reads its own stretch of shelf and no other. As many books are opened as before.",
            ),
            Choice(
                "The answer is a good approximation of the unsplit one.",
                "it is the same answer, up to the rounding of the arithmetic. Each split also gives a "
                "number that says how much it counts. Notebook 06 shows why that is enough.",
            ),
        ),
    ),
)
