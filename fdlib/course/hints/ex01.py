"""Hints of exercise 01."""

from __future__ import annotations

from fdlib.course.hints import Hint

__all__ = ["HINTS"]

HINTS = {
    "the scaled scores": Hint(
        nudge="q is (B, H, L_q, D), k is (B, H, L_kv, D), and you want (B, H, L_q, L_kv). Which dimension has to be "
        "summed away, and where does `@` look for it?",
        idea="Each score is the dot product of one query with one key: a sum over D. `@` multiplies the rows of its "
        "left side with the columns of its right side, so the last two dimensions of k have to change places. A sum "
        "of D products grows with √D; dividing by √D takes that back.",
        pseudocode="1. kᵀ = k with its last two dimensions swapped: (B, H, D, L_kv)\n"
        "2. S = matrix product of q and kᵀ: (B, H, L_q, L_kv)\n"
        "3. scores = S / √D, where D is the `head_dim` from above",
    ),
    "hide the keys that come after each query": Hint(
        nudge="Draw it for 3 queries and 7 keys. At which position does query 0 stand? The notebook has the picture "
        "in 'Many queries: the causal mask'.",
        idea="A key is hidden if its number is larger than the position of the query. The queries are the last L_q "
        "positions, so query i stands at L_kv - L_q + i. Compare a column of positions with a row of key numbers: "
        "that gives a table of True and False. Hidden scores become -∞, for exp(-∞) = 0: such a key gets no weight.",
        pseudocode="1. position of query i = L_kv - L_q + i, for i = 0 ... L_q - 1: (L_q). Make it on q's device\n"
        "2. key numbers j = 0 ... L_kv - 1: (L_kv)\n"
        "3. hidden[i, j] = (j > position of i): the positions as a column against the key numbers as a row, (L_q, "
        "L_kv)\n"
        "4. scores = scores with -∞ filled in where hidden (keep the result: the fill gives a new tensor)",
    ),
    "the LSE and the output": Hint(
        nudge="Which function of 'Four pieces of PyTorch' gives the logarithm of a sum of exp without overflow? And "
        "what are the weights, written with that number?",
        idea="The LSE of a row is the log of its softmax denominator. So exp(score - LSE) is the weight: no second "
        "sum is needed, and the exponent is never above 0. The output is the mean of the values with these weights, "
        "a matrix product over the keys.",
        pseudocode="1. lse[i] = log Σⱼ exp(scores[i, j]), over the keys, which are the last dimension: (B, H, L_q). "
        "Use the ready-made function, which takes the maximum out first\n"
        "2. weights[i, j] = exp(scores[i, j] - lse[i]): give lse one more dimension at the end, so that it lines up "
        "with the rows\n"
        "3. out = matrix product of weights and v: (B, H, L_q, D)",
    ),
    "append to the cache and attend to the part in use": Hint(
        nudge="With `length` positions in use, which number has the first free one? And how many are in use after "
        "you have filled it?",
        idea="The new token is part of what its own query sees, so store first and attend afterwards. Write into "
        "the given caches, into one position, for all sequences of the batch. Read only what is in use: the rest is "
        "garbage. With one query, standing at the last position, no mask is needed.",
        pseudocode="1. key cache at position `length`, all sequences ← the new key without its dimension of "
        "positions: (B, H, D)\n"
        "2. value cache at the same position ← the new value, in the same way\n"
        "3. length ← length + 1\n"
        "4. (out, lse) = your attention of q with positions 0 ... length - 1 of both caches (a slice, all "
        "sequences)",
    ),
}
