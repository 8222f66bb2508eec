"""Hints of exercise 02."""

from __future__ import annotations

from fdlib.course.hints import Hint

__all__ = ["HINTS"]

HINTS = {
    "the new maximum and the correction factor": Hint(
        nudge="Look at 'The correction factor'. What is exp(m - m_new) in the very first block, where m is -∞? And "
        "in a row where m_new is -∞ too?",
        idea="The maximum of a row is the larger of what it was and the block's largest score. alpha takes the old "
        "sums from the old maximum to the new one. Where m_new is -∞ the row has seen nothing, and (-∞) - (-∞) is "
        "NaN; there, and only there, subtract 0 instead: exp(-∞ - 0) = 0. Keep the true maximum as the state, and "
        "the stand-in beside it: the next part needs it too.",
        pseudocode="1. b = largest score of each row of the block, over the keys, the last dimension: (..., M)\n"
        "2. m_new = the larger of m and b, element by element\n"
        "3. m_safe = 0 where m_new is -∞, else m_new\n"
        "4. alpha = exp(m - m_safe): (..., M)",
    ),
    "the new sum and the new accumulator": Hint(
        nudge="Both are 'corrected old value plus what this block adds'. Against which maximum are the new terms "
        "measured? Write the shapes beside your lines.",
        idea="One term for each row and key: p = exp(score - maximum), measured against the new maximum (0 where "
        "that is -∞, as in the part above). l takes the sum of p over the keys, acc the sum of p · v, which is a "
        "matrix product. The old l and the old acc are multiplied with alpha first; the new terms are not.",
        pseudocode="1. p[i, j] = exp(scores[i, j] - m_safe[i]): (..., M, N). m_safe needs one more dimension at the "
        "end\n"
        "2. l_new = alpha · l + Σⱼ p[i, j], over the last dimension: (..., M)\n"
        "3. acc_new = alpha · acc + matrix product of p and v: (..., M, D). alpha needs one more dimension at the "
        "end",
    ),
    "the output and the LSE": Hint(
        nudge="'LSE: all that must be remembered' has both formulas. What do they give for a row with l = 0, and "
        "what should they give?",
        idea="acc is the sum of values with weights that sum to l: one division makes it a mean. The LSE is the log "
        "of exp(m) · l. A row with l = 0 saw nothing: its out is 0, its LSE -∞. Divide by 1 there instead of 0, and "
        "put the -∞ in by a choice between two values.",
        pseudocode="1. seen = (l > 0): (..., M), True or False\n"
        "2. l_safe = l where seen, else 1\n"
        "3. out = acc / l_safe, with l_safe as a column beside acc: (..., M, D). Where nothing was seen this is 0 / "
        "1 = 0\n"
        "4. lse = m + log(l_safe) where seen, else -∞",
    ),
}
