"""The scores of many exercises, for people and for programs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fdlib.course.reports.scores import expect_writable, score_table, scores, write_scores

from .verdicts import FAILED, KNOWN, RIGHT

OTHER = replace(FAILED, number=1, name="ex01_y", state="passed", checks=(RIGHT,), seconds=10.0)


def test_the_table_is_sorted_and_summed() -> None:
    assert score_table([FAILED, OTHER]) == (
        "exercise  points  state   seconds\n"
        "ex01_y       3/3  passed     10.0\n"
        "ex05_x       3/5  failed      1.3\n"
        "total        6/8             11.3"
    )
    assert score_table([FAILED], not_graded=["ex06_z"]).splitlines()[2:] == [
        "ex06_z         -  not graded        -",
        "total        3/5                  1.3",
    ]


def test_scores_for_programs(tmp_path: Path) -> None:
    verdicts = [replace(FAILED, checks=(RIGHT, KNOWN)), OTHER]
    write_scores(tmp_path / "s.json", scores(verdicts, seed=42, not_graded={"/z.py": "no torch"}))
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
    data = json.loads((tmp_path / "s.json").read_text())
    assert (data["points"], data["max_points"], data["seed"], data["seconds"]) == (6, 8, 42, 11.26)
    assert [each["name"] for each in data["exercises"]] == ["ex01_y", "ex05_x"]
    check = {"name": "b", "outcome": "failed", "points": 0, "max_points": 2}
    assert data["exercises"][1]["checks"][1] == check | {"mistake": "acc-not-rescaled"}
    assert data["not_graded"] == [{"path": "/z.py", "message": "no torch"}]


@pytest.mark.parametrize(("name", "said"), [("", "is a folder"), ("no/s.json", "is not there")])
def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        expect_writable(tmp_path / name)
    expect_writable(tmp_path / "s.json")
    assert list(tmp_path.iterdir()) == []
