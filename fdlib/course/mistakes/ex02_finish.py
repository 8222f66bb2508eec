"""Known mistakes of exercise 02 at the end, when all blocks are folded in."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["FINISH_MISTAKES"]

_OUT, _LSE = "acc / l_safe[..., None]", "m + torch.log(l_safe)"

FINISH_MISTAKES = (
    Mistake(
        name="not-divided",
        check="finish",
        edits=((_OUT, "acc"),),
        says="the accumulator is not divided by l",
        why="acc is a sum of values with weights that sum to l, not to 1. The output is their mean, so one division "
        "is due, here at the end.",
        read="Three passes, two passes",
    ),
    Mistake(
        name="divided-twice",
        check="finish",
        edits=((_OUT, f"{_OUT} / l_safe[..., None]"),),
        says="the accumulator is divided by l twice",
        why="The weights in acc sum to l. One division makes them sum to 1; a second makes every output too small by "
        "another factor l.",
        read="Three passes, two passes",
    ),
    Mistake(
        name="epsilon-added-to-l",
        check="finish",
        edits=((_OUT, "acc / (l + 1e-6)[..., None]"),),
        says="a small number is added to l before the division",
        why="It avoids 0 / 0 in rows without keys, and makes every other row a little too small: float64 shows it, "
        "float32 hides it. Change l only where it is 0.",
        read="Rows that see no key",
    ),
    Mistake(
        name="zero-by-zero",
        check="finish",
        edits=(("torch.where(seen, l, 1.0)", "l"),),
        says="a row without keys divides 0 by 0",
        why="0 / 0 is NaN. For a row that saw nothing acc is 0 already; divided by any number other than 0 it stays "
        "0, which is the output that the course agrees on.",
        read="Rows that see no key",
    ),
    Mistake(
        name="lse-of-empty-rows-is-0",
        check="finish",
        edits=((f"{_LSE}, NEG_INF", f"{_LSE}, 0.0"),),
        says="a row without keys has an LSE of 0",
        why="The sum of no terms is 0, and log 0 is -∞. An LSE of 0 says that the sum is 1: in a later merge the "
        "empty part would count as much as a key with score 0.",
        read="Rows that see no key",
    ),
    Mistake(
        name="lse-forgets-the-maximum",
        check="finish",
        edits=((_LSE, "torch.log(l_safe)"),),
        says="the LSE is log(l), without the maximum",
        why="l is the sum in units of exp(m). Its logarithm alone is the same for scores near 200 and near -200. "
        "Adding m brings back the unit.",
        read="LSE: all that must be remembered",
    ),
    Mistake(
        name="lse-is-the-maximum",
        check="finish",
        edits=((_LSE, "m"),),
        says="the LSE is the maximum alone",
        why="The largest score is one term of the sum. The others add log(l), between 0 and the logarithm of the "
        "number of keys. With a single key it does not show.",
        read="LSE: all that must be remembered",
    ),
    Mistake(
        name="lse-adds-the-sum",
        check="finish",
        edits=((_LSE, "m + l_safe"),),
        says="l is added to the maximum without its logarithm",
        why="The sum of exp(score) is exp(m) · l. The logarithm turns this product into a sum, so l enters by its "
        "logarithm, as exp(m) enters by m.",
        read="LSE: all that must be remembered",
    ),
    Mistake(
        name="lse-mixes-bases",
        check="finish",
        edits=((_LSE, "m + torch.log2(l_safe)"),),
        says="log(l) is taken in base 2 and added to a natural maximum",
        why="The scores are exponents of e, so m is on the natural scale; log₂ is 1.44 times larger. Two bases in one "
        "sum give a number that belongs to neither.",
        read="LSE: all that must be remembered",
    ),
)
