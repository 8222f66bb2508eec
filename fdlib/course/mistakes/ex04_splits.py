"""Known mistakes of exercise 04, last part: the number of splits."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["SPLITS_MISTAKES"]

_SPLITS = "-(-num_sms // (batch * heads_q))"

SPLITS_MISTAKES = (
    Mistake(
        name="splits-rounded-down",
        check="splits",
        edits=((_SPLITS, "num_sms // (batch * heads_q)"),),
        says="the number of splits is rounded down",
        why="8 heads with 16 parts each are 128 programs, and 4 of 132 SMs stay idle. To give every SM a program, "
        "round up; it is then never 0 either.",
        read="Build: exercise 04",
    ),
    Mistake(
        name="splits-rounded-down-at-least-one",
        check="splits",
        edits=((_SPLITS, "max(1, num_sms // (batch * heads_q))"),),
        says="the number of splits is rounded down, and is 1 where that gives 0",
        why="The 1 is right where there are more heads than SMs. But 8 heads with 16 parts each are 128 programs, and "
        "4 of 132 SMs stay idle. Rounded up, it is never 0 by itself.",
        read="Build: exercise 04",
    ),
    Mistake(
        name="splits-rounded-to-the-nearest",
        check="splits",
        edits=((_SPLITS, "max(1, round(num_sms / (batch * heads_q)))"),),
        says="the number of splits is rounded to the nearest whole number",
        why="16.4 parts then become 16, and some SMs get no program. Any fraction that is left over stands for SMs "
        "that need one: round up.",
        read="Build: exercise 04",
    ),
    Mistake(
        name="splits-one-too-many",
        check="splits",
        edits=((_SPLITS, "num_sms // (batch * heads_q) + 1"),),
        says="1 is always added to the rounded-down number of splits",
        why="12 heads fill 132 SMs with exactly 11 parts. A twelfth is not needed, and each part costs: it has to be "
        "written and merged.",
        read="Build: exercise 04",
    ),
    Mistake(
        name="splits-batch-forgotten",
        check="splits",
        edits=((_SPLITS, "-(-num_sms // heads_q)"),),
        says="the sequences of the batch are not counted as programs",
        why="Every sequence brings a program for each of its heads and parts. At batch 3 a third of the parts is "
        "enough.",
        read="Is batching the cure?",
    ),
)
