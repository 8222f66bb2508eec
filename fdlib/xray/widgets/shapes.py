"""The controls that choose the shape of a decoding step, in the words of the notebooks."""

from __future__ import annotations

from fdlib.gpus import GPUS
from fdlib.shapes import AttentionShape
from fdlib.xray.widgets.controls import Choice, Stops

__all__ = ["BATCH", "GPU", "HEADS", "KEYS", "decode_shape"]

# query heads / key-value heads, and who has them
_HEADS = {
    "1/1": "one head",
    "8/1": "70B, 8 GPUs",
    "16/2": "70B, 4 GPUs",
    "32/8": "8B, 1 GPU",
    "32/32": "no sharing",
}
_KEYS = (0, 8, *(2**power for power in range(10, 20)))

BATCH = Stops("Batch", [2**power for power in range(7)], 1)
HEADS = Choice("Heads", [(f"{heads}: {who}", heads) for heads, who in _HEADS.items()], "8/1")
KEYS = Stops("Keys", _KEYS, 131_072)
GPU = Choice("GPU", list(GPUS), "H200")


def decode_shape(batch: int, heads: str, keys: int) -> AttentionShape:
    """One query a sequence, head_dim 128, bfloat16; ``heads`` as the control has them.

    >>> decode_shape(1, "8/1", 1024).heads_q
    8
    """
    heads_q, heads_kv = map(int, heads.split("/"))
    return AttentionShape(batch=batch, heads_q=heads_q, heads_kv=heads_kv, len_kv=keys)
