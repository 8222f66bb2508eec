"""Questions of notebook 04."""

from __future__ import annotations

from fdlib.course.quizzes import Choice, Foreseen, Number, OneOf
from fdlib.gpus import get_gpu
from fdlib.plan import flash_attention_programs
from fdlib.shapes import model

__all__ = ["QUESTIONS"]

USERS = 4
CALL = model("Llama-3.1-70B").shape(16_384, batch=USERS, gpus=8)
SMS = get_gpu("H200").num_sms
QWEN = model("Qwen2.5-7B")
LAYER = QWEN.shape(32_768, dtype="float16")


def _idle(programs: int) -> float:
    return 100 * (1 - min(programs, SMS) / SMS)


def _asked_mb() -> float:
    return LAYER.kv_bytes * LAYER.group_size / 1e6


QUESTIONS = (
    OneOf(
        "GPU utilisation",
        "nvidia-smi shows 100% GPU utilisation all the time while a model writes. What do you know?",
        (
            Choice(
                "At any time, some kernel was running.",
                "it is a share of time, not of SMs. One program on one SM, all the time, reads 100%.",
                right=True,
            ),
            Choice(
                "All SMs were busy.",
                "the number does not say how many SMs had work. In this notebook's recording 8 of 132 "
                'had, and while they last it reads 100%: see "The trap".',
            ),
            Choice(
                "The bandwidth of the memory was used up.",
                "the number knows nothing of bytes. Divide the bytes by the time and hold that to the "
                "data sheet.",
            ),
            Choice(
                "More programs at the same time could not make it faster.",
                "they can, if SMs are idle. The recording has four times the programs in the same time.",
            ),
        ),
    ),
    Number(
        name="idle SMs of four users",
        text=f"{USERS} users at the same time, one token each, on an H200 with {SMS} SMs. A layer has "
        f"{CALL.heads_q} query heads and {CALL.heads_kv} key/value head on this GPU. You launch the kernel "
        "of notebook 03. How many percent of the SMs get no program?",
        unit="%",
        tolerance=0.01,
        value=lambda: _idle(flash_attention_programs(CALL)),
        why=f"{USERS} x {CALL.heads_q} = {flash_attention_programs(CALL)} programs, so "
        f"{SMS - flash_attention_programs(CALL)} of {SMS} SMs are idle.",
        foreseen=(
            Foreseen(
                lambda: 100 - _idle(flash_attention_programs(CALL)),
                "This is the share that has work. The others are idle.",
            ),
            Foreseen(
                lambda: _idle(CALL.heads_q),
                "This is one user. Each sequence of the batch has its own programs.",
            ),
            Foreseen(
                lambda: _idle(USERS * CALL.heads_kv),
                "You counted key/value heads. The grid has a program for each query head.",
            ),
            Foreseen(
                lambda: _idle(flash_attention_programs(CALL)) / 100,
                "That is the fraction. The question asks for percent.",
            ),
            Foreseen(
                lambda: float(SMS - flash_attention_programs(CALL)),
                "This is the number of idle SMs. The question asks for percent of all.",
            ),
            Foreseen(
                lambda: 0.0,
                "You may have cut the keys. This kernel does not: a program walks over all of them.",
            ),
        ),
        otherwise="Count the programs first (query blocks x query heads x sequences), then the SMs "
        'that are left: see "The grid".',
    ),
    Number(
        name="bytes asked for",
        text=f"{QWEN.name} has {LAYER.heads_q} query heads and {LAYER.heads_kv} key/value heads, "
        f"D = {LAYER.head_dim}, 2 bytes a number. One user, {LAYER.len_kv:,} tokens in the cache. With "
        "the kernel of notebook 03, how many MB (10⁶ bytes) of keys and values do the programs of one "
        "layer ask for, all together?",
        unit="MB",
        tolerance=0.02,
        value=_asked_mb,
        why=f"Each of the {LAYER.heads_q} programs walks over all keys and values of its key/value head, "
        f"so each is asked for {LAYER.group_size} times. HBM need not deliver it as often: L2 keeps "
        "what a neighbour just read.",
        foreseen=(
            Foreseen(
                lambda: LAYER.kv_bytes / 1e6,
                "This is the KV cache of the layer, once. But the cache is not read once for all heads: "
                f"{LAYER.group_size} query heads share a key/value head, and each has a program that "
                "walks over all of it.",
            ),
            Foreseen(
                lambda: _asked_mb() / 2,
                "It is half. Keys and values are two tensors, and each number has 2 bytes.",
            ),
            Foreseen(
                lambda: _asked_mb() / LAYER.heads_q,
                "This is one program. There is one a query head.",
            ),
            Foreseen(
                lambda: _asked_mb() * LAYER.heads_kv,
                "You multiplied by both kinds of heads. A program reads one key/value head, not all of them.",
            ),
            Foreseen(
                lambda: _asked_mb() * QWEN.layers,
                f"This is the whole model, {QWEN.layers} layers. The question is about one.",
            ),
            Foreseen(lambda: _asked_mb() * 8, "You counted bits. A byte has 8 of them."),
            Foreseen(lambda: _asked_mb() / 1e3, "This is in GB. The question asks for MB."),
            Foreseen(
                lambda: _asked_mb() * 1e6 / 2**20,
                "This is in units of 2²⁰ bytes (MiB). The question asks for MB, 10⁶ bytes.",
            ),
        ),
        otherwise="Bytes of one program: 2 tensors x tokens x D x 2 bytes. How many programs are "
        'there? See "Explain the difference".',
    ),
)
