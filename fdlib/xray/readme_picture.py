"""The README's pictures: a GPU's SMs before and after the keys are split, by the plan, and as a GPU was measured.

``python -m fdlib.xray.readme_picture FOLDER`` writes both; the same files every time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fdlib.plan import flash_attention_programs, plan_splits
from fdlib.shapes import model
from fdlib.xray.draw.sms import draw_sms
from fdlib.xray.draw.style import GREY, INK, LABEL_SIZE, PALE, TEXT_SIZE

__all__ = ["BEFORE_AFTER", "SM_TIMELINE", "main", "write_before_after", "write_sm_timeline"]

BEFORE_AFTER, SM_TIMELINE = "before_after.svg", "sm_timeline.png"

_GPU, _LEN_KV = "H100", 100_000
_TITLE = "SMs with work: FlashAttention-2 and Flash-Decoding, one new token"


def write_before_after(path: Path | str) -> None:
    """Write the plan's picture to ``path`` as SVG: a white card, so that it reads on a dark page too."""
    import matplotlib
    from matplotlib.figure import Figure

    shape = model("Llama-3.1-70B").shape(_LEN_KV, gpus=8)
    plan = plan_splits(shape, _GPU)
    before = flash_attention_programs(shape)
    look = {"svg.hashsalt": "fdlib", "svg.fonttype": "path", "hatch.linewidth": 1.0}
    with matplotlib.rc_context(look):
        fig = Figure(figsize=(10, 3.1))
        axes = fig.subplots(1, 2, gridspec_kw={"wspace": 0.08})
        fig.subplots_adjust(left=0.025, right=0.985, top=0.93, bottom=0.29)
        draw_sms(axes[0], before, plan.num_sms, title="Before: FlashAttention-2")
        draw_sms(axes[1], plan.busy_sms, plan.num_sms, title="After: Flash-Decoding")
        captions = (
            f"one program per head: {before} heads, {before} programs",
            f"the keys cut in {plan.num_splits} parts: {plan.programs} programs",
        )
        for ax, caption in zip(axes, captions, strict=True):
            ax.text(0, -0.42, caption, transform=ax.transAxes, fontsize=LABEL_SIZE, color=INK)
        fig.text(
            0.025, 0.055,
            f"One new token, {shape.len_kv:,} keys, {shape.heads_q} query heads (a 70B model on one "
            f"of 8 GPUs), batch 1. One square is one of the {plan.num_sms} SMs of an {_GPU}.",
            fontsize=TEXT_SIZE, color=GREY,
        )  # fmt: skip
        fig.patch.set(edgecolor=PALE, linewidth=2)
        about = {"Date": None, "Creator": None, "Title": _TITLE}
        fig.savefig(path, format="svg", metadata=about, facecolor=fig.get_facecolor())


def write_sm_timeline(path: Path | str) -> str:
    """Write the recorded timelines to ``path`` as PNG, each with its own time axis; returns what they say, in words."""
    from fdlib.xray.widgets.sm_timeline import sm_timeline_explorer

    panel = sm_timeline_explorer()
    panel.move(same_axis=False)
    Path(path).write_bytes(panel.png)
    return panel.sentence


def main(argv: Sequence[str] | None = None) -> int:
    """Write both pictures to the one folder given."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m fdlib.xray.readme_picture FOLDER", file=sys.stderr)
        return 2
    write_before_after(Path(arguments[0]) / BEFORE_AFTER)
    write_sm_timeline(Path(arguments[0]) / SM_TIMELINE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
