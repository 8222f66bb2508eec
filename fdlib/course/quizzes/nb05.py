"""Questions of notebook 05."""

from __future__ import annotations

from fdlib.course.quizzes import Choice, Foreseen, Number, OneOf
from fdlib.gpus import get_gpu
from fdlib.plan import cdiv
from fdlib.recorded import load_recorded

__all__ = ["QUESTIONS"]

BATCH, HEADS, SMS = 2, 12, get_gpu("A100").num_sms
FEW, MANY, KEYS = 128, 256, 131_072


def _sweep() -> dict[int, float]:
    """Number of splits -> recorded microseconds, 8/1 heads and KEYS keys."""
    points = load_recorded("h200_decode")["splits"]
    return {
        point["num_splits"]: point["time_us"]
        for point in points
        if (point["heads_kv"], point["len_kv"]) == (1, KEYS)
    }


TIMES = _sweep()

QUESTIONS = (
    Number(
        name="splits that fill a GPU",
        text=f"Batch {BATCH}, {HEADS} query heads, a very long context, a GPU with {SMS} SMs, and the grid "
        "of exercise 05. What is the smallest number of splits that gives every SM a program?",
        unit="splits",
        value=lambda: cdiv(SMS, BATCH * HEADS),
        why=f"{BATCH} x {HEADS} = {BATCH * HEADS} programs a split, and {SMS} / {BATCH * HEADS} is "
        f"rounded up: {BATCH * HEADS * cdiv(SMS, BATCH * HEADS)} programs.",
        foreseen=(
            Foreseen(
                lambda: SMS / (BATCH * HEADS),
                "A split is whole. With how many whole splits has every SM a program?",
            ),
            Foreseen(
                lambda: SMS // (BATCH * HEADS),
                f"You rounded down: {SMS // (BATCH * HEADS) * BATCH * HEADS} programs for {SMS} SMs. "
                "Some get none.",
            ),
            Foreseen(
                lambda: cdiv(SMS, HEADS),
                "You left out the batch: both sequences bring their own programs.",
            ),
            Foreseen(lambda: cdiv(SMS, BATCH), "You left out the heads: the grid has them too."),
            Foreseen(
                lambda: SMS,
                "That would do for one sequence with one head. The grid is splits x heads x batch.",
            ),
        ),
        otherwise="The programs are splits x query heads x batch (section 3). They must be at least as "
        "many as the SMs.",
    ),
    OneOf(
        "twice the splits",
        f"An H200, batch 1, 8/1 heads, {KEYS:,} keys, fdlib's kernel: one program per key/value head and "
        f"split. With {FEW} splits nearly every SM has a program. You take {MANY}. What happens to the "
        "time?",
        (
            Choice(
                "It rises: hardly an SM is left to win, and there are more partial results to write and merge.",
                f"recorded: {TIMES[FEW]:.1f} us with {FEW} splits, {TIMES[MANY]:.1f} us with {MANY}. "
                "The picture of section 11 shows the whole line.",
                right=True,
            ),
            Choice(
                "It falls to half: each program has half the keys.",
                "each has half the keys, but there are twice as many programs for the same SMs and the "
                f"same bandwidth. Recorded: {TIMES[FEW]:.1f} us, then {TIMES[MANY]:.1f} us.",
            ),
            Choice(
                "It stays exactly the same: the total work is the same.",
                "the reads of keys and values are the same. The partial results are not: each split "
                "writes an output and an LSE, and the combine reads them all.",
            ),
            Choice(
                "It doubles: with more splits each key is read more often.",
                "every key is in exactly one split, however many there are (section 4).",
            ),
        ),
    ),
    OneOf(
        "a split without keys",
        "There are more splits than blocks of keys, so one split has none. What must it store?",
        (
            Choice(
                "output 0 and LSE -inf",
                "exp(-inf) is 0, so it has no share, and 0 times its output of 0 is 0.",
                right=True,
            ),
            Choice(
                "output 0 and LSE 0",
                "an LSE of 0 means a sum of exp(0) = 1: as much as one key with the score 0. The merged "
                "output would be pulled towards 0.",
            ),
            Choice(
                "output NaN and LSE -inf: with no share, the output does not matter",
                "its share is 0, but 0 · NaN is NaN. One NaN spoils the whole row.",
            ),
            Choice(
                "nothing: a split without keys has nothing to say",
                "the combine reads its place all the same, and finds there what happened to be in the "
                "memory.",
            ),
        ),
    ),
)
