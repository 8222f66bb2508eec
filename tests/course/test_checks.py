"""The checks of the exercises: right answers pass; skeletons and wrong answers do not.

An answer is a solution with edits in its marked regions, each `text | replacement`, parted by `;;`.
An indented line continues the one above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from fdlib import device
from fdlib.course.catalogue import EXERCISES, Exercise, find, solution_path
from fdlib.course.checks import Check, CheckContext, all_checks, load_checks, validate
from fdlib.course.grading.loader import load_module
from fdlib.course.grading.runner import check
from fdlib.course.regions import outside, regions, skeleton

WRONG = r"""# exercise, the first check that fails, what is wrong: edits
1 one-key scale missing: / math.sqrt(head_dim) |
1 one-key q scaled in place: q @ k.transpose(-1, -2) / math.sqrt(head_dim) | q.div_(head_dim**0.5) @ k.mT
1 all-keys lse in base 2: torch.logsumexp(scores, dim=-1) | torch.log2(torch.exp2(scores).sum(-1))
1 large-scores no maximum: torch.logsumexp(scores, dim=-1) | torch.log(torch.exp(scores).sum(-1))
1 causal off by one: > position[:, None] | >= position[:, None]
1 causal top-left: len_kv - len_q + torch | torch
1 causal hidden scores 0: float("-inf") | 0.0
1 cache-write a copy: k_cache[:, length] | k_cache = k_cache.clone(); k_cache[:, length]
1 decode new token left out: k_cache[:, :length], v_cache[:, :length] | k_cache[:, :length-1], v_cache[:, :length-1]
1 decode unused part read: k_cache[:, :length], v_cache[:, :length] | k_cache, v_cache
2 first-block maximum starts at 0: torch.maximum(m, | torch.maximum(m.clamp(min=0.0),
2 first-block base 2: torch.exp(scores | torch.exp2(scores
2 first-block normalised twice: p @ v | p @ v / l_new[..., None]
2 correction sum not rescaled: l * alpha + | l +
2 correction acc not rescaled: acc * alpha[..., None] + | acc +
2 correction block's own maximum: scores - m_safe[..., None] | scores - scores.amax(-1, keepdim=True)
2 hidden-rows inf - inf: torch.where(m_new == NEG_INF, 0.0, m_new) | m_new
2 finish not divided: acc / l_safe[..., None] | acc
2 finish 0 / 0: torch.where(seen, l, 1.0) | l
3 one-block k and v strides exchanged: offs_n[:, None] * stride_vn | offs_n[:, None] * stride_kn
3 one-block scale doubled: * scale | * scale * scale
3 one-block scale on the weights: * scale | ;; p.to(v.dtype) | (p * scale).to(v.dtype)
3 one-block lse in base 2: tl.log(l_safe) | tl.log2(l_safe)
3 one-block maximum over the queries: tl.max(qk, 1) | tl.max(qk, 0)
3 one-block sum over the queries: tl.sum(p, 1) | tl.sum(p, 0)
3 tail values past the end: stride_vn + offs_d[None, :], mask=in_keys[:, None], other=0.0 | stride_vn + offs_d[None, :]
3 many-blocks sum not rescaled: l_i * alpha + | l_i +
3 many-blocks acc not rescaled: acc * alpha[:, None] + | acc +
3 large-scores maximum starts at 0: tl.maximum(m_i, | tl.maximum(tl.maximum(m_i, 0.0),
3 large-scores mask after the maximum: qk = tl.where(visible, qk, float("-inf")) | qk = qk
    ;; p = tl.exp(qk - m_safe[:, None]) | p = tl.where(visible, tl.exp(qk - m_safe[:, None]), 0.0)
3 causal off by one: (offs_n[None, :] <= | (offs_n[None, :] <
3 causal top-left: <= len_kv - len_q + offs_m | <= offs_m
3 empty-rows inf - inf: tl.where(m_new == float("-inf"), 0.0, m_new) | m_new
3 float16 acc in float16: acc * alpha[:, None] + | acc.to(v.dtype) * alpha[:, None] +
4 grid floor: -(-len_q // block_m) | max(1, len_q // block_m)
4 idle no cap at the SMs: min(programs, num_sms) | programs
4 kv-bytes V forgotten: 2 * batch * heads_kv | batch * heads_kv
4 flops one product: 2 * (2 * batch | (2 * batch
4 intensity H_q for H_kv: kv_bytes(batch, heads_kv | kv_bytes(batch, heads_q
4 intensity out forgotten: kv_read + q_bytes | kv_read
4 time GiB: 1e9 | 2**30
4 time all SMs: 1e9 * busy_share | 1e9
4 splits floor: -(-num_sms // (batch * heads_q)) | max(1, num_sms // (batch * heads_q))
5 grid one program per key/value head: (num_splits, heads_q, batch) | (num_splits, k.shape[2], batch)
5 grid axes exchanged: (num_splits, heads_q, batch) | (heads_q, num_splits, batch)
5 one-split floor of blocks: tl.cdiv(len_kv, BLOCK_N) | len_kv // BLOCK_N
5 one-split end past the last key: tl.minimum((split + 1) * blocks // num_splits * BLOCK_N, len_kv)
    | (split + 1) * blocks // num_splits * BLOCK_N
5 one-split tail not hidden: tl.where(in_keys, qk, float("-inf")) | qk
5 grid k and v strides exchanged: head_kv * stride_vh | head_kv * stride_kh
5 one-split acc not rescaled: acc * alpha + | acc +
5 several-splits blocks lost: start = split * blocks // num_splits | start = split * (blocks // num_splits)
    ;; (split + 1) * blocks // num_splits | (split + 1) * (blocks // num_splits)
5 several-splits divided by the splits: acc / l_safe | acc / l_safe / num_splits
5 groups heads interleaved: head // GROUP | head % (tl.num_programs(1) // GROUP)
5 empty-splits 0 / 0: tl.where(l_i == 0.0, 1.0, l_i) | l_i
5 float16 rounded early: out = acc / l_safe | out = (acc / l_safe).to(Q.dtype.element_ty)
6 merge an average: numerator / torch | (out_a + out_b) / 2; out + 0 * numerator / torch
6 merge lse is the maximum: m + torch.log(total) | m
6 merge-extremes no maximum: torch.maximum(lse_a, lse_b) | torch.zeros_like(lse_a)
6 merge-extremes inf - inf: torch.where(m == float("-inf"), 0.0, m) | m
6 combine an average: tl.sum(weights[:, None] * parts, 0) / total_safe | tl.sum(parts, 0) / num_splits
6 combine not a split: mask=in_splits, other=float("-inf") | mask=in_splits, other=0.0
6 combine parts past the end: tl.load(part_ptrs, mask=in_splits[:, None], other=0.0) | tl.load(part_ptrs)
6 combine normalised twice: / total_safe | / total_safe / total_safe
6 combine-extremes 0 / 0: tl.where(total == 0.0, 1.0, total) | total
6 flash-decode last split dropped: combine(out_partial, lse_partial, | combine(out_partial[:-1], lse_partial[:-1],
6 flash-decode fdlib's merge: combine(out_partial, lse_partial, dtype=q.dtype)
    | fdlib.merge_states(list(out_partial), list(lse_partial)); out = out.to(q.dtype)
6 own-split-kv rounded early: combine(out_partial, | combine(out_partial.to(q.dtype),
"""
RIGHT = r"""# exercise, how it differs: edits
1 einsum, softmax: q @ k.transpose(-1, -2) / math.sqrt(head_dim)
    | torch.einsum("bhmd,bhnd->bhmn", q, k * head_dim**-0.5) ;; torch.exp(scores - lse[..., None]) @ v
    | torch.softmax(scores, dim=-1) @ v
1 an added mask, the maximum by hand: scores.masked_fill(hidden, float("-inf"))
    | scores + torch.full_like(scores, -math.inf).triu(len_kv - len_q + 1) ;; torch.logsumexp(scores, dim=-1)
    | scores.amax(-1) + (scores - scores.amax(-1, keepdim=True)).exp().sum(-1).log()
1 slices, a causal step: k_cache[:, length] = k_new[:, 0] | k_cache[:, length : length + 1] = k_new
    ;; v_cache[:, length] = v_new[:, 0] | v_cache.narrow(1, length, 1).copy_(v_new) ;; v_cache[:, :length])
    | v_cache[:, :length], causal=True)
2 exp2: torch.exp(m - m_safe) | torch.exp2((m - m_safe) / math.log(2)) ;; torch.exp(scores - m_safe[..., None])
    | torch.exp2((scores - m_safe[..., None]) / math.log(2))
2 NaN mended, in place: torch.where(m_new == NEG_INF, 0.0, m_new) | m_new ;; torch.exp(m - m_safe)
    | torch.exp(m - m_safe).nan_to_num(0.0) ;; torch.exp(scores - m_safe[..., None])
    | scores.sub_(m_safe[..., None]).exp_().nan_to_num_(0.0) ;; l * alpha | l.mul_(alpha)
2 the block's state, then merged: p = torch.exp(scores - m_safe[..., None])
    | peak = scores.amax(-1).clamp(min=-1e30); beta = torch.exp(peak - m_safe); p = torch.exp(scores - peak[..., None])
    ;; p.sum(dim=-1) | beta * p.sum(dim=-1) ;; p @ v | torch.einsum("...m,...mn,...nd->...md", beta, p, v)
    ;; acc / l_safe[..., None] | torch.where(seen[..., None], acc / l[..., None], 0.0)
3 base 2: * scale | * (scale * 1.4426950408889634) ;; tl.exp(m_i | tl.exp2(m_i ;; tl.exp(qk | tl.exp2(qk
    ;; m_i + tl.log(l_safe) | (m_i + tl.log2(l_safe)) * 0.6931471805599453
3 keys loaded transposed: k_base + offs_n[:, None] * stride_kn + offs_d[None, :], mask=in_keys[:, None]
    | k_base + offs_n[None, :] * stride_kn + offs_d[:, None], mask=in_keys[None, :] ;; tl.trans(k) | k
3 an added mask, one dot: qk = tl.where(visible, qk, float("-inf")) | qk += tl.where(visible, 0.0, float("-inf"))
    ;; acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    | acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
4 other ways to round up: -(-len_q // block_m) | (len_q + block_m - 1) // block_m
    ;; -(-num_sms // (batch * heads_q)) | (num_sms - 1) // (batch * heads_q) + 1
4 idle SMs counted: busy = min(programs, num_sms) | idle = max(0, num_sms - programs) ;; 1 - busy / num_sms
    | idle / num_sms ;; (bandwidth_gbs * 1e9 * busy_share) | bandwidth_gbs / 1e9 / busy_share
4 counted in loops, one fraction: -(-len_q // block_m) | len(range(0, len_q, block_m))
    ;; -(-num_sms // (batch * heads_q)) | len(range(0, num_sms, batch * heads_q))
    ;; flops(batch, heads_q, len_q, len_kv, head_dim) / traffic
    | 2 / element_bytes / (1 / (heads_q // heads_kv * len_q) + 1 / len_kv)
5 base 2: * scale | * (scale * 1.4426950408889634) ;; tl.exp(m_i | tl.exp2(m_i ;; tl.exp(qk | tl.exp2(qk
    ;; m_i + tl.log(l_safe) | (m_i + tl.log2(l_safe)) * 0.6931471805599453
5 a padded dot: tl.sum(q[None, :] * k, 1)
    | tl.max(tl.dot(k, tl.trans(tl.broadcast_to(q[None, :], [16, HEAD_DIM])), input_precision="ieee"), 1)
5 other integers, weights masked: tl.cdiv(len_kv, BLOCK_N) | (len_kv + BLOCK_N - 1) // BLOCK_N ;; head // GROUP
    | (head - head % GROUP) // GROUP ;; start = split * blocks // num_splits
    | start = (blocks * split - blocks * split % num_splits) // num_splits ;; p = tl.exp(qk - m_new)
    | p = tl.where(in_keys, tl.exp(qk - m_new), 0.0)
6 logaddexp, a finite maximum: m + torch.log(total) | torch.logaddexp(lse_a, lse_b)
    ;; m = tl.where(m == float("-inf"), 0.0, m) | m = tl.maximum(m, -1e30)
6 softmax of the LSEs: torch.exp(lse_a - m), torch.exp(lse_b - m)
    | torch.softmax(torch.stack([lse_a, lse_b]), dim=0).nan_to_num(0.0) ;; m + torch.log(total)
    | torch.logsumexp(torch.stack([lse_a, lse_b]), dim=0)
6 the LSE first: tl.sum(weights[:, None] * parts, 0) / total_safe
    | tl.sum(tl.exp(lse_parts - m - tl.log(total_safe))[:, None] * parts, 0)
"""


def _edits(table: str) -> list[pytest.ParameterSet]:
    rows = [row.split(": ", 1) for row in re.sub(r"\n +", " ", table).splitlines()[1:]]
    return [pytest.param(int(head[0]), head[2:], edits, id=head) for head, edits in rows]


def edited(number: int, edits: str) -> str:
    """The solution with these edits, each of a text that stands once in its marked regions."""
    solution = source = solution_path(number).read_text(encoding="utf-8")
    for edit in edits.split(";;"):
        old, new = re.split(r" \|(?: |$)", edit.strip())
        (body,) = [region.body for region in regions(source) if old in region.body]
        assert body.count(old) == source.count(body) == 1, f"{old!r} stands there more than once"
        source = source.replace(body, body.replace(old, new))
    assert source != solution
    assert outside(source) == outside(solution)
    return source


def load_text(number: int, source: str) -> ModuleType:
    name = find(number).module_name
    return load_module(Path(f"{name}.py").absolute(), name, source)


def _failures(module: ModuleType, number: int, seed: int = 0) -> Iterator[str]:
    for each in load_checks(find(number)):
        try:
            each.run(module, CheckContext(seed, each.name, device.choose_mode()))
        except Exception:
            yield each.name


per_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.module_name)


@per_exercise
def test_the_solution_gets_10_points_with_any_seed(exercise: Exercise) -> None:
    assert sum(each.points for each in all_checks(exercise)) == 10
    module = load_text(exercise.number, solution_path(exercise.number).read_text(encoding="utf-8"))
    assert [list(_failures(module, exercise.number, seed)) for seed in range(3)] == [[], [], []]


@pytest.mark.parametrize(("number", "way", "edits"), _edits(RIGHT))
def test_other_right_answers_pass(number: int, way: str, edits: str) -> None:
    assert list(_failures(load_text(number, edited(number, edits)), number)) == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, under the interpreter
@pytest.mark.parametrize(("number", "mistake", "edits"), _edits(WRONG))
def test_wrong_answers_fail_at_the_check_that_fits(number: int, mistake: str, edits: str) -> None:
    if find(number).kind == "triton" and not device.interpreting():
        pytest.skip("a wrong address would end this process's use of the GPU")
    module = load_text(number, edited(number, edits))
    assert next(_failures(module, number), "none") == mistake.split()[0]


@per_exercise
def test_a_skeleton_is_not_started_and_would_fail_every_check(
    exercise: Exercise, tmp_path: Path
) -> None:
    path = tmp_path / f"{exercise.module_name}.py"
    path.write_text(skeleton(solution_path(exercise.number).read_text(encoding="utf-8")))
    assert check(exercise.number, path=path).state == "not started"
    failures = list(_failures(load_text(exercise.number, path.read_text()), exercise.number))
    assert failures == [each.name for each in load_checks(exercise)]


def test_the_runner_agrees(tmp_path: Path) -> None:
    path = tmp_path / "ex06_lse_combine.py"
    path.write_text(solution_path(6).read_text(encoding="utf-8"))
    assert check(6, path=path, seed=3).points == 10
    path.write_text(edited(6, "m + torch.log(total) | m").replace("def combine(", "def renamed("))
    verdict = check(6, path=path, seed=3)
    assert "lse is wrong for H 5, B 2, D 16" in verdict.result("merge").message
    assert "The function combine is not there." in verdict.result("combine").message


def test_a_check_repeats_with_its_seed_and_differs_from_its_neighbour() -> None:
    first, again = (CheckContext(seed=7, name="shapes", mode="interpreter") for _ in range(2))
    other = CheckContext(seed=7, name="ragged", mode="interpreter")
    assert first.random().random() == again.random().random() != other.random().random()
    assert first.generator().initial_seed() == again.generator().initial_seed()


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ((), "got none"),
        ((Check("two words", "A title.", 1, print),), "takes a slug"),
        ((Check("a", "A title.", 1, print),) * 2, "used only once"),
        ((Check("a", "A title.", 0, print),), "takes 1 or more"),
    ],
)
def test_unusable_checks_are_refused(checks: tuple[Check, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validate(checks)
