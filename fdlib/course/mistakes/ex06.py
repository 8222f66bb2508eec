"""Known mistakes of exercise 06, second half: the combine kernel and Flash-Decoding."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake
from fdlib.course.mistakes.ex06_merge import MERGE_MISTAKES

__all__ = ["MISTAKES"]

_OUT = "tl.sum(weights[:, None] * parts, 0) / total_safe"
_LSE = 'lse = tl.where(total == 0.0, float("-inf"), m + tl.log(total_safe))'
_NO_INF = 'm = tl.where(m == float("-inf"), 0.0, m)'

MISTAKES = (
    *MERGE_MISTAKES,
    Mistake(
        name="places-left-over-hold-0",
        check="combine",
        edits=(('mask=in_splits, other=float("-inf")', "mask=in_splits, other=0.0"),),
        says="the places without a split count as parts with LSE 0",
        why="3 splits lie in 4 places, and e⁰ = 1 is counted for the fourth. With LSEs near 5 you hardly see it, near "
        "-200 it is all you see.",
        read="The Triton that exercise 06 needs",
    ),
    Mistake(
        name="lses-past-the-end",
        check="combine",
        edits=(('tl.load(lse_ptrs, mask=in_splits, other=float("-inf"))', "tl.load(lse_ptrs)"),),
        says="LSEs are read where there is no split",
        why="3 splits need 4 places, because a range has a power of two of them. What lies behind the last split in "
        "memory belongs to somebody else; here it is NaN. A place without a split must look like a part without "
        "keys.",
        read="The Triton that exercise 06 needs",
    ),
    Mistake(
        name="parts-past-the-end",
        check="combine",
        edits=(("tl.load(part_ptrs, mask=in_splits[:, None], other=0.0)", "tl.load(part_ptrs)"),),
        says="partial outputs are read where there is no split",
        why="Their weight is 0, but what lies there may be NaN or infinite, and 0 times NaN is NaN. Only a place that "
        "holds a plain number can be weighed with 0.",
        read="The Triton that exercise 06 needs",
    ),
    Mistake(
        name="averaged",
        check="combine",
        edits=((_OUT, "tl.sum(parts, 0) / num_splits"),),
        says="the kernel takes the mean of the parts",
        why="That is right only if all parts have the same LSE. Random keys come close to that, real heads do not: a "
        "head that looks at one token has nearly all its weight in one part.",
        read="Averaged",
    ),
    Mistake(
        name="divided-by-the-splits",
        check="combine",
        edits=((_OUT, "tl.sum(weights[:, None] * parts, 0) / num_splits"),),
        says="the weighted sum is divided by the number of splits",
        why="The weights are counted from the largest LSE: they add up to S only if all parts weigh the same. What "
        "they really add up to is what you have to divide by.",
        read="Averaged",
    ),
    Mistake(
        name="normalised-twice",
        check="combine",
        edits=((_OUT, "tl.sum(weights[:, None] * parts, 0) / total_safe / total_safe"),),
        says="the weighted sum is divided twice by the sum of the weights",
        why="Once is enough: then the weights add up to 1. The second division makes all numbers of a row too small "
        "by one factor, between 1 and the number of splits.",
        read="Normalised twice",
    ),
    Mistake(
        name="not-divided",
        check="combine",
        edits=((_OUT, "tl.sum(weights[:, None] * parts, 0)"),),
        says="the kernel does not divide by the sum of the weights",
        why="With the maximum subtracted the largest weight is 1, and the sum of the weights lies between 1 and the "
        "number of splits. The output is too large by that sum. One split alone hides it.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="powers-of-2",
        check="combine",
        edits=(("tl.exp(lse_parts - m)", "tl.exp2(lse_parts - m)"),),
        says="the kernel weighs with powers of 2, though the LSEs are natural logs",
        why="2ˣ undoes a logarithm in base 2, and these are in base e. The weights come out too equal: LSE 3 against "
        "LSE 1 is 7.4 to 1, and you get 4 to 1.",
        read="LSE in the wrong base",
    ),
    Mistake(
        name="lse-is-the-maximum",
        check="combine",
        edits=((_LSE, "lse = tl.max(lse_parts, 0)"),),
        says="the combined LSE is the largest LSE of the parts",
        why="It counts the keys of the best part only. Ten equal parts have ten times the sum of exponentials, so "
        "their LSE is ln 10 = 2.3 more. With one split you see no difference.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="lses-added",
        check="combine",
        edits=((_LSE, "lse = tl.sum(tl.where(in_splits, lse_parts, 0.0), 0)"),),
        says="the combined LSE is the sum of the LSEs",
        why="Adding logarithms multiplies what is under them. It is the sums of exponentials that add up: ten parts "
        "with LSE 9 have LSE 11.3 together, not 90.",
        read="05: By hand: 100,000 keys, ten workers",
    ),
    Mistake(
        name="lses-averaged",
        check="combine",
        edits=((_LSE, "lse = tl.sum(tl.where(in_splits, lse_parts, 0.0), 0) / num_splits"),),
        says="the combined LSE is the mean of the LSEs",
        why="All keys together have a larger sum of exponentials than any part, so the LSE is never below the largest "
        "one. A mean is never above it.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="lse-without-the-maximum",
        check="combine",
        edits=((_LSE, _LSE.replace("m + ", "")),),
        says="the maximum is not added back to the combined LSE",
        why="The weights were counted from the maximum, so the log of their sum is too. It lies between 0 and ln S, "
        "whatever the scores are, until the maximum is added back.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="lse-with-log2",
        check="combine",
        edits=((_LSE, _LSE.replace("tl.log(", "tl.log2(")),),
        says="the log of the sum is taken in base 2, while the LSEs of the parts are natural logs",
        why="The LSEs are natural logs and the weights are powers of e. A log in base 2 makes its part of the LSE "
        "1.44 times too large. With one split that part is 0, so nothing shows.",
        read="LSE in the wrong base",
    ),
    Mistake(
        name="overflows",
        check="combine-extremes",
        edits=((_NO_INF, "m = 0.0 * tl.sum(in_splits.to(tl.float32), 0)"),),
        says="the kernel takes exp of the LSEs themselves",
        why="float32 ends near e⁸⁸. LSEs near 200 are infinite after exp, and near -200 they are 0. Subtract the "
        "largest LSE first: the ratio stays the same, and no exponent is above 0.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="overflows-unguarded",
        check="combine-extremes",
        edits=(
            ("tl.exp(lse_parts - m)", "tl.exp(lse_parts)"),
            (_OUT, "tl.sum(weights[:, None] * parts, 0) / total"),
            (_LSE, "lse = tl.log(total)"),
        ),
        says="the kernel takes exp of the LSEs themselves",
        why="float32 ends near e⁸⁸. LSEs near 200 are infinite after exp, and ∞ / ∞ is NaN; near -200 they are 0, and "
        "0 / 0 is NaN. Subtract the largest LSE first: the ratio stays the same.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="inf-minus-inf",
        check="combine-extremes",
        edits=((_NO_INF, "m = m"),),
        says="the kernel subtracts -∞ from -∞ when no part saw a key",
        why="The largest of nothing but -∞ is -∞, and -∞ - (-∞) is not a number. If nobody saw a key, any finite "
        "number may be subtracted: the weights are 0 either way.",
        read="NaN from empty splits",
    ),
    Mistake(
        name="nothing-by-nothing",
        check="combine-extremes",
        edits=(("tl.where(total == 0.0, 1.0, total)", "total"),),
        says="the kernel divides 0 by 0 when no part saw a key",
        why="All weights are 0 then, and so is their sum. 0 / 0 is NaN; the answer has to be 0, so divide by any "
        "number that is not 0.",
        read="NaN from empty splits",
    ),
    Mistake(
        name="last-split-dropped",
        check="flash-decode",
        edits=(
            ("combine(out_partial, lse_partial,", "combine(out_partial[:-1], lse_partial[:-1],"),
        ),
        says="the last split is not combined",
        why="Every key is in exactly one split, so every split counts. The last one holds the newest tokens, which "
        "often matter most. With an empty last split you would not notice.",
        read="The complete Flash-Decoding",
    ),
    Mistake(
        name="k-and-v-exchanged",
        check="flash-decode",
        edits=(("split_kv(q, k, v, num_splits)", "split_kv(q, v, k, num_splits)"),),
        says="keys and values change places on the way to split_kv",
        why="The scores are then taken with the values, and the weights mix the keys. All shapes fit, so nothing "
        "stops. The arguments go by their order: q, k, v, number of splits.",
        read="01: The formula",
    ),
    Mistake(
        name="not-in-q-dtype",
        check="flash-decode",
        edits=(("dtype=q.dtype", "dtype=torch.float32"),),
        says="out stays float32 whatever q is",
        why="The parts are float32 so that nothing is lost on the way, but the answer goes back into a model that "
        "counts in q's dtype. combine makes float32 unless it is told otherwise.",
        read="The complete Flash-Decoding",
    ),
    Mistake(
        name="rounded-early",
        check="own-split-kv",
        edits=(
            ("combine(out_partial, lse_partial,", "combine(out_partial.to(q.dtype), lse_partial,"),
        ),
        says="the parts are rounded to q's dtype before they are combined",
        why="float16 keeps 11 significant bits. Where parts nearly cancel, their rounding errors are larger than what "
        "is left of them. Combine in float32, and round the answer once.",
        read="The complete Flash-Decoding",
    ),
)
