"""The map of the course: each notebook with its question, its exercise and the minutes of both."""

from __future__ import annotations

from dataclasses import dataclass

from fdlib.course.catalogue import EXERCISES

__all__ = ["NOTEBOOKS", "Notebook", "course_map"]


@dataclass(frozen=True)
class Notebook:
    """One notebook: its file's name without the suffix, its question, and minutes without the exercise."""

    name: str
    question: str
    minutes: int


NOTEBOOKS: tuple[Notebook, ...] = (
    Notebook("00_start_here", "Which axis does FlashAttention-2 leave alone?", 20),
    Notebook("01_naive_attention", "Why is reading fast and writing slow?", 40),
    Notebook("02_online_softmax", "How can softmax be done in one pass?", 40),
    Notebook("03_flash_attention", "How does attention avoid writing N² scores?", 50),
    Notebook("04_decode_bottleneck", "Why are over 90% of the SMs idle at batch 1?", 35),
    Notebook("05_flash_decoding", "What if the KV cache is cut in pieces?", 35),
    Notebook("06_lse_combine", "Why is the combine exact?", 35),
)


def course_map() -> str:
    """A Markdown table, a row for each notebook; minutes are reading + exercise, for a first attempt."""
    exercises = {exercise.notebook: exercise for exercise in EXERCISES}
    rows = ["| notebook | question | exercise | minutes |", "|---|---|---|---|"]
    for notebook in NOTEBOOKS:
        exercise = exercises.get(notebook.name)
        task = f"{exercise.number:02} {exercise.title}" if exercise else "none"
        minutes = f"{notebook.minutes} + {exercise.minutes}" if exercise else f"{notebook.minutes}"
        link = f"[{notebook.name}]({notebook.name}.ipynb)"
        rows.append(f"| {link} | {notebook.question} | {task} | {minutes} |")
    return "\n".join(rows)
