"""A real passage as a real model saw it: tokens, and the Q, K, V of twelve of its heads.

SmolLM2-135M-Instruct read the opening of Alice's Adventures in Wonderland. Four of its groups are
kept: one key-value head each, with the three query heads that share it, from layers 11, 13, 16 and
18. They stand side by side as if they were one layer with 12 query and 4 key-value heads.
`fdlib/data/extract_passage.py` made the files and says from what.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__all__ = ["HeadInfo", "Passage", "load_passage"]

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class HeadInfo:
    """One query head of the passage: where it sits in the model, and what it looks at."""

    index: int  # in Passage.q
    kv_index: int  # in Passage.k and Passage.v
    layer: int  # in the model
    head: int  # in that layer of the model
    role: str  # "local", "reference", "induction", "sink" or "mixed"
    description: str
    sink_share: float  # attention on token 0, mean over the queries from 16 on
    recent_share: float  # attention on the query and the seven tokens before it, the same mean
    examples: tuple[tuple[int, int, float], ...]  # (query position, key position, attention)

    @property
    def name(self) -> str:
        """The head's usual name, such as `L13.H8`."""
        return f"L{self.layer}.H{self.head}"


@dataclass(frozen=True, eq=False)
class Passage:
    """Tokens, and q (1, L, 12, 64), k, v (1, L, 4, 64) as float32 CPU tensors.

    The rotary embedding is already in q and k: causal softmax(q k^T * softmax_scale) v is exactly
    what the model's attention computes for these heads. Query head h reads key-value head h // 3.
    """

    tokens: tuple[str, ...]
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    softmax_scale: float
    heads: tuple[HeadInfo, ...]
    provenance: dict[str, Any]

    def head(self, name: str) -> HeadInfo:
        """The head of that name (`L13.H8`); raises ValueError for a head that is not here."""
        for info in self.heads:
            if info.name == name:
                return info
        known = ", ".join(info.name for info in self.heads)
        raise ValueError(f"name: got {name!r}, takes one of {known}")


def load_passage(folder: Path | None = None) -> Passage:
    """Load the passage that the course ships, or one extracted into `folder`.

    The file holds float16, about 1 MB; the tensors are float32. Raises FileNotFoundError if a file
    is missing and ValueError if a file is damaged. Source: `provenance`.

    >>> passage = load_passage()
    >>> passage.q.shape, passage.k.shape
    (torch.Size([1, 391, 12, 64]), torch.Size([1, 391, 4, 64]))
    >>> info = passage.head("L13.H8")
    >>> query, key, share = info.examples[0]
    >>> passage.tokens[query], passage.tokens[key], round(share, 2)
    (' it', ' book', 0.69)
    """
    import torch

    folder = _DATA if folder is None else Path(folder)
    record = _read_record(folder / "passage.json")
    arrays = _read_arrays(folder / "passage.npz", record["npz_sha256"])
    q, k, v = (torch.from_numpy(arrays[name]).float() for name in "qkv")
    tokens = tuple(record.pop("tokens"))
    heads = tuple(_head_info(entry) for entry in record.pop("heads"))
    return Passage(tokens, q, k, v, record["softmax_scale"], heads, record)


def _read_bytes(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing: it is part of the repository and of the package; "
            "restore it with `git checkout`, or install fdlib again"
        )
    return path.read_bytes()


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(_read_bytes(path))
        missing = {"npz_sha256", "softmax_scale", "tokens", "heads"} - record.keys()
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: not the JSON object expected ({error})") from error
    if missing:
        raise ValueError(f"{path} is damaged: it has no {', '.join(sorted(missing))}")
    return record


def _read_arrays(path: Path, sha256: str) -> dict[str, Any]:
    import numpy as np

    content = _read_bytes(path)
    got = hashlib.sha256(content).hexdigest()
    if got != sha256:
        raise ValueError(f"{path} is damaged: its SHA-256 is {got}, passage.json says {sha256}")
    with np.load(io.BytesIO(content)) as arrays:
        return {name: arrays[name] for name in "qkv"}


def _head_info(entry: dict[str, Any]) -> HeadInfo:
    examples = tuple((query, key, share) for query, key, share in entry.pop("examples"))
    return HeadInfo(**entry, examples=examples)
