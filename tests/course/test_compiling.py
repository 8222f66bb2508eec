"""Right values are not enough: the kernels compile for GPUs that need not be here."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import pytest

from fdlib.course.catalogue import EXERCISES, find, solution_path
from fdlib.course.checks import all_checks, load_checks, load_compilations
from fdlib.course.expect.check import COMPILED_FOR, COMPILES
from fdlib.course.grading import runner
from fdlib.course.grading.compiling import (
    compile_environment,
    judge_compiled,
    judge_gpu,
)
from fdlib.course.grading.process import Ended
from fdlib.course.grading.runner import check
from fdlib.course.grading.steps import Run
from fdlib.course.grading.verdict import CheckResult, Verdict
from fdlib.gpus import GPUS

from .answers import edited

pytestmark = [
    pytest.mark.xdist_group("compiling"),
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="kernels need triton"),
]
TRITON = [exercise for exercise in EXERCISES if exercise.kind == "triton"]


def graded(tmp_path: Path, number: int, edits: str = "", **options: object) -> Verdict:
    path = tmp_path / f"{find(number).module_name}.py"
    source = solution_path(number).read_text(encoding="utf-8")
    path.write_text(edited(number, edits) if edits else source)
    return check(number, path=path, seed=1, **options)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.module_name)
def test_triton_exercises_have_the_check_and_only_they(exercise: object) -> None:
    names = [each.name for each in all_checks(exercise)]
    assert names[: len(load_checks(exercise))] == [each.name for each in load_checks(exercise)]
    assert (names[-1] == COMPILES) == (exercise in TRITON)


@pytest.mark.parametrize("exercise", TRITON, ids=lambda e: e.module_name)
def test_solutions_compile_and_it_is_shown_as_it_goes(exercise: object, tmp_path: Path) -> None:
    seen: list[Verdict] = []
    verdict = graded(tmp_path, exercise.number, on_progress=seen.append)
    assert (verdict.state, verdict.points, verdict.mode) == ("passed", 10, "interpreter")
    assert Verdict.from_dict(verdict.to_dict()) == verdict
    assert tuple(dict.fromkeys(row.gpu for row in verdict.compiled)) == COMPILED_FOR
    count = len(COMPILED_FOR) * len(load_compilations(exercise))
    assert len(verdict.compiled) == count
    for row in verdict.compiled:
        spec = GPUS[row.gpu]
        assert row.compute_capability == spec.compute_capability
        assert 0 <= row.shared_bytes <= row.shared_limit_bytes == spec.shared_kb_per_block * 1024
        if "1 split, 1 head" not in row.setting:  # a sum over one part needs none
            assert row.shared_bytes > 0
        assert row.registers is None or 0 < row.registers <= 255
        assert (row.error, row.warning) == ("", "")
    known = [len(each.compiled) for each in seen]
    assert known == sorted(known)
    assert (known[0], known[-1]) == (0, count)
    assert len(set(known)) > 2


def test_nothing_is_compiled_while_values_are_wrong(tmp_path: Path) -> None:
    verdict = graded(tmp_path, 6, "m + torch.log(total) | m")
    assert (verdict.state, verdict.compiled) == ("failed", ())
    assert verdict.result(COMPILES).outcome == "not run"


def test_what_does_not_compile_fails_with_the_learners_line(tmp_path: Path) -> None:
    edits = 'm = tl.where(m == float("-inf"), 0.0, m) | m = tl.where(m == EMPTY, 0.0, m)'
    path = tmp_path / "ex06_lse_combine.py"
    source = edited(6, edits).replace(
        "\n\ndef merge(", '\nEMPTY = float("-inf")\n\n\ndef merge(', 1
    )
    path.write_text(source)
    verdict = check(6, path=path)
    result = verdict.result(COMPILES)
    assert (verdict.state, verdict.points, result.outcome) == ("failed", 9, "error")
    assert "The kernel uses `EMPTY`, a Python variable of your file." in result.message
    assert result.location.endswith("m = tl.where(m == EMPTY, 0.0, m)")
    assert result.region == "the combined output and LSE"
    assert {row.error for row in verdict.compiled} == {result.message}
    assert [row.gpu for row in verdict.compiled[::2]] == list(COMPILED_FOR)


def test_tf32_fails_where_the_exercise_asks_for_float32(tmp_path: Path) -> None:
    old = 'tl.dot(q, tl.trans(k), input_precision="ieee")'
    verdict = graded(tmp_path, 3, f"{old} | tl.dot(q, tl.trans(k))")
    result = verdict.result(COMPILES)
    assert (verdict.state, verdict.points, result.outcome) == ("failed", 9, "failed")
    assert "11 significant bits" in result.message
    assert "So it is for: A100, L4, H100, B200." in result.message
    assert result.location.endswith("qk = tl.dot(q, tl.trans(k)) * scale")
    assert result.read == "03: `tl.dot`"
    warned = {row.gpu for row in verdict.compiled if row.warning}
    assert warned == {"A100", "L4", "H100", "B200"}
    assert not any(row.error for row in verdict.compiled)


WITHOUT_INTERPRETER = """
launching = combine

def combine(*args, **kwargs):
    if __import__("os").environ["TRITON_INTERPRET"] == "0":
        {}
    return launching(*args, **kwargs)
"""
REMOVES = """

import shutil, tempfile
shutil.rmtree(tempfile.gettempdir())
"""


def test_a_launch_while_loading_and_an_answer_without_a_kernel(tmp_path: Path) -> None:
    path = tmp_path / "ex06_lse_combine.py"
    source = solution_path(6).read_text(encoding="utf-8")
    launch = "\n\nprint(combine(torch.zeros(2, 1, 1, 1, 16), torch.zeros(2, 1, 1, 1)))\n"
    path.write_text(source + launch + REMOVES)
    assert check(6, path=path).passed
    path.write_text(source + WITHOUT_INTERPRETER.format("return args[:2]"))
    verdict = check(6, path=path)
    result = verdict.result(COMPILES)
    assert (verdict.state, verdict.points, result.outcome) == ("failed", 9, "error")
    assert result.message == "It launched no kernel."


def test_compiling_without_end_stops_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = runner.run_step

    def hurried(module: str, request: dict, *rest: object) -> Run:
        limit_s = 2.5 if module.endswith("compile_worker") else request["time_limit_s"]
        return real(module, {**request, "time_limit_s": limit_s}, *rest)

    monkeypatch.setattr(runner, "run_step", hurried)
    path = tmp_path / "ex06_lse_combine.py"
    source = solution_path(6).read_text(encoding="utf-8")
    path.write_text(source + WITHOUT_INTERPRETER.format("while True: pass"))
    verdict = check(6, path=path)
    assert verdict.state == "timed out"
    assert verdict.result(COMPILES).outcome == "error"
    assert "still running after 2.5 s, compiling for: T4" in verdict.message


def verdict_with(*outcomes: str) -> Verdict:
    checks = [CheckResult(f"c{i}", f"Check {i}.", 3, each) for i, each in enumerate(outcomes)]
    checks.append(CheckResult(COMPILES, "It compiles.", 1, "passed"))
    return Verdict(6, "ex06_lse_combine", "T", "06", "/x/ex06.py", "passed", tuple(checks), seed=1)


def run_of(*events: str, output: str = "") -> Run:
    lines = "".join('{"word": "w", "event": ' + each + "}\n" for each in events)
    request = {"word": "w", "mark": "m", "time_limit_s": 60.0}
    return Run(request, lines, "", Ended(0, output, len(output), "", 6144, False, 1.0))


def test_a_kernel_that_compiles_slowly_is_right_and_warned_of() -> None:
    row = '"compiled", "gpu": "{}", "compute_capability": {}, "kernel": "k"'
    begun = [row.format("T4", 75), '"end", "gpu": "T4"', row.format("A100", 80)]
    run = run_of('"ready"', *begun)
    run = replace(run, ended=replace(run.ended, limit="time"))
    slow = judge_compiled(verdict_with("passed"), "", run)
    assert slow.state == "passed"
    assert [each.gpu for each in slow.compiled] == list(COMPILED_FOR)
    assert [bool(each.warning) for each in slow.compiled] == [False, True, True, True, True]
    assert "had not ended after 60 s" in slow.compiled[1].warning


def test_a_crash_of_the_compiler_names_the_gpu_also_if_another_one_is_slow() -> None:
    row = '"compiled", "gpu": "L4", "compute_capability": 89, "kernel": "k"'
    told = run_of('"ready"', row, '"crashed", "gpu": "T4"')
    slow = replace(told, ended=replace(told.ended, limit="time"))
    for run in (told, slow):
        verdict = judge_compiled(verdict_with("passed"), "", run)
        assert verdict.result(COMPILES).message == "Triton's compiler crashed for: T4."
        assert verdict.state == "failed"


def test_a_machine_that_cannot_compile_leaves_the_verdict_on_the_values() -> None:
    values = verdict_with("passed")
    waiting = replace(values.result(COMPILES), outcome="not run")
    values = replace(values, state="running", checks=(*values.checks[:-1], waiting))
    slow = run_of()
    slow = replace(slow, ended=replace(slow.ended, limit="set-up"))
    for run, why in (
        (run_of('"ready"', '"refused", "message": "no ptxas"'), "no ptxas"),
        (run_of(output="no ptxas"), "no ptxas"),
        (slow, "Importing what the checks need, torch most of all, took more than 120 s"),
    ):
        verdict = judge_compiled(values, "", run)
        assert (verdict.state, verdict.points, verdict.compiled) == ("unfinished", 3, ())
        assert verdict.result(COMPILES).outcome == "not run"
        said = "Its values are right, but it cannot be compiled here. "
        assert verdict.message.startswith(said + why)


def test_a_cache_that_cannot_be_written_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "a" / "b"))
    assert "TRITON_CACHE_DIR" not in compile_environment()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert compile_environment()["TRITON_CACHE_DIR"] == "triton-cache"
    assert compile_environment()["TRITON_INTERPRET"] == "0"


READY = '"ready", "mode": "gpu", "gpu": "NVIDIA T4"'
RIGHT = '"result", "name": "c0", "outcome": "passed"'


def test_the_gpu_has_a_result_worth_no_points_that_must_not_fail() -> None:
    verdict = judge_gpu(verdict_with("passed"), "", run_of(READY, RIGHT, '"done"'))
    result = verdict.result("gpu")
    assert (verdict.state, result.outcome, result.points) == ("passed", "passed", 0)
    assert result.title == "It runs on the GPU of this machine, NVIDIA T4."
    wrong = '"result", "name": "c0", "outcome": "failed", "message": "lse is wrong."'
    verdict = judge_gpu(verdict_with("passed"), "", run_of(READY, wrong, '"done"'))
    assert (verdict.state, verdict.points, verdict.max_points) == ("failed", 4, 4)
    assert verdict.result("gpu").message == "Check 0.\nlse is wrong."
    assert verdict.result("c0").outcome == "passed"
    verdict = judge_gpu(verdict_with("passed"), "", run_of(READY, '"begin", "name": "c0"'))
    assert (verdict.state, verdict.result("gpu").outcome) == ("crashed", "error")


def test_a_gpu_that_is_out_of_order_is_only_noted() -> None:
    verdict = judge_gpu(verdict_with("passed"), "", run_of('"refused", "message": "no memory"'))
    assert verdict.state == "passed"
    assert "not run on the GPU of this machine" in verdict.notes[0]
