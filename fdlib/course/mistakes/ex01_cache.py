"""Known mistakes of exercise 01 in a step of decoding: what is written into the cache, and what is read."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["CACHE_MISTAKES"]

_PUT_K, _PUT_V = "k_cache[:, length] = k_new[:, 0]", "v_cache[:, length] = v_new[:, 0]"
_IN_USE = "k_cache[:, :length], v_cache[:, :length]"

CACHE_MISTAKES = (
    Mistake(
        name="length-not-increased",
        check="cache-write",
        edits=(
            ("length = length + 1", "end = length + 1"),
            (_IN_USE, _IN_USE.replace("th]", "th + 1]")),
        ),
        says="the length is returned as it came",
        why="One more position is in use after the step. The next step would write over this token, and the model "
        "forgets what it has just said.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="cache-copied",
        check="cache-write",
        edits=((_PUT_K, f"k_cache, v_cache = k_cache.clone(), v_cache.clone()\n    {_PUT_K}"),),
        says="the step writes into a copy and leaves the caches that it got unchanged",
        why="Whoever called the step keeps the tensors that went in, and finds nothing new there at the next step. "
        "Copying a whole cache for each token would also cost more than reading it.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="cache-one-too-late",
        check="cache-write",
        edits=(
            ("k_cache[:, length] =", "k_cache[:, length + 1] ="),
            ("v_cache[:, length] =", "v_cache[:, length + 1] ="),
        ),
        says="the new token is stored one position too late",
        why="Positions count from 0: with `length` of them in use, the first free one is number `length`. One later "
        "leaves a hole of garbage, and the new token lies outside the part that is read.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="cache-one-too-early",
        check="cache-write",
        edits=(
            ("k_cache[:, length] =", "k_cache[:, length - 1] ="),
            ("v_cache[:, length] =", "v_cache[:, length - 1] ="),
        ),
        says="the new token is stored over the last one",
        why="Positions count from 0: with `length` of them in use, the last one is number length - 1, and it holds "
        "the token before. The first free one is number `length`.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="cache-first-sequence-only",
        check="cache-write",
        edits=(
            (_PUT_K, "k_cache[0, length] = k_new[0, 0]"),
            (_PUT_V, "v_cache[0, length] = v_new[0, 0]"),
        ),
        says="only the first sequence of the batch is stored",
        why="Each sequence of the batch has a new token of its own. The others keep garbage at their new position. A "
        "batch of 1 hides this.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="cache-first-token-for-all",
        check="cache-write",
        edits=(
            (_PUT_K, "k_cache[:, length] = k_new[0, 0]"),
            (_PUT_V, "v_cache[:, length] = v_new[0, 0]"),
        ),
        says="the new token of the first sequence is stored in every sequence",
        why="Each sequence of the batch has a new token of its own. Drop the dimension of positions, which has length "
        "1, and keep that of the batch.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="cache-rest-overwritten",
        check="cache-write",
        edits=((_PUT_K, "k_cache[:, length:] = k_new"), (_PUT_V, "v_cache[:, length:] = v_new")),
        says="the new token is stored at every free position",
        why="A slice without an end goes to the end of the cache, and the one new token is repeated over all of it. "
        "The step owns one position; what lies behind may be in other hands.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="key-stored-as-value",
        check="cache-write",
        edits=((_PUT_V, "v_cache[:, length] = k_new[:, 0]"),),
        says="the new key is stored in the cache of the values",
        why="The two lines look alike, and both tensors have the same shape, so nothing complains. From then on this "
        "token hands over its key instead of its value.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="key-and-value-exchanged",
        check="cache-write",
        edits=(
            (_PUT_K, "k_cache[:, length] = v_new[:, 0]"),
            (_PUT_V, "v_cache[:, length] = k_new[:, 0]"),
        ),
        says="the new key and the new value go into each other's cache",
        why="Both have the same shape, so nothing complains. From then on this token is compared by its value and "
        "hands over its key.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="new-token-left-out",
        check="decode",
        edits=((_IN_USE, _IN_USE.replace("th]", "th - 1]")),),
        says="the new token is stored but not attended to",
        why="A token sees itself. After the write one more position is in use, and the slice has to reach it. In the "
        "very first step nothing else is there: without the new token the softmax has no key.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="step-scaled-by-4",
        check="decode",
        edits=(("attention(q, ", "attention(q * math.sqrt(q.shape[-1]) / 4, "),),
        says="the scores of a step are divided by 4, whatever D is",
        why="4 is √16, right for heads of 16 numbers and for no others. A dot product of D numbers grows with √D, so "
        "the scale has to come from the shape of q.",
        read="The formula",
    ),
    Mistake(
        name="new-token-twice",
        check="decode",
        edits=(
            (
                _IN_USE,
                "torch.cat([k_cache[:, :length], k_new], 1), torch.cat([v_cache[:, :length], v_new], 1)",
            ),
        ),
        says="the new token counts twice",
        why="It stands in the cache already; joined on once more it has two places in the softmax. In the first step "
        "the output looks right and the LSE is too large by log 2.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="new-token-alone",
        check="decode",
        edits=((_IN_USE, "k_new, v_new"),),
        says="the query sees only the new token",
        why="The cache is there so that the query can look back at every token so far. With one key the weight is 1, "
        "and the output is the new value, whatever was said before.",
        read="Never compute the past twice: the KV cache",
    ),
    Mistake(
        name="unused-part-read",
        check="decode",
        edits=((_IN_USE, "k_cache, v_cache"),),
        says="more of the cache is read than is in use",
        why="Behind the part in use lies garbage, here NaN, and one NaN among the scores makes the whole row NaN. In "
        "real life garbage is a plausible number, and the answer is wrong without a sign.",
        read="Never compute the past twice: the KV cache",
    ),
)
