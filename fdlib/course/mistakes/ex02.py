"""Known mistakes of exercise 02 in the update; those of the end stand in `ex02_finish.py`."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake
from fdlib.course.mistakes.ex02_finish import FINISH_MISTAKES

__all__ = ["MISTAKES"]

_MAX, _BLOCK_MAX = "torch.maximum(m, scores.amax(dim=-1))", "scores.amax(dim=-1)"
_SAFE = "torch.where(m_new == NEG_INF, 0.0, m_new)"
_ALPHA, _P = "torch.exp(m - m_safe)", "torch.exp(scores - m_safe[..., None])"
_L, _ACC = "l * alpha + p.sum(dim=-1)", "acc * alpha[..., None] + p @ v"

MISTAKES = (
    Mistake(
        name="maximum-from-0",
        check="first-block",
        edits=((_MAX, f"torch.maximum(m.clamp(min=0.0), {_BLOCK_MAX})"),),
        says="the running maximum starts at 0",
        why="On paper any number may be taken from all scores. With scores near -200 and a maximum of 0 every term is "
        "exp(-200), which float32 rounds to 0. Only -∞ is below every score.",
        read="Why a maximum is needed: overflow",
    ),
    Mistake(
        name="maximum-not-updated",
        check="first-block",
        edits=((_MAX, "m"),),
        says="the maximum stays as it was before the block",
        why="It has to be the largest score of old and new together. As it is, the new scores have no part in it: it "
        "stays at -∞, and the terms of the block are not held below 1.",
        read="The correction factor",
    ),
    Mistake(
        name="one-maximum-for-all-rows",
        check="first-block",
        edits=((_BLOCK_MAX, "scores.amax()"),),
        says="all rows share one maximum",
        why="A row's scores may lie far below those of another row. Measured against a maximum that is not their own, "
        "all their terms can become 0. So m has one entry for each row.",
        read="Six pieces of PyTorch",
    ),
    Mistake(
        name="scaled-again",
        check="first-block",
        edits=(("m_new = torch", "scores = scores / math.sqrt(v.shape[-1])\n    m_new = torch"),),
        says="the scores are divided by √D once more",
        why="The scores arrive already scaled. A second division makes them too small and the weights too equal.",
        read="Build: exercise 02",
    ),
    Mistake(
        name="powers-of-2",
        check="first-block",
        edits=((_ALPHA, "torch.exp2(m - m_safe)"), (_P, "torch.exp2(scores - m_safe[..., None])")),
        says="the weights are powers of 2, of scores that are meant for e",
        why="2 to the x is less steep than e to the x: keys that fit badly get too much weight. Kernels do use powers "
        "of 2, but then each score is multiplied with log₂e first.",
        read="The correction factor",
    ),
    Mistake(
        name="maximum-not-subtracted",
        check="first-block",
        edits=((_P, "torch.exp(scores)"),),
        says="the maximum is not taken from the scores of the block",
        why="l and acc are measured in units of exp(m). Terms that are not measured against m are in another unit, "
        "and they overflow at scores near 200.",
        read="Why a maximum is needed: overflow",
    ),
    Mistake(
        name="zero-below-zero",
        check="first-block",
        edits=((_SAFE, "m_new.clamp(min=0.0)"),),
        says="0 takes the place of every negative maximum, not only of -∞",
        why="0 is meant for rows that have seen nothing. A row with real scores near -200 then has terms of "
        "exp(-200), which float32 rounds to 0: l is 0 and the row is lost.",
        read="Rows that see no key",
    ),
    Mistake(
        name="maximum-held-above-minus-1000",
        check="first-block",
        edits=((_SAFE, "m_new.clamp(min=-1000.0)"),),
        says="what is taken from the scores is never below -1000",
        why="It saves a row that has seen nothing from NaN, and loses a row whose real scores lie below -1000: every "
        "term of it is 0 in float32, and so is l. Only -∞ itself needs a stand-in.",
        read="Rows that see no key",
    ),
    Mistake(
        name="divided-in-the-update",
        check="first-block",
        edits=((_ACC, f"({_ACC}) / l_new[..., None]"),),
        says="the accumulator is divided by l in the update",
        why="acc is the sum before the division; `finish` divides once, at the end. Divided here, it is in another "
        "unit than the next block expects, and is divided again later.",
        read="Three passes, two passes",
    ),
    Mistake(
        name="softmax-of-the-block",
        check="first-block",
        edits=((_P, "torch.softmax(scores, dim=-1)"),),
        says="each block gets a softmax of its own",
        why="The terms of a block then sum to 1, whether its keys fit well or badly, and l counts blocks. How much a "
        "block matters beside the others is lost.",
        read="The correction factor",
    ),
    Mistake(
        name="sum-over-all-rows",
        check="first-block",
        edits=(("p.sum(dim=-1)", "p.sum()"),),
        says="the sum runs over all rows",
        why="Each row is a softmax of its own and needs its own sum, over its keys only. A sum over everything is the "
        "same number for every row.",
        read="Six pieces of PyTorch",
    ),
    Mistake(
        name="alpha-on-the-new-terms",
        check="first-block",
        edits=((_L, "(l + p.sum(dim=-1)) * alpha"), (_ACC, "(acc + p @ v) * alpha[..., None]")),
        says="the new terms are multiplied with alpha too",
        why="alpha takes the old sums from the old maximum to the new one. The new terms are measured against the new "
        "maximum already. In the first block alpha is 0, and this wipes them out.",
        read="The correction factor",
    ),
    Mistake(
        name="alpha-upside-down",
        check="first-block",
        edits=((_ALPHA, "torch.exp(m_safe - m)"),),
        says="alpha is the inverse of what it should be",
        why="When the maximum rises, the old terms shrink beside it: alpha lies between 0 and 1. With the sign the "
        "other way it is at least 1, and in the first block exp(∞) · 0 is NaN.",
        read="The correction factor",
    ),
    Mistake(
        name="nothing-rescaled",
        check="correction",
        edits=((_ALPHA, "torch.exp(m_new - m_safe)"),),
        says="neither the old sum nor the old accumulator is rescaled",
        why="Then old and new terms are added in different units, as if meters and feet were added. It happens when "
        "alpha is left out, and also when m is overwritten before alpha is made: then alpha is exp(0) = 1.",
        read="The correction factor",
    ),
    Mistake(
        name="sum-not-rescaled",
        check="correction",
        edits=((_L, "l + p.sum(dim=-1)"),),
        says="the sum is not rescaled after a new maximum",
        why="The old l is in units of exp(old maximum), acc in units of exp(new maximum). l is too large, so every "
        "output is too small. Where the largest score comes first, alpha is 1 and it does not show.",
        read="The correction factor",
    ),
    Mistake(
        name="acc-not-rescaled",
        check="correction",
        edits=((_ACC, "acc + p @ v"),),
        says="the accumulator is not rescaled after a new maximum",
        why="acc was summed with weights measured against the old maximum; beside the new terms the old keys count "
        "too much. Where the largest score comes first, alpha is 1 and it does not show.",
        read="The correction factor",
    ),
    Mistake(
        name="old-sums-dropped",
        check="correction",
        edits=((_L, "p.sum(dim=-1)"), (_ACC, "p @ v")),
        says="only the new block counts, and what was gathered before is dropped",
        why="l and acc are running sums: the corrected old value plus what the block adds. Without the old part, the "
        "output is attention over the last block.",
        read="The correction factor",
    ),
    Mistake(
        name="maximum-of-the-block",
        check="correction",
        edits=((_MAX, _BLOCK_MAX),),
        says="the new maximum is that of the block alone",
        why="If an older score was larger, the maximum falls. Then alpha is above 1 and can overflow: the sums are in "
        "units of a score that has since been beaten. m_new is the largest of old and new together.",
        read="The correction factor",
    ),
    Mistake(
        name="block-terms-against-own-maximum",
        check="correction",
        edits=((_P, "torch.exp(scores - scores.amax(dim=-1, keepdim=True))"),),
        says="the new terms are measured against the largest score of their own block",
        why="They must be measured against the same maximum as the corrected old sums. It does not show while the "
        "maximum grows, for then the two agree. It shows in a block that brings no new maximum: it counts too much.",
        read="The correction factor",
    ),
    Mistake(
        name="block-terms-against-old-maximum",
        check="correction",
        edits=((_P, "torch.exp(scores - torch.where(m == NEG_INF, m_safe, m)[..., None])"),),
        says="the new terms are measured against the old maximum",
        why="The old sums are brought to the new maximum by alpha, so the new terms have to use it as well. Against "
        "the old one they exceed 1 whenever the maximum grows, and can overflow.",
        read="The correction factor",
    ),
    Mistake(
        name="inf-minus-inf",
        check="hidden-rows",
        edits=((_SAFE, "m_new"),),
        says="-∞ is taken from -∞ in rows that have seen no key",
        why="That is NaN, and a NaN never leaves a sum again: the row stays NaN even when real scores come. Such a "
        "row needs another number to subtract, one with which every term is 0.",
        read="Rows that see no key",
    ),
    Mistake(
        name="hidden-keys-count",
        check="hidden-rows",
        edits=(
            (_SAFE, "m_new"),
            (_ALPHA, "torch.exp((m - m_safe).nan_to_num(0.0))"),
            (_P, "torch.exp((scores - m_safe[..., None]).nan_to_num(0.0))"),
        ),
        says="NaN exponents are turned to 0, so that hidden keys count as 1 each",
        why="exp(0) is 1, so a row that has seen nothing gets l = number of keys instead of 0. It is the terms that "
        "have to be 0, not their exponents.",
        read="Rows that see no key",
    ),
    Mistake(
        name="zero-kept-as-maximum",
        check="hidden-rows",
        edits=(("m_safe = torch.where", "m_new = m_safe = torch.where"),),
        says="the stand-in 0 is returned as the maximum of a row that has seen no key",
        why="0 is for the exponents only. Kept as the maximum, it is above every score near -200 that comes later, "
        "and their terms all become 0. The state has to say that nothing was seen: m = -∞.",
        read="Rows that see no key",
    ),
    *FINISH_MISTAKES,
)
