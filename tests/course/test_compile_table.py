"""What the compiler said, as a table."""

from __future__ import annotations

from fdlib.course.grading.verdict import Compiled
from fdlib.course.reports.compile_table import describe_compiled


def rows_and_lines(*compiled: Compiled) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    (group,) = describe_compiled(compiled)
    table, *told = group.blocks
    return table.rows, [each.head.text for each in told]


def test_a_gpu_of_which_nothing_is_known_has_no_numbers_and_no_brackets() -> None:
    rows, lines = rows_and_lines(Compiled("A100", 80, "", warning="Not known: it took too long."))
    assert rows == (("A100", "", "-", "-", "-", "warning"),)
    assert lines == ["A100: Not known: it took too long."]


def test_a_launcher_that_launched_nothing_is_named_by_its_sizes() -> None:
    nothing = Compiled("T4", 75, "", "head size 64", error="It launched no kernel.")
    rows, lines = rows_and_lines(nothing)
    assert rows == (("T4", "", "-", "-", "-", "error"),)
    assert lines == ["T4 (head size 64): It launched no kernel."]
