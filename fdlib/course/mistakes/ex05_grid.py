"""Known mistakes of exercise 05, first part: which programs there are."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["GRID_MISTAKES"]

_GRID = "(num_splits, heads_q, batch)"

GRID_MISTAKES = (
    Mistake(
        name="program-per-kv-head",
        check="grid",
        edits=((_GRID, "(num_splits, k.shape[2], batch)"),),
        says="there is a program per key/value head, not per query head",
        why="A program of this kernel serves one query head. With 4 query heads and 2 key/value heads the last two "
        "have nobody, and their memory is never written.",
        read="The grid gets a third axis",
    ),
    Mistake(
        name="axes-exchanged",
        check="grid",
        edits=((_GRID, "(heads_q, num_splits, batch)"),),
        says="heads and splits have changed places in the grid",
        why="The kernel takes its place on axis 0 for the split. With 3 splits and 4 heads it then writes a split 3 "
        "that is not there, and nobody does head 3.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="grid-splits-batch-heads",
        check="grid",
        edits=((_GRID, "(num_splits, batch, heads_q)"),),
        says="heads and sequences have changed places in the grid",
        why="The kernel takes its place on axis 1 for the head and on axis 2 for the sequence. With 4 heads and 2 "
        "sequences it then looks for sequences 2 and 3, and nobody does heads 2 and 3.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="grid-batch-heads-splits",
        check="grid",
        edits=((_GRID, "(batch, heads_q, num_splits)"),),
        says="splits and sequences have changed places in the grid",
        why="That is the order of the tensor, and not of the program's numbers: axis 0 is the split, axis 2 the "
        "sequence. With 3 splits and 2 sequences it looks for a sequence 2, and nobody does split 2.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="grid-batch-splits-heads",
        check="grid",
        edits=((_GRID, "(batch, num_splits, heads_q)"),),
        says="the grid is (sequences, splits, heads), while the kernel reads it as (split, head, sequence)",
        why="Each number then stands for another thing: with 2 sequences, 3 splits and 4 heads there are programs "
        "for 2 splits, 3 heads and 4 sequences. The kernel's first lines say which axis is which.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="grid-heads-batch-splits",
        check="grid",
        edits=((_GRID, "(heads_q, batch, num_splits)"),),
        says="the grid is (heads, sequences, splits), while the kernel reads it as (split, head, sequence)",
        why="Each number then stands for another thing: with 4 heads, 2 sequences and 3 splits there are programs "
        "for 4 splits, 2 heads and 3 sequences. The kernel's first lines say which axis is which.",
        read="The Triton that exercise 05 needs",
    ),
    Mistake(
        name="grid-without-batch",
        check="grid",
        edits=((_GRID, "(num_splits, heads_q)"),),
        says="the grid has no axis for the sequences",
        why="Then there are programs for sequence 0 alone, and the others are never written. Batch 1 hides this.",
        read="The grid gets a third axis",
    ),
    Mistake(
        name="grid-without-splits",
        check="grid",
        edits=((_GRID, "(1, heads_q, batch)"),),
        says="the grid has a program for the first split only",
        why="The kernel finds the keys of one split, the launch has to start one program for each. The other splits "
        "are never written.",
        read="The grid gets a third axis",
    ),
)
