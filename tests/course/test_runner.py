from __future__ import annotations

import sys
from pathlib import Path

import pytest

import fdlib.course.checks
from fdlib.course import catalogue
from fdlib.course.grading import runner
from fdlib.course.grading.runner import check
from fdlib.course.grading.verdict import Verdict
from fdlib.course.regions import skeleton

from .toy import KERNEL, LIMIT_S, SOLUTION, Toy, grade, needs_triton, outcomes


def test_a_right_answer_passes(toy: Toy) -> None:
    verdict = grade(toy(), seed=5)
    assert (verdict.state, verdict.points, verdict.max_points) == ("passed", 6, 6)
    assert (verdict.seed, verdict.passed, verdict.notes) == (5, True, ())
    assert verdict.mode


def test_a_wrong_answer_fails_with_the_values(toy: Toy) -> None:
    verdict = grade(toy(divide="    return total(values)\n"))
    assert (verdict.state, verdict.points) == ("failed", 4)
    assert outcomes(verdict) == ["passed", "failed", "passed"]
    assert verdict.result("mean").message == "mean is wrong for 3 values: got 9, expected 3."


def test_an_exception_is_an_error_with_the_learners_line(toy: Toy) -> None:
    verdict = grade(toy(divide="    return total(values) / 0\n"))
    assert verdict.state == "failed"
    result = verdict.result("mean")
    assert (result.outcome, result.message) == ("error", "ZeroDivisionError: division by zero")
    assert result.location == "ex91_toy_sum.py:17: return total(values) / 0"


def test_an_error_names_the_region_that_its_line_is_in(toy: Toy) -> None:
    result = grade(toy(divide="    return total(values) / 0\n")).result("mean")
    assert result.region == "divide"
    empty = grade(toy(divide='    raise NotImplementedError("write: divide")\n'))
    assert empty.result("mean").region == ""
    path = toy()
    path.write_text(path.read_text().replace("result = 0", "result = 1 / 0"))
    assert grade(path).result("total").region == ""


def test_a_placeholder_below_code_is_to_be_deleted(toy: Toy) -> None:
    left = '    total(values)\n    raise NotImplementedError("write: divide")\n'
    message = grade(toy(divide=left)).result("mean").message
    assert "'divide': your code is there, but the placeholder line is still below it" in message


def test_seeds_are_fresh_unless_given(toy: Toy) -> None:
    assert grade(toy()).seed != grade(toy()).seed


def test_not_started_runs_nothing(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run_step", None)
    verdict = grade(toy(skeleton(SOLUTION)))
    assert (verdict.state, verdict.points, verdict.max_points) == ("not started", 0, 6)
    assert verdict.empty == ("add the value", "divide")


def test_unfinished_runs_what_can_run(toy: Toy) -> None:
    verdict = grade(toy(divide='    raise NotImplementedError("write: divide")\n'))
    assert (verdict.state, verdict.empty, verdict.points) == ("unfinished", ("divide",), 4)
    assert verdict.result("mean").message == "The region 'divide' is still empty."


def test_all_checks_passed_is_passed_whatever_placeholder_is_left(toy: Toy) -> None:
    left = '    if False:\n        raise NotImplementedError("write: divide")\n'
    verdict = grade(toy(divide=left + "    return total(values) / len(values)\n"))
    assert (verdict.state, verdict.empty) == ("passed", ())
    left_too = '        if False:\n            raise NotImplementedError("write: add the value")\n'
    both = {"add": left_too + "        result += value\n", "divide": left + "    return 3.0\n"}
    assert grade(toy(**both)).state == "passed"


@pytest.mark.parametrize(
    ("code", "note"),
    [
        ("import os; os.remove({path!r})", "The file was deleted during the check: by its own"),
        ("open({path!r}, 'w').close()", "The file was changed during the check: by its own code"),
    ],
)
def test_a_file_that_changes_itself_is_noted(toy: Toy, code: str, note: str) -> None:
    path = toy()
    toy(divide=f"    {code.format(path=str(path))}\n    return 3.0\n")
    verdict = check(path, time_limit_s=LIMIT_S)
    assert verdict.state == "passed"
    assert note in verdict.notes[0]


def test_what_is_printed_belongs_to_its_check(toy: Toy) -> None:
    path = toy(divide="    print('in mean')\n    return 3.0\n")
    path.write_text("print('loading')\n" + path.read_text())
    verdict = grade(path)
    assert verdict.output == "loading\nin mean\n"
    assert [result.output for result in verdict.checks] == ["", "in mean\n", ""]
    assert verdict.output_bytes == len(verdict.output)


def test_results_without_the_word_of_the_run_do_not_count(toy: Toy) -> None:
    code = (
        "    import glob, json, tempfile\n"
        "    (name,) = glob.glob(tempfile.gettempdir() + '/../results.jsonl')\n"
        "    line = {'event': 'result', 'name': 'mean', 'outcome': 'passed', 'word': 'x'}\n"
        "    open(name, 'a').write(json.dumps(line) + chr(10))\n"
        "    assert not glob.glob(tempfile.gettempdir() + '/../request.json')\n"
        "    return 0\n"
    )
    assert grade(toy(divide=code)).result("mean").outcome != "passed"


def test_progress_grows_and_its_faults_change_nothing(toy: Toy) -> None:
    seen: list[Verdict] = []

    def show(verdict: Verdict) -> None:
        seen.append(verdict)
        raise OSError("the terminal is gone")

    path = toy(divide="    __import__('time').sleep(0.3)\n    return 3.0\n")
    verdict = check(path, time_limit_s=LIMIT_S, on_progress=show)
    assert verdict.passed
    known = [sum(result.outcome != "not run" for result in each.checks) for each in seen]
    assert (known, known[-1]) == (sorted(known), 3)
    assert 1 in known  # as it came: the second check takes a while
    assert {each.state for each in seen} == {"running"}


def test_damaged_markers_are_noted_and_the_code_is_graded(toy: Toy) -> None:
    verdict = grade(toy(SOLUTION.replace("# <<<", "", 1)))
    assert verdict.state == "passed"
    assert "markers of the regions are damaged (line 16:" in verdict.notes[0]


@pytest.mark.parametrize(
    ("text", "message", "where"),
    [
        ("x = (\n", "SyntaxError: '(' was never closed", "ex91_toy_sum.py:1: x = ("),
        ("import not_there\n", "No module named 'not_there'", "ex91_toy_sum.py:1: import not"),
        ("import sys\nsys.exit()\n", "It called sys.exit(None).", "ex91_toy_sum.py:2"),
    ],
)
def test_does_not_import(toy: Toy, text: str, message: str, where: str) -> None:
    verdict = grade(toy(text))
    assert verdict.state == "does not import"
    assert message in verdict.message
    assert verdict.location.startswith(where)
    assert outcomes(verdict) == ["not run"] * 3


def test_a_file_that_is_not_text_does_not_import(toy: Toy) -> None:
    path = toy()
    path.write_bytes("# Größe".encode("latin-1"))
    verdict = grade(path)
    assert (verdict.state, "not UTF-8" in verdict.message) == ("does not import", True)


def test_missing_and_folder(toy: Toy, tmp_path: Path) -> None:
    path = tmp_path / "ex91_toy_sum.py"
    assert check(path).state == "missing"
    path.mkdir()
    verdict = check(path)
    assert verdict.state == "missing"
    assert "is a folder" in verdict.message or sys.platform == "win32"


def test_by_number_with_another_file(toy: Toy, tmp_path: Path) -> None:
    other = toy().rename(tmp_path / "handed_in.py")
    assert check(91, path=other, time_limit_s=LIMIT_S).passed
    assert check("91", path=str(other), time_limit_s=LIMIT_S).passed
    with pytest.raises(ValueError, match="got 7, takes one of 91"):
        check(7)


def test_a_worker_that_cannot_start_is_not_the_learners_fault(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (tmp_path / "toy_checks/ex91.py").read_text()
    guard = "import os\nif os.environ.get('BROKEN'): raise OSError('no space')\n"
    (tmp_path / "toy_checks/ex91.py").write_text(guard + text)
    path = toy()
    fdlib.course.checks.load_checks(catalogue.find(91))
    monkeypatch.setenv("BROKEN", "1")
    with pytest.raises(RuntimeError, match=r"cannot be checked here\. OSError: no space"):
        check(path, time_limit_s=LIMIT_S)


@needs_triton
def test_the_interpreters_own_warnings_are_not_shown(kernels: Toy) -> None:
    path = kernels(KERNEL.replace("value * 2", "tl.log(value * 0.0)"))
    verdict = check(path, time_limit_s=60)
    assert (verdict.state, verdict.output) == ("passed", "")


@needs_triton
@pytest.mark.parametrize("value", ["0", "1"])
def test_values_are_looked_at_under_the_interpreter_whatever_is_switched_on(
    kernels: Toy, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", value)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    verdict = check(kernels(KERNEL), time_limit_s=60)
    assert (verdict.state, verdict.mode) == ("passed", "interpreter")


@needs_triton
def test_a_fault_in_a_kernel_is_found_in_the_learners_file(
    kernels: Toy,
) -> None:
    verdict = check(kernels(KERNEL.replace("value * 2", "value @ 2")), time_limit_s=60)
    assert verdict.state == "failed"
    result = verdict.result("double")
    assert result.location == "ex91_toy_sum.py:10: tl.store(x + offsets, value @ 2)"
    assert "InterpreterError" not in result.message
