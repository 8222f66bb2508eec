"""Known mistakes of exercise 05, third part: which sequence and head a program reads."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["PROGRAM_MISTAKES"]

PROGRAM_MISTAKES = (
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
        name="values-out-of-k",
        check="grid",
        edits=(("v_base = V + batch", "v_base = K + batch"),),
        says="the base of the values points into k",
        why="A line was copied: k stands where v belongs, with the strides of v. Even where the two lie alike in "
        "memory, the weights would then mix the keys.",
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
