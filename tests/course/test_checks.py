"""The checks of the exercises: right answers pass, skeletons do not. Wrong answers: `make gate`.

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
from fdlib.course.checks import all_checks, load_checks, validate
from fdlib.course.expect.check import Check, CheckContext
from fdlib.course.grading.runner import check
from fdlib.course.regions import skeleton

from .answers import edited, load_text

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
