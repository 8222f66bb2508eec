"""What the checks say, and what they point at; how strict they are about float16."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fdlib import device
from fdlib.course.catalogue import EXERCISES, Exercise, course_root, find, solution_path
from fdlib.course.checks import load_checks
from fdlib.course.expect.check import CheckContext
from fdlib.course.expect.compare import Mismatch
from fdlib.course.regions import regions

from .answers import edited, load_text

per_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.module_name)


def _outcome(number: int, name: str, source: str, seed: int) -> str:
    (each,) = [each for each in load_checks(find(number)) if each.name == name]
    try:
        each.run(load_text(number, source), CheckContext(seed, name, device.choose_mode()))
    except Mismatch as error:
        return str(error)
    return "passed"


def test_a_tie_may_round_either_way_and_early_rounding_still_shows() -> None:
    right = solution_path(6).read_text(encoding="utf-8")
    assert _outcome(6, "own-split-kv", right, 189449421) == "passed"
    early = edited(6, "combine(out_partial, | combine(out_partial.to(q.dtype),")
    for seed in range(10):
        assert "out is wrong" in _outcome(6, "own-split-kv", early, seed)


def test_a_function_built_on_a_wrong_one_says_so() -> None:
    source = edited(4, "2 * batch * heads_kv | batch * heads_kv")
    message = _outcome(4, "intensity", source, 0)
    end = "intensity uses kv_bytes and flops; kv_bytes failed above: mend that first."
    assert message.endswith(end)
    source = edited(4, "min(programs, num_sms) | programs")
    assert "decode_time_us uses idle_fraction" in _outcome(4, "time", source, 0)
    source = edited(4, "kv_read + q_bytes | kv_read")
    assert "uses" not in _outcome(4, "intensity", source, 0)


def test_a_split_kv_that_is_not_used_is_named() -> None:
    unused = edited(
        6, "= split_kv(q, k, v, num_splits) | = split_kv_attention(q, k, v, num_splits)"
    )
    said = "The split_kv given to flash_decode was never called, for"
    assert _outcome(6, "own-split-kv", unused, 0).startswith(said)


def _headings(notebook: Path) -> set[str]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    found = re.findall(r"^#+ (?:\d+\. *)?(.+)$", "\n".join(texts), re.MULTILINE)
    return {heading.strip() for heading in found}


@per_exercise
def test_each_check_names_what_to_read_and_a_region_of_the_file(exercise: Exercise) -> None:
    names = {r.name for r in regions(solution_path(exercise.number).read_text(encoding="utf-8"))}
    for each in load_checks(exercise):
        assert each.region in {"", *names}
        other, heading = re.fullmatch(r"(?:(\d\d): )?(.+)", each.read).groups()
        number = other or f"{exercise.number:02}"
        (notebook,) = (course_root() / "notebooks").glob(f"{number}_*.ipynb")
        assert heading in _headings(notebook), each.name
