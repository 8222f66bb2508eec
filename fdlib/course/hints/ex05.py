"""Hints of exercise 05."""

from __future__ import annotations

from fdlib.course.hints import Hint

__all__ = ["HINTS"]

HINTS = {
    "the range of keys of this split": Hint(
        nudge="How many blocks are there if the last one is not full? The comment above says at which block split s "
        "begins. How do you come from a block to its first key?",
        idea="Cut in whole blocks, so that only the very last block of all is partly filled. Count the blocks, "
        "rounded up. Then find the first block of this split and of the next one: multiply by the split's "
        "number first and divide after, rounding down, or blocks get lost. From blocks to keys it is a factor "
        "of the block's length. Only the end can go too far, so only the end needs a cap.",
        pseudocode="""\
1. blocks = ⌈len_kv / block length⌉. Section 9 of the notebook names the Triton function that rounds up.
2. First block of split s: ⌊s · blocks / num_splits⌋. start = that · block length.
3. The same for s + 1 gives one block past the last. end = that · block length.
4. If end is more than len_kv, end is len_kv. Take the smaller one of the two.
Try it: 79 keys in blocks of 16, 4 splits. 5 blocks; the splits start at 0, 16, 32, 48 and end at 16, 32, 48, 79.""",
    ),
    "the base of the keys and of the values": Hint(
        nudge="The load of q, further up, adds batch and head times their strides to Q. What is different for k and "
        "v? Which key/value head does query head 5 read if 4 query heads share one?",
        idea="A base is the address of key 0 of this sequence and of the right key/value head. Strides say how far "
        "it is to the next sequence and to the next head; k and v have strides of their own, because they "
        "need not lie in memory in the same way. The heads of a group are neighbours: with GROUP 4, query "
        "heads 0 to 3 read head 0 and heads 4 to 7 read head 1. The keys' own stride does not belong here: "
        "the loop adds it.",
        pseudocode="""\
1. kv head = ⌊query head / GROUP⌋.
2. base of the keys = pointer K + batch · (its stride along the batch) + kv head · (its stride along the heads).
3. base of the values = the same with V and the strides of v.""",
    ),
    "the scores and the online softmax update": Hint(
        nudge="Write the shape beside each name first: the table is in section 12 of the notebook. Which axis of "
        "the tile is the sum of a score, and which that of acc? The update itself is notebook 02's, with one "
        "number for m and one for l.",
        idea="First the scores: multiply the query with each key, element by element, sum over head_dim, times "
        "scale. Then hide what is past the end, before you look for the maximum: a place without a key must "
        "weigh nothing. Then the update: find the new maximum, shrink what was gathered before by e to the "
        "(old maximum minus new), add this block's weights to the sum and its weighted values to acc. Replace "
        "the maximum last, because the correction needs the old one.",
        pseudocode="""\
1. scores [BLOCK_N]: q as a row · k, summed over head_dim (axis 1), times scale.
2. Where a place is not in the keys of this split: score = −∞.
3. new m = the larger one of the old m and the largest score.
4. α = e^(old m − new m). It is one number, at most 1; on the first block it is 0.
5. p [BLOCK_N] = e^(score − new m).
6. l = l · α + Σ p.
7. acc [HEAD_DIM] = acc · α + (p as a column · v, summed over the keys: axis 0).
8. m = new m.""",
    ),
    "the partial output and its LSE": Hint(
        nudge="What are l and acc of a split that had no key? What does 0 / 0 give, and what does the combine do "
        "with it? Which of the two numbers of the state must be added back to the log?",
        idea="Divide acc by this split's own sum: then the part is attention over its own keys. The LSE is the "
        "natural log of the sum of e^score. Your sum was counted from the maximum, so its log plus the "
        "maximum is the LSE. A split without keys has l = 0. Guard the division and the log: put 1 in the "
        "place of the sum there, and choose −∞ as the LSE.",
        pseudocode="""\
1. safe l = 1 if l is 0, else l.
2. out = acc / safe l. In a split without keys acc is 0, so out is 0.
3. lse = −∞ if l is 0, else m + ln(safe l). Section 9 has a function that takes a condition and two values.
4. Leave both in float32: the combine rounds, at the very end.""",
    ),
    "the grid": Hint(
        nudge="Look at the first line of the kernel: which number does it read from which axis? And how many query "
        "heads does one program serve?",
        idea="The grid is a tuple of three counts. There is one program for each split of each query head of each "
        "sequence, and the order has to be that in which the kernel reads its program ids. The key/value "
        "heads do not count here: each query head has a program, even if it shares its keys.",
        pseudocode="""\
1. Axis 0: how many splits.
2. Axis 1: how many query heads.
3. Axis 2: how many sequences.
Put the three counts in a tuple in this order. All three names stand above the region.""",
    ),
}
