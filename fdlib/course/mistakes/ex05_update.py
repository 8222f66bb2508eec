"""Known mistakes of exercise 05, fourth part: the scores and the online softmax update."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["UPDATE_MISTAKES"]

_MAX = "tl.maximum(m_i, tl.max(qk, 0))"

UPDATE_MISTAKES = (
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
        name="maximum-not-kept",
        check="one-split",
        edits=(("m_i = m_new", "m_i = m_i"),),
        says="the running maximum is never updated",
        why="It stays at -∞. So each block throws away what was gathered before it, and the LSE, which adds the "
        "maximum, is -∞ too.",
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
        name="scale-doubled",
        check="one-split",
        edits=((", 1) * scale", ", 1) * scale * scale"),),
        says="the scores are multiplied by scale twice",
        why="1/√D twice is 1/D: with 16 dimensions the scores are 4 times too small, and the softmax comes out too "
        "flat. q, k and scale reach the kernel as they are, so one factor is all it takes.",
        read="01: The formula",
    ),
    Mistake(
        name="scores-summed-over-keys",
        check="one-split",
        edits=(("tl.sum(q[None, :] * k, 1)", "tl.sum(q[None, :] * k, 0)"),),
        says="the products of q and k are summed over the keys, not over the dimensions",
        why="A score belongs to one key, so the sum runs along the dimensions of that key. Here the block is as long "
        "as head_dim, so the shapes fit and nothing stops. Write the shape beside each name.",
        read="Build: exercise 05",
    ),
    Mistake(
        name="values-summed-over-dimensions",
        check="one-split",
        edits=(("tl.sum(p[:, None] * v, 0)", "tl.sum(p[:, None] * v, 1)"),),
        says="the weighted values are summed over the dimensions, not over the keys",
        why="What is added to acc has one number per dimension: the sum runs over the keys. Here the block is as long "
        "as head_dim, so the shapes fit and nothing stops.",
        read="Build: exercise 05",
    ),
    Mistake(
        name="weights-along-the-dimensions",
        check="one-split",
        edits=(("p[:, None] * v", "p[None, :] * v"),),
        says="the weight of key j is multiplied with dimension j of every value",
        why="p has one number per key, and the keys are the rows of v. A plain product, or `[None, :]`, lays p along "
        "the dimensions. Here the block is as long as head_dim, so the shapes fit and nothing stops.",
        read="03: Two axes: `[:, None]`, and `tl.where`",
    ),
    Mistake(
        name="weights-along-and-summed-over-dimensions",
        check="one-split",
        edits=(("tl.sum(p[:, None] * v, 0)", "tl.sum(p[None, :] * v, 1)"),),
        says="the weights are laid along the dimensions of the values, and the dimensions are summed",
        why="p has one number per key, and the keys are the rows of v: a weight belongs to a whole row. What is added "
        "to acc has one number per dimension, so the sum runs over the keys.",
        read="03: Two axes: `[:, None]`, and `tl.where`",
    ),
    Mistake(
        name="weights-forgotten",
        check="one-split",
        edits=(("tl.sum(p[:, None] * v, 0)", "tl.sum(v, 0)"),),
        says="the values are added up without their weights",
        why="Every key counts the same then, whatever its score. Each value is multiplied with the weight of its own "
        "key.",
        read="02: The correction factor",
    ),
    Mistake(
        name="own-load-without-mask",
        check="one-split",
        edits=(
            (
                "tl.sum(q[None, :] * k, 1) * scale",
                "tl.sum(q[None, :] * tl.load(k_base + offs_n[:, None] * stride_kn + offs_d[None, :]), 1) * scale",
            ),
        ),
        says="a load of your own takes keys past the end, without a mask",
        why="The last block can reach past the last key, and what lies there is not the tensor's. k and v are loaded "
        "already, with a mask; a load of your own needs the same one.",
        read="03: Pointers, `tl.arange`, masks",
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
