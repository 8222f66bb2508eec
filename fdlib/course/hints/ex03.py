"""Hints of exercise 03."""

from __future__ import annotations

from fdlib.course.hints import Hint

__all__ = ["HINTS"]

HINTS = {
    "load this block of keys and values": Hint(
        nudge="Look at how the frame loads q, just above the loop. What takes the place of offs_m, of the stride, "
        "and of in_rows?",
        idea="A tile of addresses is base + row number · row stride + column number: the rows as a column vector, "
        "the head dimensions as a row vector. The rows are the keys of this round, offs_n. Keys at or past len_kv "
        "do not exist: the mask keeps the load from touching them and puts 0 there. v has a base and a stride of "
        "its own.",
        pseudocode="1. key n exists if n < len_kv, for each n in offs_n: [BLOCK_N], True or False\n"
        "2. address of k[n, d] = k_base + n · stride_kn + d, with n from offs_n as a column and d from offs_d as a "
        "row: [BLOCK_N, HEAD_DIM]\n"
        "3. k = load these addresses; mask: what step 1 says, as a column; 0 for what is not read\n"
        "4. v = the same from v_base with stride_vn",
    ),
    "the scores of this block, with the hidden ones at -inf": Hint(
        nudge="q is [BLOCK_M, HEAD_DIM], k is [BLOCK_N, HEAD_DIM], and you want [BLOCK_M, BLOCK_N]. Then ask of "
        "each pair: does the key exist, and does it lie at or before the query?",
        idea="The tile product needs k turned over, and full float32 has to be asked for. Times the scale it gives "
        "the scores. The zeros that the load put in for missing keys give a score of 0, which counts; so set those "
        "scores to -∞, before any maximum is taken. With CAUSAL a key must also not lie after the query, and query "
        "i stands at len_kv - len_q + i, where i is its number in the whole sequence of queries.",
        pseudocode="1. qk = tile product of q and kᵀ, in full precision ('ieee'), · scale: [BLOCK_M, BLOCK_N]\n"
        "2. key n is visible if n < len_kv, with n from offs_n as a row\n"
        "3. if CAUSAL, it also needs n ≤ len_kv - len_q + i, with i from offs_m as a column. Join blocks with &, "
        "each side in parentheses\n"
        "4. qk = qk where visible, else -∞",
    ),
    "the online softmax update": Hint(
        nudge="It is `update` of exercise 02 with other names. Which of the old values do you still need after you "
        "have the new maximum? What must be the last line?",
        idea="The new maximum is the larger of the old one and the row maximum of this tile. Where it is still -∞, "
        "use 0 inside exp. alpha corrects the old l and acc; p holds the new terms. l adds the row sums of p in "
        "float32, acc adds p times v, and for that product p takes the dtype of v. m_i changes last, because alpha "
        "needs the old one.",
        pseudocode="1. m′ = larger of m_i and the row maximum of qk (fold axis 1, the keys): [BLOCK_M]\n"
        "2. s = 0 where m′ is -∞, else m′\n"
        "3. α = exp(m_i - s): [BLOCK_M]\n"
        "4. P = exp(qk - s), with s as a column: [BLOCK_M, BLOCK_N]\n"
        "5. l_i ← α · l_i + row sum of P\n"
        "6. acc ← α · acc, with α as a column, + tile product of P (cast to v's dtype) and v, in full precision\n"
        "7. m_i ← m′",
    ),
    "the output and the LSE": Hint(
        nudge="It is `finish` of exercise 02. What would a row without keys give, with l_i = 0?",
        idea="acc / l makes the weights of a row sum to 1, and m + log l is the LSE with the natural logarithm. A "
        "row without keys has l = 0 and acc = 0: divide by 1 there and it gives 0, and choose -∞ for its LSE. The "
        "frame casts `out` when it stores it.",
        pseudocode="1. l_safe = 1 where l_i is 0, else l_i\n"
        "2. out = acc / l_safe, with l_safe as a column: [BLOCK_M, HEAD_DIM]\n"
        "3. lse = -∞ where l_i is 0, else m_i + ln(l_safe): [BLOCK_M]",
    ),
}
