"""The shipped passage: its files are whole, and its heads do what their descriptions say."""

from __future__ import annotations

import dataclasses
import doctest
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import fdlib.passage
from fdlib.passage import load_passage

DATA = Path(fdlib.passage.__file__).parent / "data"
PASSAGE = load_passage()
ROLES = {"local", "reference", "induction", "sink", "mixed"}
BY_NAME = [pytest.param(info, id=info.name) for info in PASSAGE.heads]


def attention(index: int) -> torch.Tensor:
    """Causal attention of one query head, (L, L), written out on its own in float64."""
    info = PASSAGE.heads[index]
    q, k = PASSAGE.q[0, :, index].double(), PASSAGE.k[0, :, info.kv_index].double()
    scores = q @ k.T * PASSAGE.softmax_scale
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -torch.inf).softmax(-1)


def with_role(role: str) -> list:
    return [param for param in BY_NAME if param.values[0].role == role]


def test_files_are_small_and_whole():
    content = (DATA / "passage.npz").read_bytes()
    assert len(content) <= 2_000_000
    assert hashlib.sha256(content).hexdigest() == PASSAGE.provenance["npz_sha256"]


def test_layout():
    length = len(PASSAGE.tokens)
    assert 300 <= length <= 500
    assert PASSAGE.q.shape == (1, length, 12, 64)
    assert PASSAGE.k.shape == PASSAGE.v.shape == (1, length, 4, 64)
    for tensor in (PASSAGE.q, PASSAGE.k, PASSAGE.v):
        assert tensor.dtype == torch.float32
        assert tensor.isfinite().all()
        assert torch.equal(tensor, tensor.half().float())  # nothing was lost since the rounding
    assert PASSAGE.softmax_scale == 64**-0.5


def test_tokens_spell_the_passage():
    text = (DATA / "passage.txt").read_text(encoding="ascii")
    assert "".join(PASSAGE.tokens) == text.strip()
    assert all(PASSAGE.tokens)


def test_provenance_is_complete():
    wanted = "title author year source model package version licence weights_sha256 dtype "
    wanted += "softmax_scale extracted_on error_exact error_rounded"
    for field in wanted.split():
        assert PASSAGE.provenance.get(field), field
    assert PASSAGE.provenance["error_exact"] <= 1e-12
    assert PASSAGE.provenance["error_rounded"] <= 2e-3


def test_heads_are_in_the_order_of_q():
    assert [info.index for info in PASSAGE.heads] == list(range(12))
    assert [info.kv_index for info in PASSAGE.heads] == [h // 3 for h in range(12)]
    assert {info.role for info in PASSAGE.heads} == ROLES
    assert len({info.name for info in PASSAGE.heads}) == 12


@pytest.mark.parametrize("info", BY_NAME)
def test_recorded_shares_are_those_of_the_shipped_tensors(info):
    rows = attention(info.index)
    near = rows.triu(-7)
    assert rows[16:, 0].mean().item() == pytest.approx(info.sink_share, abs=1e-3)
    assert near[16:].sum(-1).mean().item() == pytest.approx(info.recent_share, abs=1e-3)
    for query, key, share in info.examples:
        assert rows[query, key].item() == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize("info", with_role("sink"))
def test_sink_heads_look_at_the_first_token(info):
    rows = attention(info.index)
    assert rows[16:, 0].mean() > 0.95
    assert (rows[16:].argmax(-1) == 0).float().mean() > 0.95


@pytest.mark.parametrize("info", with_role("local"))
def test_local_heads_look_at_recent_tokens(info):
    assert info.recent_share > 0.75
    assert info.sink_share < 0.01


def test_the_most_local_head_looks_at_the_token_before():
    rows = attention(PASSAGE.head("L11.H1").index)
    assert rows.diagonal(-1)[16:].mean() > 0.5


@pytest.mark.parametrize("info", with_role("reference"))
def test_reference_heads_look_at_an_earlier_word(info):
    rows = attention(info.index)
    assert len(info.examples) >= 5
    for query, key, share in info.examples:
        assert 0 < key < query
        assert rows[query].argmax() == key
        assert share > 0.5


@pytest.mark.parametrize("info", with_role("induction"))
def test_induction_heads_look_at_what_followed_the_same_token(info):
    rows = attention(info.index)
    assert len(info.examples) >= 5
    for query, key, share in info.examples:
        assert PASSAGE.tokens[key - 1] == PASSAGE.tokens[query]
        assert rows[query].argmax() == key
        assert share > 0.75
    tokens = PASSAGE.tokens
    first_seen = [i for i in range(16, len(tokens)) if tokens[i] not in tokens[:i]]
    assert rows[first_seen, 0].mean() > 0.75  # no last time: the first token


@pytest.mark.parametrize("info", with_role("mixed"))
def test_mixed_heads_have_no_one_place(info):
    assert info.sink_share < 0.5
    assert attention(info.index)[16:].max(-1).values.mean() < 0.5


def test_head_is_found_by_name():
    assert PASSAGE.head("L13.H8").index == 5
    with pytest.raises(ValueError, match=r"name: got 'L99.H0', takes one of L11.H0, "):
        PASSAGE.head("L99.H0")


def test_a_passage_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PASSAGE.softmax_scale = 1.0


@pytest.mark.parametrize("name", ["passage.npz", "passage.json"])
def test_a_missing_file_is_named(tmp_path, name):
    _copy_to(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"{name} is missing"):
        load_passage(tmp_path)


def test_a_changed_byte_is_noticed(tmp_path):
    _copy_to(tmp_path)
    content = bytearray((tmp_path / "passage.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "passage.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"passage\.npz is damaged: its SHA-256 is"):
        load_passage(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tokens": []}'])
def test_a_damaged_record_is_noticed(tmp_path, text):
    _copy_to(tmp_path)
    (tmp_path / "passage.json").write_text(text)
    with pytest.raises(ValueError, match=r"passage\.json is damaged"):
        load_passage(tmp_path)


def test_import_does_not_load_torch():
    code = "import sys, fdlib.passage; assert 'torch' not in sys.modules, 'torch was imported'"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_docstring_example():
    assert doctest.testmod(fdlib.passage).failed == 0
    assert json.loads((DATA / "passage.json").read_text())["tokens"] == list(PASSAGE.tokens)


def _copy_to(folder: Path) -> None:
    for name in ("passage.npz", "passage.json"):
        shutil.copy(DATA / name, folder / name)
