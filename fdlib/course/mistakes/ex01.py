"""Known mistakes of exercise 01, all of them; wrong scales and sums are here."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake
from fdlib.course.mistakes.ex01_cache import CACHE_MISTAKES
from fdlib.course.mistakes.ex01_masks import MASK_MISTAKES

__all__ = ["MISTAKES"]

_LSE = "torch.logsumexp(scores, dim=-1)"
_OUT = "torch.exp(scores - lse[..., None]) @ v"
_SOFTMAX = "torch.softmax(scores, dim=-1)"
_PLAIN = "torch.exp(scores) / torch.exp(scores).sum(dim=-1, keepdim=True) @ v"
_ROW_MAX = "scores.amax(dim=-1, keepdim=True)"

MISTAKES = (
    Mistake(
        name="scale-missing",
        check="one-key",
        edits=((" / math.sqrt(head_dim)", ""),),
        says="the scores are not divided by √D",
        why="A dot product of D numbers grows with √D. Without the division the scores are √D times too large, and "
        "the softmax puts nearly all weight on one key. (The root of the number of keys looks the same here: there is "
        "one key, and its root is 1.)",
        read="The formula",
    ),
    Mistake(
        name="scale-is-d",
        check="one-key",
        edits=(("math.sqrt(head_dim)", "head_dim"),),
        says="the scores are divided by D, without the root",
        why="That makes the scores √D times too small, and the weights nearly equal. A dot product of D random "
        "numbers has a spread of √D, so √D is what brings it back to 1.",
        read="The formula",
    ),
    Mistake(
        name="scale-is-the-length",
        check="one-key",
        edits=(("math.sqrt(head_dim)", "math.sqrt(len_q)"),),
        says="the scores are divided by the root of the number of queries",
        why="The scale undoes what the sum over the D products of one score does. How many queries there are has no "
        "part in that: the same query has to give the same scores, alone or among others.",
        read="The formula",
    ),
    Mistake(
        name="softmax-over-queries",
        check="one-key",
        edits=((_OUT, "torch.softmax(scores, dim=-2) @ v"),),
        says="the softmax runs over the queries",
        why="Each query shares out a weight of 1 among the keys, so each row has to sum to 1, and the keys stand "
        "along the last dimension. Over the queries it is the columns that sum to 1.",
        read="The formula",
    ),
    Mistake(
        name="scores-as-weights",
        check="one-key",
        edits=((_OUT, "scores @ v"),),
        says="the raw scores are used as weights, without a softmax",
        why="Scores can be negative and sum to anything. Weights are positive and sum to 1 in each row: exp makes "
        "them positive, and the division by their sum does the rest.",
        read="The formula",
    ),
    Mistake(
        name="keys-averaged",
        check="one-key",
        edits=((_OUT, "torch.exp(scores - lse[..., None]) @ k"),),
        says="the weights are multiplied with the keys",
        why="A key says how well it fits; its value is what it hands over. The output is a mean of values. With one "
        "key the only weight is 1, so there the output has to be the value itself.",
        read="The formula",
    ),
    Mistake(
        name="exp-without-a-sum",
        check="one-key",
        edits=((_OUT, "torch.exp(scores) @ v"),),
        says="exp(score) is used as the weight, without a division by the sum",
        why="Each row of weights has to sum to 1: the output is a mean of the values. With one key the only weight is "
        "1, and the output is that key's value.",
        read="The formula",
    ),
    Mistake(
        name="lse-in-base-2",
        check="one-key",
        edits=((_OUT, f"{_OUT}\n    lse = lse / math.log(2)"),),
        says="the LSE is a logarithm in base 2",
        why="The course takes the natural logarithm, here and in every notebook. In base 2 it is 1.4427 times as "
        "large. It shows with one key: there the LSE is the score itself.",
        read="Four pieces of PyTorch",
    ),
    Mistake(
        name="lse-without-log",
        check="one-key",
        edits=((_LSE, "torch.exp(scores).sum(dim=-1)"), (_OUT, f"{_SOFTMAX} @ v")),
        says="the LSE is the sum of exp(score), without the logarithm",
        why="The sum grows like exp of the largest score and overflows from a score of 89 on. Its logarithm stays "
        "near the largest score: with one key it is that score.",
        read="Four pieces of PyTorch",
    ),
    Mistake(
        name="lse-forgets-the-maximum",
        check="one-key",
        edits=(
            (_LSE, f"torch.log(torch.exp(scores - {_ROW_MAX}).sum(dim=-1))"),
            (_OUT, f"{_SOFTMAX} @ v"),
        ),
        says="the maximum that was taken from the scores is not added to the LSE again",
        why="Taking m from every score divides the sum by exp(m), so its logarithm is too small by m. The weights do "
        "not show it, for m cancels there. The LSE has to get m back. (The logarithm of the softmax looks the same: "
        "its weights sum to 1, and log 1 is 0. The LSE is that of exp(score), before the division.)",
        read="02: LSE: all that must be remembered",
    ),
    Mistake(
        name="lse-is-the-maximum",
        check="all-keys",
        edits=((_LSE, "scores.amax(dim=-1)"), (_OUT, f"{_SOFTMAX} @ v")),
        says="the LSE is the largest score alone",
        why="The largest score is one term of the sum. With one key that is all there is; with more keys the LSE lies "
        "above it, by up to the logarithm of their number.",
        read="Four pieces of PyTorch",
    ),
    Mistake(
        name="weights-not-divided",
        check="all-keys",
        edits=((_OUT, f"torch.exp(scores - {_ROW_MAX}) @ v"),),
        says="the weights are not divided by their sum",
        why="They are exp(score - maximum): the largest is 1, and the others come on top. Each row has to sum to 1, "
        "or the output is a sum of values instead of their mean.",
        read="The formula",
    ),
    Mistake(
        name="softmax-twice",
        check="all-keys",
        edits=((_OUT, f"torch.softmax({_SOFTMAX}, dim=-1) @ v"),),
        says="a softmax is taken of weights that already are one",
        why="Weights lie between 0 and 1, so exp of them lies between 1 and 2.72: the second softmax makes them "
        "nearly equal, and the output is close to the plain mean of all values.",
        read="The formula",
    ),
    Mistake(
        name="no-maximum",
        check="large-scores",
        edits=((_LSE, "torch.log(torch.exp(scores).sum(dim=-1))"),),
        says="exp is taken of the scores as they are",
        why="float32 ends near 3·10³⁸, which is exp(89). With scores near 200 the sum is infinite; near -200 every "
        "term is 0 and its logarithm is -∞. Taking the row's largest score away first avoids both.",
        read="02: Why a maximum is needed: overflow",
    ),
    Mistake(
        name="no-maximum-nan",
        check="large-scores",
        edits=((_LSE, "torch.log(torch.exp(scores).sum(dim=-1))"), (_OUT, _PLAIN)),
        says="exp is taken of the scores as they are, for the weights too",
        why="With scores near 200 exp is infinite, and infinite by infinite is NaN; near -200 it is 0 by 0, which is "
        "NaN too. Taking the row's largest score away first avoids both.",
        read="02: Why a maximum is needed: overflow",
    ),
    Mistake(
        name="no-maximum-in-the-lse",
        check="large-scores",
        edits=((_LSE, "torch.log(torch.exp(scores).sum(dim=-1))"), (_OUT, f"{_SOFTMAX} @ v")),
        says="the LSE is taken from exp of the scores as they are",
        why="The softmax takes care of large scores by itself, so the output is right. The sum for the LSE overflows "
        "near 200 and is 0 near -200. There is a ready-made function for it as well.",
        read="Four pieces of PyTorch",
    ),
    Mistake(
        name="one-maximum-for-all",
        check="large-scores",
        edits=((_LSE, "scores.max() + torch.log(torch.exp(scores - scores.max()).sum(dim=-1))"),),
        says="one maximum is taken from all rows",
        why="It suits only the row that it comes from. In a row whose scores lie 100 lower, every exp is 0 in "
        "float32, and so is the sum. Each row needs its own maximum.",
        read="02: Why a maximum is needed: overflow",
    ),
    Mistake(
        name="maximum-held-above-minus-1000",
        check="large-scores",
        edits=(
            (
                _LSE,
                f"(scores - {_ROW_MAX}.clamp(min=-1000.0)).exp().sum(-1).log() + scores.amax(-1).clamp(min=-1000.0)",
            ),
        ),
        says="what is taken from a row's scores is never below a fixed number, such as -1000",
        why="A row whose scores all lie far below that number has nothing left: every exp is 0 in float32. Take the "
        "row's own maximum away, however low it is.",
        read="02: Why a maximum is needed: overflow",
    ),
    *MASK_MISTAKES,
    *CACHE_MISTAKES,
)
