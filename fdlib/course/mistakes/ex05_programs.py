"""Known mistakes of exercise 05, second part: which keys and which heads a program reads."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["PROGRAM_MISTAKES"]

_START = "start = split * blocks // num_splits * BLOCK_N"
_END = "end = tl.minimum((split + 1) * blocks // num_splits * BLOCK_N, len_kv)"

PROGRAM_MISTAKES = (
    Mistake(
        name="blocks-rounded-down",
        check="one-split",
        edits=(("tl.cdiv(len_kv, BLOCK_N)", "len_kv // BLOCK_N"),),
        says="the number of blocks is rounded down, so the keys of a partly filled last block are lost",
        why="47 keys in blocks of 16 are two full blocks and 15 keys more. Round lengths hide this; one key alone is "
        "no block at all.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="blocks-per-split-rounded-down",
        check="several-splits",
        edits=(
            (_START, "start = split * (blocks // num_splits) * BLOCK_N"),
            (_END, "end = tl.minimum((split + 1) * (blocks // num_splits) * BLOCK_N, len_kv)"),
        ),
        says="every split gets the rounded-down number of blocks, and the rest is dropped",
        why="10 blocks for 4 splits are 2 each, and 2 blocks belong to nobody. Divide after you have multiplied by "
        "the number of the split: then the last split always ends at the last block.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="blocks-per-split-rounded-up",
        check="several-splits",
        edits=(
            (_START, "start = split * tl.cdiv(blocks, num_splits) * BLOCK_N"),
            (_END, "end = tl.minimum((split + 1) * tl.cdiv(blocks, num_splits) * BLOCK_N, len_kv)"),
        ),
        says="every split gets the rounded-up number of blocks",
        why="As attention this is right, and the exercise asks for another cut. Of 5 blocks for 4 splits the first "
        "two take 2 each and the last gets none, while everyone waits for the longest.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="rest-to-the-last-split",
        check="empty-splits",
        edits=(
            (_START, "start = split * (blocks // num_splits) * BLOCK_N"),
            (
                _END,
                "end = (split + 1) * (blocks // num_splits) * BLOCK_N\n"
                "    end = tl.where(split == num_splits - 1, len_kv, end)",
            ),
        ),
        says="every split gets the rounded-down number of blocks and the last one all that is left",
        why="No key is lost, but with 2 blocks for 5 splits the last one does all the work, and it is the one that "
        "everyone waits for. The exercise asks for shares that differ by one block at most.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="empty-split-returns",
        check="empty-splits",
        edits=((_END, _END + "\n    if start >= end:\n        return"),),
        says="a split without keys returns before it has written anything",
        why="Its part of out_partial and lse_partial then holds whatever was in memory before, and the combine reads "
        "it. A split without keys has a result too: out = 0 and lse = -∞, and both have to be stored.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="keys-cut-not-blocks",
        check="several-splits",
        edits=(
            (_START, "start = split * len_kv // num_splits"),
            (_END, "end = (split + 1) * len_kv // num_splits"),
        ),
        says="the keys are shared out one by one, not in whole blocks",
        why="As attention this is right, but then every split ends in a partly filled block. Cut at block boundaries, "
        "and only the very last block of all is partial.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="range-in-blocks",
        check="one-split",
        edits=(
            (_START, "start = split * blocks // num_splits"),
            (_END, "end = tl.minimum((split + 1) * blocks // num_splits, len_kv)"),
        ),
        says="start and end are numbers of blocks, where keys are meant",
        why="With one block of 16 keys the range ends at 1, so 15 keys are never seen. From blocks to keys it is a "
        "factor of the block's length.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="end-is-the-last-key",
        check="one-split",
        edits=((_END, _END.replace("len_kv)", "len_kv) - 1")),),
        says="end is the last key, and not one past it",
        why="A range stops before its end. So each split leaves out its last key; with one key nothing is left.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="one-key-too-many",
        check="several-splits",
        edits=((_END, _END.replace("* BLOCK_N,", "* BLOCK_N + 1,")),),
        says="each split takes the first key of the next one too",
        why="end is one past the last key, so that the end of one split is the start of the next. One more, and the "
        "keys at the cuts are counted twice, and each split walks over another block for one key.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="starts-at-key-0",
        check="several-splits",
        edits=((_START, "start = 0 * split"),),
        says="every split starts at key 0",
        why="Then the parts overlap, and the combine counts the first keys once per split. Each key has to be in "
        "exactly one split: where one ends, the next one starts.",
        read="Is it more work?",
    ),
    Mistake(
        name="ends-at-the-last-key-of-all",
        check="several-splits",
        edits=((_END, "end = len_kv"),),
        says="every split goes on to the last key of all",
        why="Then the parts overlap: the last keys are counted once per split, and split 0 does the whole walk again. "
        "A split ends where the next one starts.",
        read="Is it more work?",
    ),
    Mistake(
        name="end-past-the-last-key",
        check="one-split",
        edits=((_END, "end = (split + 1) * blocks // num_splits * BLOCK_N"),),
        says="the range ends with its last block, past the last key",
        why="The last block is often partly filled: 47 keys are 3 blocks of 16, so one place has no key. Whatever "
        "lies there in memory is read and gets a weight.",
        read="Odd lengths and empty splits",
    ),
    Mistake(
        name="query-head-for-kv-head",
        check="grid",
        edits=(("head // GROUP", "head"),),
        says="query head h reads key/value head h",
        why="4 query heads with 2 key/value heads: heads 2 and 3 read behind the end of k and v. The neighbours of a "
        "group share one key/value head. Without groups the two numbers are the same, so tests without them pass.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="heads-interleaved",
        check="groups",
        edits=(("head // GROUP", "head % (tl.num_programs(1) // GROUP)"),),
        says="query head h reads key/value head h modulo the number of key/value heads",
        why="That deals the heads out like cards: 0 1 2 0 1 2. A group is made of neighbours: 0 0 1 1 2 2. The "
        "remainder and the quotient agree only when there is one group, or no sharing at all.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="head-modulo-group",
        check="one-split",
        edits=(("head // GROUP", "head % GROUP"),),
        says="query head h reads key/value head h modulo GROUP",
        why="The remainder counts up inside a group and starts again at 0 in the next one; that is a query head's "
        "place in its group. Which group it is in, the quotient says. Without groups every head would read head "
        "0.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="batch-forgotten",
        check="one-split",
        edits=(("K + batch * stride_kb", "K"), ("V + batch * stride_vb", "V")),
        says="all sequences read the keys and values of sequence 0",
        why="Sequence 0 is right and all others are wrong, so a test at batch 1 passes. In a server this would show "
        "one user another user's text.",
        read="03: Strides",
    ),
    Mistake(
        name="k-strides-for-v",
        check="grid",
        edits=(
            ("batch * stride_vb + head_kv * stride_vh", "batch * stride_kb + head_kv * stride_kh"),
        ),
        says="the base of the values is counted with the strides of the keys",
        why="k and v may lie differently in memory, and here they do: v is stored head by head. Batch 0, head 0 is "
        "right, because 0 times any stride is 0.",
        read="03: Strides",
    ),
    Mistake(
        name="head-by-the-key-stride",
        check="grid",
        edits=(
            (
                "K + batch * stride_kb + head_kv * stride_kh",
                "K + batch * stride_kb + head_kv * stride_kn",
            ),
            (
                "V + batch * stride_vb + head_kv * stride_vh",
                "V + batch * stride_vb + head_kv * stride_vn",
            ),
        ),
        says="the key/value head is counted with the stride from key to key",
        why="That stride leads to the next key of the same head, so head 1 starts at key 1 of head 0. Each index goes "
        "with the stride of its own axis.",
        read="03: Strides",
    ),
    Mistake(
        name="batch-and-head-strides-exchanged",
        check="one-split",
        edits=(
            (
                "K + batch * stride_kb + head_kv * stride_kh",
                "K + batch * stride_kh + head_kv * stride_kb",
            ),
            (
                "V + batch * stride_vb + head_kv * stride_vh",
                "V + batch * stride_vh + head_kv * stride_vb",
            ),
        ),
        says="the sequence is counted with the stride of the heads, and the head with that of the sequences",
        why="Each index goes with the stride of its own axis. Sequence 0 with head 0 is right all the same, because 0 "
        "times any stride is 0.",
        read="03: Strides",
    ),
    Mistake(
        name="base-at-the-split",
        check="grid",
        edits=(
            (
                "k_base = K + batch * stride_kb",
                "k_base = K + start * stride_kn + batch * stride_kb",
            ),
            (
                "v_base = V + batch * stride_vb",
                "v_base = V + start * stride_vn + batch * stride_vb",
            ),
        ),
        says="the bases already point at the first key of the split",
        why="The loop adds the number of the key to the base, and that number counts from key 0 of the sequence. So "
        "the start of the split is added twice, and the later splits read other keys, or what lies behind the "
        "last.",
        read="What changes in the kernel",
    ),
)
