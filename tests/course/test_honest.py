"""An answer that hands the work to somebody else's attention is recognised."""

from __future__ import annotations

import pytest

from fdlib import cli
from fdlib.course.catalogue import EXERCISES, Exercise, exercise_path, solution_path
from fdlib.course.grading import runner
from fdlib.course.grading.honest import borrowed
from fdlib.course.regions import skeleton

from .answers import edited
from .toy import ADD, SOLUTION


def _solution(number: int) -> str:
    return solution_path(number).read_text(encoding="utf-8")


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.module_name)
def test_solutions_and_skeletons_are_their_own(exercise: Exercise) -> None:
    solution = _solution(exercise.number)
    for text in (solution, skeleton(solution)):
        assert borrowed(text, solution) is None
        assert borrowed(text, "") is None


@pytest.mark.parametrize(
    ("number", "edits", "what"),
    [
        (
            1,
            "out = torch.exp(scores - lse[..., None]) @ v"
            " | out = torch.nn.functional.scaled_dot_product_attention(q, k, v)",
            "torch's own",
        ),
        (
            1,
            "lse = torch.logsumexp(scores, dim=-1) | import fdlib; lse = fdlib.naive_attention(q, k, v)[1]",
            "fdlib's attention",
        ),
        (
            2,
            "p = torch.exp(scores - m_safe[..., None])"
            " | from torch.nn.functional import scaled_dot_product_attention as sdpa; p = sdpa(m, m, m)",
            "torch's own",
        ),
        (
            3,
            "in_keys = offs_n < len_kv | import flash_attn; in_keys = offs_n < len_kv",
            "flash_attn",
        ),
        (
            5,
            "grid = (num_splits, heads_q, batch)"
            " | import importlib; grid = importlib.import_module('solutions.ex05_flash_decoding').grid",
            "the solutions",
        ),
        (
            5,
            "grid = (num_splits, heads_q, batch)"
            " | from solutions import ex05_flash_decoding; return ex05_flash_decoding.split_kv(q)",
            "the solutions",
        ),
        (
            6,
            "out, lse = combine(out_partial, lse_partial, dtype=q.dtype)"
            " | out, lse = fdlib.merge_states(list(out_partial), list(lse_partial))",
            "fdlib's merge",
        ),
        (
            6,
            "out, lse = combine(out_partial, lse_partial, dtype=q.dtype)"
            " | out, lse = fdlib.flash_decode(q, k, v, return_lse=True)",
            "fdlib's attention",
        ),
    ],
)
def test_borrowed_work_is_found_with_its_line(number: int, edits: str, what: str) -> None:
    source = edited(number, edits)
    found = borrowed(source, _solution(number))
    assert found is not None
    assert what in found[0]
    changed = [i for i, line in enumerate(source.split("\n"), 1) if line not in _solution(number)]
    assert found[1] in changed


def test_a_name_of_ones_own_is_not_fdlibs() -> None:
    for name in ("merge_states", "combine_splits", "online_softmax_attention"):
        text = f"def {name}(a, b):\n    return a\n\nx = {name}(1, 2)\n"
        assert borrowed(text, "x = 1\n") is None
        assert borrowed(text + f"y = fdlib.{name}(1, 2)\n", "x = 1\n") is not None
    assert borrowed("x = scaled_dot_product_attention(1)\n", "x = 1\n") is not None


def test_a_comparison_of_ones_own_below_main_is_not_the_answer() -> None:
    text = "x = 1\nif __name__ == '__main__':\n    y = F.scaled_dot_product_attention(x)\n"
    assert borrowed(text, "x = 1\n") is None


def test_a_text_that_python_cannot_read_is_left_to_others() -> None:
    assert borrowed("def (:", _solution(1)) is None


def test_borrowed_work_is_not_run_and_not_graded(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(runner, "run_step", None)
    path = tmp_path / "ex01_naive_attention.py"
    call = "torch.nn.functional.scaled_dot_product_attention(q, k, v)"
    source = edited(1, f"out = torch.exp(scores - lse[..., None]) @ v | out = {call}")
    path.write_text(source)
    verdict = runner.check(path)
    assert (verdict.state, verdict.points, verdict.max_points) == ("not your own", 0, 10)
    assert verdict.message == (
        "It uses scaled_dot_product_attention, which is torch's own attention. That may well be "
        "right, but this exercise is about writing it: take it out and write the step yourself. "
        "Nothing was run."
    )
    line = source.split("\n").index(next(each for each in source.split("\n") if call in each)) + 1
    assert verdict.location == f"ex01_naive_attention.py:{line}: out = {call}"
    assert {result.outcome for result in verdict.checks} == {"not run"}


def test_the_command_says_what_is_borrowed_and_fails(course, capsys) -> None:
    exercise_path(91).write_text(
        SOLUTION.replace(ADD, "        result = fdlib.merge_states(1, 2)\n")
    )
    assert cli.main(["check", "91"]) == 1
    said = capsys.readouterr().out
    assert "not your own, 0 of 6 points" in said
    assert "It uses merge_states, which is fdlib's merge." in said
    assert "ex91_toy_sum.py:9: result = " in said
