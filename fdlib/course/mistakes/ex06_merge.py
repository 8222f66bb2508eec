"""Known mistakes of exercise 06, first half: the merge of two parts in torch."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["MERGE_MISTAKES"]

_MERGED = "numerator / torch.where(total == 0, 1.0, total)[..., None]"
_MERGED_LSE = "m + torch.log(total)"
_EXP_A, _EXP_B = "torch.exp(lse_a - m)", "torch.exp(lse_b - m)"

MERGE_MISTAKES = (
    Mistake(
        name="merge-averaged",
        check="merge",
        edits=((_MERGED, "(out_a + out_b) / 2"),),
        says="merge takes the mean of the two outputs",
        why="That is right only if both parts have the same LSE. A part of 16 keys and a part of one key hardly ever "
        "weigh the same: each weighs by exp of its LSE.",
        read="Averaged",
    ),
    Mistake(
        name="merge-outputs-added",
        check="merge",
        edits=((_MERGED, "(out_a + out_b) / torch.where(total == 0, 1.0, total)[..., None]"),),
        says="merge adds the two outputs without their weights, and then divides",
        why="The outputs were divided already, each by its own sum, so they are not raw sums that can be added. Weigh "
        "each by its share first; then the weights add up to what you divide by.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="merge-not-divided",
        check="merge",
        edits=((_MERGED, "numerator"),),
        says="merge does not divide by the sum of the weights",
        why="With the maximum subtracted the larger weight is 1, so the weights add up to a number between 1 and 2. "
        "The output is too large by exactly that number.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="merge-weights-are-lses",
        check="merge",
        edits=(
            (_EXP_A, "lse_a"),
            (_EXP_B, "lse_b"),
            (_MERGED_LSE, "torch.logaddexp(lse_a, lse_b)"),
        ),
        says="merge weighs the parts by their LSEs, without exp",
        why="An LSE is a logarithm. What adds up to the denominator is exp of it: LSE 3 against LSE 1 is not 3 to 1 "
        "but e² = 7.4 to 1. For a negative LSE the weight would even be negative.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="merge-powers-of-2",
        check="merge",
        edits=((_EXP_A, "torch.exp2(lse_a - m)"), (_EXP_B, "torch.exp2(lse_b - m)")),
        says="merge weighs with powers of 2, though the LSEs are natural logs",
        why="2ˣ undoes a logarithm in base 2, and these are in base e. The weights come out too equal: LSE 3 against "
        "LSE 1 is 7.4 to 1, and you get 4 to 1.",
        read="LSE in the wrong base",
    ),
    Mistake(
        name="merge-lse-is-the-maximum",
        check="merge",
        edits=((_MERGED_LSE, "torch.maximum(lse_a, lse_b)"),),
        says="the merged LSE is the larger of the two",
        why="The largest LSE counts the keys of one part only. Two equal parts have twice the sum of exponentials, so "
        "their LSE is ln 2 = 0.69 more than each.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="merge-lses-added",
        check="merge",
        edits=((_MERGED_LSE, "lse_a + lse_b"),),
        says="the merged LSE is the sum of the two",
        why="Adding logarithms multiplies what is under them. The sums of exponentials have to be added: two parts "
        "with LSE 5 have LSE 5.69 together, not 10.",
        read="05: By hand: 100,000 keys, ten workers",
    ),
    Mistake(
        name="merge-lse-without-the-maximum",
        check="merge",
        edits=((_MERGED_LSE, "torch.log(total)"),),
        says="the maximum is not added back to the merged LSE",
        why="The weights were counted from the maximum, so the log of their sum is too. It lies between 0 and ln 2, "
        "whatever the scores are, until the maximum is added back.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="merge-overflows",
        check="merge-extremes",
        edits=(
            (_EXP_A, "torch.exp(lse_a)"),
            (_EXP_B, "torch.exp(lse_b)"),
            (_MERGED_LSE, "torch.log(total)"),
        ),
        says="merge takes exp of the LSEs themselves",
        why="float32 ends near e⁸⁸. Scores near 200 are infinite after exp, and near -200 they are 0. Subtract the "
        "larger LSE from both first: the ratio stays the same.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="merge-overflows-unguarded",
        check="merge-extremes",
        edits=(
            (_EXP_A, "torch.exp(lse_a)"),
            (_EXP_B, "torch.exp(lse_b)"),
            (_MERGED, "numerator / total[..., None]"),
            (_MERGED_LSE, "torch.log(total)"),
        ),
        says="merge takes exp of the LSEs themselves",
        why="float32 ends near e⁸⁸. Scores near 200 are infinite after exp, and ∞ / ∞ is NaN; near -200 they are 0, "
        "and 0 / 0 is NaN. Subtract the larger LSE from both first: the ratio stays the same.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="merge-for-two-axes",
        check="merge",
        edits=(
            ("weight_a[..., None]", "weight_a[:, :, None]"),
            ("weight_b[..., None]", "weight_b[:, :, None]"),
            ("total)[..., None]", "total)[:, :, None]"),
        ),
        says="merge is written for LSEs with two axes",
        why="The parts may have one axis before D, or four. The new axis of a weight always comes last, however many "
        "stand before it.",
        read="The derivation, step by step",
    ),
    Mistake(
        name="merge-inf-minus-inf",
        check="merge-extremes",
        edits=(('torch.where(m == float("-inf"), 0.0, m)', "m"),),
        says="merge subtracts -∞ from -∞ when neither part saw a key",
        why="The larger of two -∞ is -∞, and -∞ - (-∞) is not a number. If nobody saw a key, any finite number may be "
        "subtracted: the weights are 0 either way.",
        read="NaN from empty splits",
    ),
    Mistake(
        name="merge-nothing-by-nothing",
        check="merge-extremes",
        edits=(("torch.where(total == 0, 1.0, total)", "total"),),
        says="merge divides 0 by 0 when neither part saw a key",
        why="Both weights are 0 then, and so is their sum. 0 / 0 is NaN; the answer has to be 0, so divide by any "
        "number that is not 0.",
        read="NaN from empty splits",
    ),
)
