"""Questions of notebook 02."""

from __future__ import annotations

import math

from fdlib.course.quizzes import Choice, Foreseen, ManyOf, Number, OneOf

__all__ = ["QUESTIONS"]

# The state before (m is the logarithm of OLD_EXP), and the two scores of the block: logarithms of NEW_EXP.
OLD_EXP, OLD_SUM, NEW_EXP = 2.0, 3.0, 8.0
ALPHA = math.exp(math.log(OLD_EXP) - math.log(NEW_EXP))

QUESTIONS = (
    OneOf(
        "a number taken from all scores",
        "You subtract 5 from every score of a row, and then compute the row's output and LSE. What "
        "has changed?",
        (
            Choice(
                "The LSE is 5 lower. The output is the same.",
                "each exp(score) is multiplied by exp(-5). In the output this cancels. The LSE is the "
                "logarithm of the sum itself, so the factor stays in it, as -5.",
                right=True,
            ),
            Choice(
                "Nothing: whatever is subtracted cancels.",
                "it cancels in the weights, because there it stands above and below the line. The LSE "
                "has no line. That is why it must be m + log(l), with the m that was taken away.",
            ),
            Choice(
                "The output is smaller by the factor exp(-5). The LSE is the same.",
                "numerator and denominator of each weight get the same factor, so the weights still "
                "sum to 1.",
            ),
            Choice(
                "Output and LSE are both smaller.",
                "for the LSE this is so. The output is a weighted mean, and the weights did not change.",
            ),
        ),
    ),
    Number(
        name="l after a block",
        text="So far m = ln 2 and l = 3. A block comes with two keys, both with the score ln 8. What is "
        "l after the block?",
        unit="",
        tolerance=0.01,
        value=lambda: OLD_SUM * ALPHA + 2,
        why=f"m_new = ln 8, alpha = exp(ln 2 - ln 8) = {ALPHA:g}. The old sum becomes "
        f"3 · {ALPHA:g} = {OLD_SUM * ALPHA:g}, and each new key adds exp(0) = 1.",
        foreseen=(
            Foreseen(
                lambda: OLD_SUM + 2,
                "The old sum is measured against ln 2, the new terms against ln 8. Correct the old sum "
                "by alpha before you add.",
            ),
            Foreseen(
                lambda: OLD_SUM / ALPHA + 2,
                "Your alpha is upside down. It is exp(m - m_new): the old maximum minus the new one, so "
                "it is never above 1.",
            ),
            Foreseen(
                lambda: OLD_SUM * ALPHA + 2 * NEW_EXP,
                "The old sum is corrected. The new terms are exp(score - m_new), and their score is m_new.",
            ),
            Foreseen(
                lambda: OLD_SUM * OLD_EXP + 2 * NEW_EXP,
                "This is the sum of exp(score) itself. l counts in units of exp(m_new), which is 8 here.",
            ),
            Foreseen(
                lambda: OLD_SUM + 2 * NEW_EXP / OLD_EXP,
                "You kept the old maximum. The block has a larger score, so m moves to ln 8.",
            ),
            Foreseen(
                lambda: OLD_SUM * ALPHA + 1,
                "One key is missing: two keys have that score, and each adds a term.",
            ),
            Foreseen(lambda: 2.0, "You dropped the old keys. They count still, times alpha."),
        ),
        otherwise='Work out m_new and alpha first: the formulas stand in "The correction factor", '
        'and a worked case in "By hand, on four numbers".',
    ),
    ManyOf(
        "enough to merge",
        "Two people did half of the keys each. Which of these, from both of them, is enough to get "
        "the exact output of all keys?",
        (
            Choice(
                "the finished output and the LSE",
                "the share of a half is exp(lse) over the sum of both, and the output is the weighted mean.",
                right=True,
            ),
            Choice(
                "acc, l and m",
                "output and LSE follow from them: acc / l, and m + log(l).",
                right=True,
            ),
            Choice(
                "the finished output and l",
                "l counts in units of exp(m), and each of the two has another m. Without m, an l of 300 "
                "can weigh less than an l of 1.3.",
            ),
            Choice(
                "the finished output and the number of keys",
                "that weighs every key alike. One key that fits well can outweigh thousands that do not.",
            ),
        ),
    ),
    OneOf(
        "never take the maximum",
        "To be rid of -inf minus -inf, somebody subtracts 0 instead of the maximum, in every row, in "
        "float32. In which rows does the output go wrong?",
        (
            Choice(
                "in rows whose scores are all very low, or in which some are very high",
                "exp(-200) is 0 in float32, so a row of such scores looks empty. exp(100) is inf. The "
                "formula allows any number; the arithmetic does not.",
                right=True,
            ),
            Choice(
                "in none: any number may be subtracted, for it cancels",
                "on paper it does. In float32, exp overflows above about 88 and becomes 0 below about "
                "-104, and then there is nothing left to cancel.",
            ),
            Choice(
                "only in rows that see no key",
                "those are the rows that subtracting 0 does cure: all their terms are 0.",
            ),
            Choice(
                "only in rows in which the maximum moves from block to block",
                "without a maximum there is no correction, and none is needed: all terms have the same "
                "unit. What hurts is the size of exp.",
            ),
        ),
    ),
)
