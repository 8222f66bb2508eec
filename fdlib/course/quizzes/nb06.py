"""Questions of notebook 06."""

from __future__ import annotations

import math

from fdlib.course.quizzes import Choice, Foreseen, ManyOf, Number, OneOf

__all__ = ["QUESTIONS"]

OUTPUTS, SUMS = (2.0, 10.0), (1.0, 3.0)
LSES = tuple(math.log(total) for total in SUMS)


def _mean(weights: tuple[float, ...]) -> float:
    products = (weight * out for weight, out in zip(weights, OUTPUTS, strict=True))
    return sum(products) / sum(weights)


QUESTIONS = (
    Number(
        name="merge of two parts",
        text="Two splits with as many keys each. The first has the partial output 2 and the LSE ln 1 = 0. "
        "The second has the partial output 10 and the LSE ln 3 ≈ 1.0986. What is the merged output?",
        unit="",
        tolerance=0.005,
        value=lambda: _mean(SUMS),
        why="The weights are exp(LSE) over their sum: 1/4 and 3/4.",
        foreseen=(
            Foreseen(
                lambda: _mean((1.0, 1.0)),
                "This is the plain average. It would be right if both LSEs were equal. Equal numbers of "
                "keys say nothing about the sums of exponentials.",
            ),
            Foreseen(
                lambda: _mean(LSES),
                "You weighed by the LSEs themselves. A weight is exp(LSE): the LSE is the logarithm of "
                "the sum that counts.",
            ),
            Foreseen(
                lambda: _mean(SUMS[::-1]),
                "You swapped the weights. The part with the larger LSE counts more.",
            ),
            Foreseen(
                lambda: _mean(SUMS) * sum(SUMS),
                "The division by the sum of the weights is missing.",
            ),
            Foreseen(
                lambda: sum(OUTPUTS),
                "You added the outputs. Each is already divided by its own sum, so they are averaged, "
                "with weights.",
            ),
            Foreseen(
                lambda: _mean(tuple(2**lse for lse in LSES)),
                "You took powers of 2. The LSE is a natural logarithm, so its sum is e to the LSE.",
            ),
        ),
        otherwise="Turn each LSE back into its sum, exp(LSE). The outputs count in that proportion: "
        "section 2.",
    ),
    OneOf(
        "an LSE in base 2",
        "A split kernel stores log₂ of its sum as the LSE. The combine takes it for a natural "
        "logarithm. With one split all outputs are right. With four?",
        (
            Choice(
                "Wrong, unless the four LSEs are equal: heavy splits get too much weight, light ones too "
                "little.",
                "log₂ x is 1.4427 · ln x, so all differences between LSEs grow by that factor, and exp "
                "of them is too uneven.",
                right=True,
            ),
            Choice(
                "Right: the base of a logarithm is only a factor, and it cancels.",
                "a factor on the sums would cancel. This one stands in the exponent: e to the log₂ x is "
                "x to the power 1.4427.",
            ),
            Choice(
                "The outputs are right and only the reported LSE is off.",
                "that is what you see with one split, where the only weight is 1. With more, the weights "
                "are made from these LSEs.",
            ),
            Choice(
                "NaN or inf, so that it is noticed at once.",
                "the largest LSE is subtracted first, so nothing overflows. The numbers look fine. Only "
                "a test with several splits, or of the LSE itself, shows it.",
            ),
        ),
    ),
    ManyOf(
        "what merging allows",
        "a, b and c are the states (output, LSE) of three splits, and ⊕ merges two states. What is true?",
        (
            Choice(
                "(a ⊕ b) ⊕ c and a ⊕ (b ⊕ c) are equal, up to rounding.",
                "the merge depends only on two sums, and sums may be grouped as you like.",
                right=True,
            ),
            Choice(
                "Merging with (0, -inf) changes nothing.",
                "its weight is exp(-inf) = 0. It is the identity of the operation, and the state of a "
                "split without keys.",
                right=True,
            ),
            Choice(
                "a ⊕ a and a are equal.",
                "the output is the same, but every key then counts twice, and the LSE grows by ln 2. A "
                "split that is merged twice weighs too much against the others.",
            ),
            Choice(
                "Every order of merging gives the same bits.",
                "equal to rounding, not bit for bit: floating point addition is not associative in its "
                "last digit. That is why fdlib's combine has a fixed order.",
            ),
        ),
    ),
)
