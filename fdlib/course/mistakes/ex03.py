"""Known mistakes of exercise 03, all of them; those of the update and of the end are here."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake
from fdlib.course.mistakes.ex03_loads import LOAD_MISTAKES
from fdlib.course.mistakes.ex03_scores import SCORE_MISTAKES

__all__ = ["MISTAKES"]

_P, _ALPHA = "tl.exp(qk - m_safe[:, None])", "tl.exp(m_i - m_safe)"
_MAX = "tl.maximum(m_i, tl.max(qk, 1))"
_SAFE = 'tl.where(m_new == float("-inf"), 0.0, m_new)'
_OUT, _LSE = "acc / l_safe[:, None]", "m_i + tl.log(l_safe)"
_UPDATE, _CORRECTION = "Tiling: the loop of notebook 02, with tiles", "02: The correction factor"

MISTAKES = (
    *LOAD_MISTAKES,
    *SCORE_MISTAKES,
    Mistake(
        name="powers-of-2",
        check="one-block",
        edits=((_ALPHA, "tl.exp2(m_i - m_safe)"), (_P, "tl.exp2(qk - m_safe[:, None])")),
        says="the weights are powers of 2, of scores that are meant for e",
        why="2 to the x is less steep than e to the x: keys that fit badly get too much weight. Powers of 2 need "
        "scores that were multiplied with log₂e first.",
        read="Reductions, `exp`, `log`, casts",
    ),
    Mistake(
        name="question-to-a-block",
        check="one-block",
        edits=((_SAFE, 'm_new if m_new != float("-inf") else tl.zeros_like(m_new)'),),
        says="one yes or no is asked of a whole block",
        why="A block holds an answer for each element. The interpreter takes it for yes, whatever it holds: an `if` "
        "takes its branch for all rows, and `and` drops its left side. Compiled, it is an error, or another result.",
        read="Two axes: `[:, None]`, and `tl.where`",
    ),
    Mistake(
        name="sum-over-the-tile",
        check="one-block",
        edits=(("tl.sum(p, 1)", "tl.sum(p)"),),
        says="the sum runs over all queries of the block as well",
        why="Each row of the tile is a softmax of its own. The sum has to fold the keys away and keep one number for "
        "each query.",
        read="Reductions, `exp`, `log`, casts",
    ),
    Mistake(
        name="alpha-upside-down",
        check="one-block",
        edits=((_ALPHA, "tl.exp(m_safe - m_i)"),),
        says="alpha is the inverse of what it should be",
        why="When the maximum rises, the old sums shrink beside the new terms: alpha lies between 0 and 1. With the "
        "other sign the first block already gives exp(∞) · 0, which is NaN.",
        read=_CORRECTION,
    ),
    Mistake(
        name="maximum-not-kept",
        check="one-block",
        edits=(("m_i = m_new", "m_i = m_i"),),
        says="the running maximum is never updated",
        why="It stays at -∞, so alpha is 0 in every round and throws away what was gathered. The LSE, which adds the "
        "maximum, is -∞. The last thing that a round does is to keep the new maximum.",
        read="I see this error",
    ),
    Mistake(
        name="nothing-rescaled",
        check="many-blocks",
        edits=((_ALPHA, "tl.exp(m_new - m_safe)"),),
        says="neither the old sum nor the old accumulator is rescaled",
        why="Old terms were measured against the old maximum, new ones against the new. It happens when alpha is left "
        "out, and also when m_i is overwritten before alpha is made from it: then alpha is exp(0) = 1.",
        read=_CORRECTION,
    ),
    Mistake(
        name="sum-not-rescaled",
        check="many-blocks",
        edits=(("l_i * alpha + ", "l_i + "),),
        says="the sum is not rescaled after a new maximum",
        why="The old terms in l were measured against a smaller maximum, so they count too much: the LSE is too large "
        "and the output too small. With one block, or the largest score in the first, it does not show.",
        read=_CORRECTION,
    ),
    Mistake(
        name="acc-not-rescaled",
        check="many-blocks",
        edits=(("acc * alpha[:, None] + ", "acc + "),),
        says="the accumulator is not rescaled after a new maximum",
        why="The LSE is right and the output is not: acc holds old keys in the unit of the old maximum, and they "
        "count too much. With one block, or the largest score in the first, it does not show.",
        read=_CORRECTION,
    ),
    Mistake(
        name="old-sums-dropped",
        check="many-blocks",
        edits=(("l_i * alpha + ", ""), ("acc * alpha[:, None] + ", "")),
        says="only the last block counts, and what was gathered before is dropped",
        why="l and acc are running sums: the corrected old value plus what this block adds. Without the old part, "
        "each round begins anew.",
        read="Loops and running values",
    ),
    Mistake(
        name="block-terms-against-own-maximum",
        check="many-blocks",
        edits=((_P, "tl.exp(qk - tl.max(qk, 1)[:, None])"),),
        says="the terms of a block are measured against the largest score of that block",
        why="They must be measured against the same maximum as the corrected old sums. A block without a new maximum "
        "then counts too much: its best key gets the term 1, however far it is from the best so far.",
        read=_CORRECTION,
    ),
    Mistake(
        name="divided-in-every-round",
        check="many-blocks",
        edits=(("m_i = m_new", "m_i = m_new\n        acc = acc / l_i[:, None]"), (_OUT, "acc")),
        says="the accumulator is divided by l in every round",
        why="After the first division acc is no longer in the unit of l, and the next block is added to it in another "
        "one. Divide once, after the loop.",
        read="Check yourself",
    ),
    Mistake(
        name="normalised-by-the-block",
        check="many-blocks",
        edits=(("p.to(v.dtype)", "(p / tl.sum(p, 1)[:, None]).to(v.dtype)"), (_OUT, "acc")),
        says="the weights of each block are divided by that block's own sum",
        why="Every block then hands over a whole mean, whether its keys fit well or badly. The weights of a row have "
        "to share one sum, that over all blocks, and it is known only after the loop.",
        read=_UPDATE,
    ),
    Mistake(
        name="maximum-from-0",
        check="large-scores",
        edits=((_MAX, "tl.maximum(tl.maximum(m_i, 0.0), tl.max(qk, 1))"),),
        says="the running maximum never falls below 0",
        why="On paper any number may be taken from all scores. With scores near -200 and a maximum of 0 every term is "
        "exp(-200), which float32 rounds to 0: the row looks empty.",
        read="02: Why a maximum is needed: overflow",
    ),
    Mistake(
        name="maximum-held-above-minus-1000",
        check="large-scores",
        edits=((_SAFE, "tl.maximum(m_new, -1000.0)"),),
        says="what is taken from the scores is never below -1000",
        why="It saves a row that has seen nothing from NaN, and loses a row whose real scores lie below -1000: all its "
        "terms are 0 in float32. Only -∞ itself needs a stand-in.",
        read="02: Rows that see no key",
    ),
    Mistake(
        name="maximum-of-the-tile",
        check="large-scores",
        edits=(("tl.max(qk, 1)", "tl.max(qk)"),),
        says="all queries of a block share one maximum",
        why="The rows past the last query have scores of 0. Near -200 that is far above the real ones, whose terms "
        "all become 0. Each row of the tile needs its own maximum, over its keys.",
        read="Reductions, `exp`, `log`, casts",
    ),
    Mistake(
        name="maximum-of-the-block",
        check="large-scores",
        edits=((_MAX, "tl.max(qk, 1)"),),
        says="the new maximum is that of the block alone",
        why="It has to be the largest of all scores so far. A block that is wholly hidden has the maximum -∞, and the "
        "row forgets that it ever saw a key.",
        read=_UPDATE,
    ),
    Mistake(
        name="inf-minus-inf",
        check="empty-rows",
        edits=((_SAFE, "m_new"),),
        says="-∞ is taken from -∞ in rows that have seen no key",
        why="That is NaN, and NaN never leaves a sum again. Such a row needs another number to subtract, one with "
        "which every term is 0.",
        read="02: Rows that see no key",
    ),
    Mistake(
        name="not-divided",
        check="one-block",
        edits=((_OUT, "acc"),),
        says="the accumulator is not divided by l",
        why="The weights in acc sum to l, not to 1: the best key alone has the weight 1. The output is the mean of "
        "the values, so one division is due after the loop.",
        read=_UPDATE,
    ),
    Mistake(
        name="divided-twice",
        check="one-block",
        edits=((_OUT, f"{_OUT} / l_safe[:, None]"),),
        says="the accumulator is divided by l twice",
        why="One division makes the weights sum to 1. A second makes every output too small by another factor l.",
        read=_UPDATE,
    ),
    Mistake(
        name="zero-by-zero",
        check="empty-rows",
        edits=(("tl.where(l_i == 0.0, 1.0, l_i)", "l_i"),),
        says="a row without keys divides 0 by 0",
        why="0 / 0 is NaN. The acc of such a row is 0 already; divided by any number other than 0 it stays 0, as it "
        "should.",
        read="02: Rows that see no key",
    ),
    Mistake(
        name="lse-forgets-the-maximum",
        check="one-block",
        edits=((_LSE, "tl.log(l_safe)"),),
        says="the LSE is log(l), without the maximum",
        why="l is the sum in units of exp(m): its logarithm is too small by m. The output does not need m, so only "
        "the LSE shows it.",
        read="02: LSE: all that must be remembered",
    ),
    Mistake(
        name="lse-is-the-maximum",
        check="one-block",
        edits=((_LSE, "m_i"),),
        says="the LSE is the maximum alone",
        why="The largest score is one term of the sum. The others add log(l), up to the logarithm of the number of "
        "keys.",
        read="02: LSE: all that must be remembered",
    ),
    Mistake(
        name="lse-mixes-bases",
        check="one-block",
        edits=(("tl.log(l_safe)", "tl.log2(l_safe)"),),
        says="log(l) is taken in base 2 and added to a natural maximum",
        why="The scores are exponents of e, so the maximum is on the natural scale. Two bases in one sum give a "
        "number that belongs to neither.",
        read="02: LSE: all that must be remembered",
    ),
    Mistake(
        name="weights-summed-in-float16",
        check="float16",
        edits=(("tl.sum(p, 1)", "tl.sum(p.to(v.dtype), 1)"),),
        says="the weights are rounded to float16 before they are summed",
        why="The sum stays in registers, so nothing asks for the cast. Where many keys have one weight, all are "
        "rounded the same way and the error does not average out.",
        read="Reductions, `exp`, `log`, casts",
    ),
    Mistake(
        name="acc-in-float16",
        check="float16",
        edits=(("acc * alpha[:, None] + ", "acc.to(v.dtype) * alpha[:, None] + "),),
        says="the accumulator is rounded to float16 before it is divided by l",
        why="acc is a sum over all keys. float16 ends at 65504, and 90 values in the thousands go beyond it, though "
        "their mean does not. Only the finished output may be cast.",
        read="Reductions, `exp`, `log`, casts",
    ),
)
