"""Known mistakes of exercise 03 in the loads of keys and values."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["LOAD_MISTAKES"]

_K = "k_base + offs_n[:, None] * stride_kn"
_V = "v_base + offs_n[:, None] * stride_vn"
_MASKED = " + offs_d[None, :], mask=in_keys[:, None], other=0.0"
_IN_KEYS, _VISIBLE = "in_keys = offs_n < len_kv", "visible = offs_n[None, :] < len_kv"

LOAD_MISTAKES = (
    Mistake(
        name="values-with-strides-of-keys",
        check="one-block",
        edits=((_V, "v_base + offs_n[:, None] * stride_kn"),),
        says="the values are read with the strides of the keys",
        why="k and v need not lie in memory in the same way, so each has strides of its own. With the wrong one, all "
        "rows but the first come from somewhere else. Where k and v have the same layout it does not show.",
        read="Strides",
    ),
    Mistake(
        name="keys-as-values",
        check="one-block",
        edits=((_V, _K),),
        says="the keys are loaded a second time in place of the values",
        why="The two loads look alike. The weights and the LSE are right, for they need only q and k; the output is a "
        "mean of keys.",
        read="I see this error",
    ),
    Mistake(
        name="values-as-keys",
        check="one-block",
        edits=((_K, _V),),
        says="the values are loaded in place of the keys",
        why="The two loads look alike. Then each query is compared with values, so the scores, and with them the LSE, "
        "are wrong from the start.",
        read="I see this error",
    ),
    Mistake(
        name="one-key-past-the-end",
        check="tail",
        edits=((_IN_KEYS, "in_keys = offs_n <= len_kv"),),
        says="one key past the end is loaded",
        why="Keys count from 0, so the last one is number len_kv - 1, and number len_kv does not exist. Try the mask "
        "by hand with one key: only number 0 may be read.",
        read="Pointers, `tl.arange`, masks",
    ),
    Mistake(
        name="keys-not-masked",
        check="tail",
        edits=((_K + _MASKED, f"{_K} + offs_d[None, :]"),),
        says="keys past the end are loaded",
        why="The last block can reach past the last key. What lies there belongs to somebody else or to nobody: the "
        "load may crash. Hiding the scores later does not undo the read.",
        read="Pointers, `tl.arange`, masks",
    ),
    Mistake(
        name="values-not-masked",
        check="tail",
        edits=((_V + _MASKED, f"{_V} + offs_d[None, :]"),),
        says="values past the end are loaded",
        why="Their weight is 0, but what lies there can be NaN, and 0 · NaN is NaN: one such row spoils the whole "
        "output. Do not read what does not exist; put 0 there.",
        read="Pointers, `tl.arange`, masks",
    ),
    Mistake(
        name="keys-counted-as-queries",
        check="one-block",
        edits=(
            (_IN_KEYS, "in_keys = offs_n < len_q"),
            (_VISIBLE, "visible = offs_n[None, :] < len_q"),
        ),
        says="the keys end where the queries end",
        why="There are two lengths. Keys and values are bounded by the number of keys; with 16 queries and 32 keys, "
        "half of them would be left out. As many queries as keys hide the mistake.",
        read="Pointers, `tl.arange`, masks",
    ),
    Mistake(
        name="first-block-again",
        check="many-blocks",
        edits=(
            (_K, "k_base + tl.arange(0, BLOCK_N)[:, None] * stride_kn"),
            (_V, "v_base + tl.arange(0, BLOCK_N)[:, None] * stride_vn"),
        ),
        says="every round loads the first block of keys and values",
        why="Rows 0 to BLOCK_N - 1 are those of the first round. Later rounds begin further on, and the numbers that "
        "say which keys are on turn are there already. With one block it does not show.",
        read="Loops and running values",
    ),
)
