"""Known mistakes of exercise 05, all of them; those of the partial output and its LSE are here."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake
from fdlib.course.mistakes.ex05_grid import GRID_MISTAKES
from fdlib.course.mistakes.ex05_programs import PROGRAM_MISTAKES
from fdlib.course.mistakes.ex05_range import RANGE_MISTAKES
from fdlib.course.mistakes.ex05_update import UPDATE_MISTAKES

__all__ = ["MISTAKES"]

_LSE = 'lse = tl.where(l_i == 0.0, float("-inf"), m_i + tl.log(l_safe))'

MISTAKES = (
    *GRID_MISTAKES,
    *RANGE_MISTAKES,
    *PROGRAM_MISTAKES,
    *UPDATE_MISTAKES,
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
        name="lse-with-log2",
        check="one-split",
        edits=(("tl.log(l_safe)", "tl.log2(l_safe)"),),
        says="the log of the sum is taken in base 2, while the scores are in base e",
        why="The LSE undoes the exponentials, so log and exp need the same base. Here they are exp and the natural "
        "log. The error is small when one key dominates, and grows with the number of keys.",
        read="06: LSE in the wrong base",
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
        name="divided-twice",
        check="one-split",
        edits=(("out = acc / l_safe", "out = acc / l_safe / l_safe"),),
        says="acc is divided twice by the sum",
        why="Once is enough: then the weights of this split's keys add up to 1. The second division makes all numbers "
        "of a row too small by one factor, the sum itself.",
        read="Why a partial output is divided by its own sum",
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
        name="bases-mixed-in-the-lse",
        check="one-split",
        edits=(
            (", 1) * scale", ", 1) * (scale * 1.4426950408889634)"),
            ("tl.exp(m_i - m_new)", "tl.exp2(m_i - m_new)"),
            ("tl.exp(qk - m_new)", "tl.exp2(qk - m_new)"),
        ),
        says="the LSE adds a maximum in base 2 and a log in base e",
        why="If the scores are multiplied by log₂ e for powers of 2, the maximum is in base 2 as well. Bring both "
        "parts of the LSE to base e before it leaves the kernel.",
        read="06: LSE in the wrong base",
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
)
