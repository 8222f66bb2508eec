"""Known mistakes of exercise 05, second half: the update and the partial output."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake
from fdlib.course.mistakes.ex05_programs import PROGRAM_MISTAKES

__all__ = ["MISTAKES"]

_MAX = "tl.maximum(m_i, tl.max(qk, 0))"
_LSE = 'lse = tl.where(l_i == 0.0, float("-inf"), m_i + tl.log(l_safe))'

MISTAKES = (
    *PROGRAM_MISTAKES,
    Mistake(
        name="scale-missing",
        check="one-split",
        edits=((", 1) * scale", ", 1)"),),
        says="the scores are not multiplied by scale",
        why="Without 1/√D the scores of 16 dimensions are 4 times too large, and the softmax nearly always picks one "
        "key. It grows with √D.",
        read="01: The formula",
    ),
    Mistake(
        name="tail-not-hidden",
        check="one-split",
        edits=(('tl.where(in_keys, qk, float("-inf"))', "qk"),),
        says="the places past the last key count as keys with a score of 0",
        why="The load fills them with zeros, so their score is 0, and e⁰ = 1 goes into the sum. A place without a key "
        "must weigh nothing. Lengths that are multiples of the block hide this.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="tail-in-the-maximum",
        check="large-scores",
        edits=(
            ('tl.where(in_keys, qk, float("-inf"))', "qk"),
            ("p = tl.exp(qk - m_new)", "p = tl.where(in_keys, tl.exp(qk - m_new), 0.0)"),
        ),
        says="the places past the last key are hidden only after the maximum was taken",
        why="Their score of 0 becomes the maximum when all real scores are near -200. Then every real weight is "
        "e⁻²⁰⁰, which float32 rounds to 0: the split looks empty.",
        read="02: Why a maximum is needed: overflow",
    ),
    Mistake(
        name="maximum-from-0",
        check="large-scores",
        edits=((_MAX, "tl.maximum(tl.maximum(m_i, 0.0), tl.max(qk, 0))"),),
        says="the running maximum never falls below 0",
        why="Subtracting any number gives the same softmax, on paper. With scores near -200 a maximum of 0 leaves "
        "weights of e⁻²⁰⁰, which float32 rounds to 0. The maximum starts below every score.",
        read="02: Why a maximum is needed: overflow",
    ),
    Mistake(
        name="maximum-not-kept",
        check="one-split",
        edits=(("m_i = m_new", "m_i = m_i"),),
        says="the running maximum is never updated",
        why="It stays at -∞. So each block throws away what was gathered before it, and the LSE, which adds the "
        "maximum, is -∞ too.",
        read="02: The correction factor",
    ),
    Mistake(
        name="acc-not-rescaled",
        check="one-split",
        edits=(("acc * alpha + ", "acc + "),),
        says="acc is not rescaled after a new maximum",
        why="acc was summed with weights that were measured against the old maximum. When the maximum rises by 5, "
        "they are e⁵ = 148 times too large beside the new ones. A single block cannot show it.",
        read="02: The correction factor",
    ),
    Mistake(
        name="sum-not-rescaled",
        check="one-split",
        edits=(("l_i * alpha + ", "l_i + "),),
        says="the running sum is not rescaled after a new maximum",
        why="The sum and acc have to be measured against the same maximum, or their quotient means nothing. Out comes "
        "out too small and the LSE too large, from the second block on.",
        read="02: The correction factor",
    ),
    Mistake(
        name="nothing-rescaled",
        check="one-split",
        edits=(("alpha = tl.exp(m_i - m_new)", "alpha = 1.0"),),
        says="neither the sum nor acc is rescaled after a new maximum",
        why="This also happens when the running maximum is replaced before the correction factor is computed: the "
        "difference is then 0 and the factor 1. Old maximum and new one are both needed.",
        read="02: The correction factor",
    ),
    Mistake(
        name="weights-against-the-old-maximum",
        check="one-split",
        edits=(("p = tl.exp(qk - m_new)", "p = tl.exp(qk - m_i)"),),
        says="the weights of a block are measured against the maximum of the blocks before it",
        why="Before the first block that maximum is -∞, and the weights are infinite. Once a block's scores are "
        "known, the new maximum covers them all, and no weight is larger than 1.",
        read="02: The correction factor",
    ),
    Mistake(
        name="correction-upside-down",
        check="one-split",
        edits=(("tl.exp(m_i - m_new)", "tl.exp(m_new - m_i)"),),
        says="the correction factor has old and new maximum exchanged",
        why="When the maximum rises, what was gathered before has to shrink: the factor lies between 0 and 1. The "
        "other way round it grows, and on the first block, where the old maximum is -∞, it is infinite.",
        read="02: The correction factor",
    ),
    Mistake(
        name="all-in-base-2",
        check="one-split",
        edits=(
            (", 1) * scale", ", 1) * (scale * 1.4426950408889634)"),
            ("tl.exp(m_i - m_new)", "tl.exp2(m_i - m_new)"),
            ("tl.exp(qk - m_new)", "tl.exp2(qk - m_new)"),
            ("tl.log(l_safe)", "tl.log2(l_safe)"),
        ),
        says="the LSE leaves the kernel in base 2",
        why="The output does not mind the base, the LSE does: it is too large by 1/ln 2 = 1.4427. The combine takes "
        "it for a natural log, and large parts get too much weight.",
        read="06: LSE in the wrong base",
    ),
    Mistake(
        name="lse-with-log2",
        check="one-split",
        edits=(("tl.log(l_safe)", "tl.log2(l_safe)"),),
        says="the log of the sum is taken in base 2, while the scores are in base e",
        why="The LSE undoes the exponentials, so log and exp need the same base. Here they are exp and the natural "
        "log. The error is small when one key dominates, and grows with the number of keys.",
        read="06: LSE in the wrong base",
    ),
    Mistake(
        name="powers-of-2",
        check="one-split",
        edits=(
            ("tl.exp(m_i - m_new)", "tl.exp2(m_i - m_new)"),
            ("tl.exp(qk - m_new)", "tl.exp2(qk - m_new)"),
        ),
        says="the weights are powers of 2 of the scores, not of e",
        why="2ˣ is not eˣ. A kernel may use powers of 2 if it first multiplies the scores by log₂ e = 1.4427; without "
        "that the softmax is too flat.",
        read="06: LSE in the wrong base",
    ),
    Mistake(
        name="lse-without-the-maximum",
        check="one-split",
        edits=((_LSE, _LSE.replace("m_i + ", "")),),
        says="the LSE is the log of the sum alone",
        why="The sum was counted from the split's own maximum. Without adding it back, the LSEs of two splits cannot "
        "be compared, and a split with large scores gets no more weight than any other.",
        read="By hand: 100,000 keys, ten workers",
    ),
    Mistake(
        name="lse-is-the-maximum",
        check="one-split",
        edits=((_LSE, _LSE.replace(" + tl.log(l_safe)", "")),),
        says="the LSE is the maximum alone",
        why="Two splits with the same best score would weigh the same, though one may have a hundred keys near it and "
        "the other none. The log of the sum tells them apart. With one key it is 0.",
        read="By hand: 100,000 keys, ten workers",
    ),
    Mistake(
        name="not-divided",
        check="one-split",
        edits=(("out = acc / l_safe", "out = acc"),),
        says="the partial output is not divided by the sum",
        why="acc is counted from this split's own maximum, and nobody else knows it. Divided by its own sum the part "
        "is attention over its own keys, and the combine can weigh it.",
        read="Why a partial output is divided by its own sum",
    ),
    Mistake(
        name="divided-by-the-splits",
        check="several-splits",
        edits=(("out = acc / l_safe", "out = acc / l_safe / num_splits"),),
        says="each part is divided by the number of splits as well",
        why="The parts do not weigh 1/S each: one part may hold nearly the whole softmax. How much a part weighs "
        "follows from its LSE, and the combine sees to it.",
        read="Why a partial output is divided by its own sum",
    ),
    Mistake(
        name="nothing-by-nothing",
        check="empty-splits",
        edits=(("tl.where(l_i == 0.0, 1.0, l_i)", "l_i"),),
        says="a split without keys divides 0 by 0",
        why="Its accumulator and its sum are both 0, and 0 / 0 is NaN. The combine gives it the weight 0, but 0 times "
        "NaN is NaN: one empty split spoils the whole row.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="empty-lse-0",
        check="empty-splits",
        edits=((_LSE, _LSE.replace('float("-inf")', "0.0")),),
        says="a split without keys has LSE 0",
        why="e⁰ = 1, so it weighs as much as a key with score 0, though it has none. The log of nothing is -∞, and e "
        "to that is 0: such a part changes nothing.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="rounded-early",
        check="float16",
        edits=(("out = acc / l_safe", "out = (acc / l_safe).to(Q.dtype.element_ty)"),),
        says="the partial output is rounded to float16",
        why="It is not the last step. Parts may nearly cancel in the combine, and then their rounding errors are what "
        "is left. Round once, at the end.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="acc-in-float16",
        check="float16",
        edits=(
            (
                "acc = acc * alpha + tl.sum(p[:, None] * v, 0)",
                "acc = (acc * alpha + tl.sum(p[:, None] * v, 0)).to(Q.dtype.element_ty).to(tl.float32)",
            ),
        ),
        says="acc is rounded to float16 after every block",
        why="float16 keeps 11 significant bits, and each block adds another rounding error. Running values stay in "
        "float32.",
        read="The Triton that exercise 05 needs",
    ),
)
