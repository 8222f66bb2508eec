"""Ten verdicts, as CONTRIBUTING.md shows them: the standard to keep.

`python tests/gate/shown_verdicts.py` writes them there anew; read them as a learner would before
you commit. `test_shown_verdicts.py` holds the two together.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from fdlib.course.catalogue import find, solution_path
from fdlib.course.grading.runner import check
from fdlib.course.reports.text import render

__all__ = ["SHOWN", "Shown", "rendered", "section"]

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- verdicts: python tests/gate/shown_verdicts.py -->", "<!-- end of verdicts -->"
SEED = 7


@dataclass(frozen=True)
class Shown:
    """One verdict: on the solution of an exercise, with one text replaced."""

    title: str
    number: int
    find: str = ""
    replace: str = ""


SHOWN = (
    Shown(
        "A known mistake, in torch",
        2,
        "acc * alpha[..., None] + p @ v",
        "acc + torch.matmul(p, v)",
    ),
    Shown("A known mistake in the mask", 1, "len_kv - len_q + torch.arange", "torch.arange"),
    Shown("A known mistake in a kernel", 5, "acc = acc * alpha + ", "acc = acc + "),
    Shown(
        "A load outside of its tensor",
        3,
        "k_base + offs_n[:, None] * stride_kn + offs_d[None, :], mask=in_keys[:, None], other=0.0",
        "k_base + offs_n[:, None] * stride_kn + offs_d[None, :]",
    ),
    Shown(
        "Two programs that write the same element",
        5,
        "head_kv = head // GROUP",
        "head = head // GROUP * GROUP\n    head_kv = head // GROUP",
    ),
    Shown("NaN, of a split without keys", 5, "tl.where(l_i == 0.0, 1.0, l_i)", "l_i"),
    Shown("A number", 4, "size = 2 * batch", "size = batch"),
    Shown(
        "Wrong, and no known mistake",
        3,
        "offs_n[None, :] <= len_kv - len_q + offs_m[:, None]",
        "offs_n[None, :] <= len_kv - len_q + offs_m[:, None] // 2",
    ),
    Shown(
        "Right under the interpreter, and it does not compile",
        5,
        "        m_i = m_new\n",
        "        m_i = m_new\n        if first + BLOCK_N >= end:\n            break\n",
    ),
    Shown(
        "Somebody else's attention",
        1,
        "out = torch.exp(scores - lse[..., None]) @ v",
        "out = torch.nn.functional.scaled_dot_product_attention(q, k, v)",
    ),
)


def rendered(shown: Shown) -> str:
    """The verdict as text, with the paths of a learner who works in exercises/."""
    name = f"{find(shown.number).module_name}.py"
    source = solution_path(shown.number).read_text(encoding="utf-8")
    assert source.count(shown.find) == 1, shown.title
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(source.replace(shown.find, shown.replace), encoding="utf-8")
        verdict = check(shown.number, path=path, seed=SEED)
    verdict = replace(verdict, path=f"/home/you/course/exercises/{name}")
    return render(verdict)


def section() -> str:
    """All of them, as they stand between the marks."""
    parts = [f"**{i}. {s.title}**\n\n```text\n{rendered(s)}\n```" for i, s in enumerate(SHOWN, 1)]
    return "\n\n".join([BEGIN, *parts, END])


def main() -> None:
    page = ROOT / "CONTRIBUTING.md"
    text = page.read_text(encoding="utf-8")
    start, end = text.index(BEGIN), text.index(END) + len(END)
    page.write_text(text[:start] + section() + text[end:], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
