"""Known mistakes of exercise 05, second part: which keys a split takes."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["RANGE_MISTAKES"]

_START = "start = split * blocks // num_splits * BLOCK_N"
_END = "end = tl.minimum((split + 1) * blocks // num_splits * BLOCK_N, len_kv)"

RANGE_MISTAKES = (
    Mistake(
        name="blocks-rounded-down",
        check="one-split",
        edits=(("tl.cdiv(len_kv, BLOCK_N)", "len_kv // BLOCK_N"),),
        says="the number of blocks is rounded down, so the keys of a partly filled last block are lost",
        why="47 keys in blocks of 16 are two full blocks and 15 keys more; one key alone is no block at all. Round "
        "lengths hide this. In a kernel // rounds towards 0, so that -(-a // b) does not round up as it does in "
        "Python.",
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
        name="keys-per-split-rounded-up",
        check="several-splits",
        edits=(
            (_START, "start = tl.minimum(split * tl.cdiv(len_kv, num_splits), len_kv)"),
            (_END, "end = tl.minimum((split + 1) * tl.cdiv(len_kv, num_splits), len_kv)"),
        ),
        says="every split gets the rounded-up number of keys, wherever a block ends",
        why="As attention this is right, but then every split ends in a partly filled block. Cut at block "
        "boundaries, and only the very last block of all is partial.",
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
)
