"""Hints of exercise 06."""

from __future__ import annotations

from fdlib.course.hints import Hint

__all__ = ["HINTS"]

HINTS = {
    "the merge of two parts": Hint(
        nudge="Take LSE 3 and LSE 1: what are the two weights? Then take LSE 200 and 199: what is e²⁰⁰ in float32? "
        "And then two parts that saw nothing: what is −∞ − (−∞)?",
        idea="Each part weighs e^LSE, and these weights are what adds up. Subtract the larger of the two LSEs from "
        "both first, or e^LSE overflows. If both are −∞, subtract 0 instead. Then out is the weighted sum "
        "divided by the sum of the weights, and lse is the maximum plus the log of that sum. If the sum is 0, "
        "nobody saw a key: divide by 1, and the output stays 0. The weights have one axis fewer than the "
        "outputs.",
        pseudocode="""\
1. m = the larger one of lse_a and lse_b, element by element. Where m is −∞, put 0 in its place.
2. w_a = e^(lse_a − m) and w_b = e^(lse_b − m).
3. total = w_a + w_b.
4. numerator = w_a · out_a + w_b · out_b. Give each weight one more axis at the end, to go with the D numbers.
5. out = numerator / total, with total replaced by 1 where it is 0, and with one more axis too.
6. lse = m + ln(total). For two parts without keys this is 0 + ln 0 = −∞, as it should be.
Make new tensors: the four that you are given have to stay as they are.""",
    ),
    "load the LSEs and the partial outputs": Hint(
        nudge="With 3 splits there are 4 places. What must stand in the fourth, so that it counts for nothing? What "
        "would an LSE of 0 count for?",
        idea="A program loads all parts of its row at once, and the number of places is a power of two. The mask "
        "says which of them are splits. What is put in the other places has to be neutral: an LSE of −∞ has "
        "weight 0. For the partial outputs 0 will do, because their weight is 0; but it must not be whatever "
        "lies in memory, because 0 · NaN is NaN. The pointers are there already.",
        pseudocode="""\
1. Load the LSEs from their pointers, [BLOCK_S], with the mask of the splits. In the other places: −∞.
2. Load the parts from their pointers, [BLOCK_S, HEAD_DIM]. The mask has one value per split:
   make a column of it. In the other places: 0.""",
    ),
    "the combined output and LSE": Hint(
        nudge="It is the merge once more, with BLOCK_S parts in place of two. Which axis do you sum over, and what "
        "shape is left? Which two guards did the merge need?",
        idea="Subtract the largest LSE, take e to the rest: these are the weights, one per part. The output is the "
        "weighted sum of the parts, divided once by the sum of the weights. The LSE is the largest LSE plus "
        "the natural log of that sum. All parts may be empty: then the maximum is −∞ and must be replaced "
        "before you subtract it, and the sum is 0 and must be replaced before you divide by it.",
        pseudocode="""\
1. m = the largest of the LSEs, one number. If it is −∞, take 0.
2. weights [BLOCK_S] = e^(LSE − m). Places without a split get e^(−∞) = 0.
3. total = Σ weights, one number. safe total = 1 if total is 0, else total.
4. out [HEAD_DIM] = (weights as a column · parts, summed over the splits: axis 0) / safe total.
5. lse = −∞ if total is 0, else m + ln(safe total).""",
    ),
    "split, then combine": Hint(
        nudge="Which two functions do the two halves of the work, and which of them is handed in as an argument? "
        "What dtype does combine give back if you tell it nothing?",
        idea="Two calls. The first cuts the keys and computes the parts: use the split_kv that is passed in, so "
        "that a learner's own kernel can take its place. The second merges the parts: combine, just above, "
        "launches your kernel. The parts stay in float32 until the end; the output then gets q's dtype.",
        pseudocode="""\
1. Call split_kv with q, k, v and the number of splits. It gives the partial outputs and their LSEs.
2. Call combine with both, and with q's dtype as the dtype of the output. It gives out and lse.""",
    ),
}
