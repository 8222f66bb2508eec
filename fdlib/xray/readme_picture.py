"""The README's picture: one GPU's SMs before and after the keys are split, as the plan has it.

``python -m fdlib.xray.readme_picture OUT.svg`` writes it; the same file every time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fdlib.plan import flash_attention_programs, plan_splits
from fdlib.shapes import model
from fdlib.xray.draw.sms import draw_sms
from fdlib.xray.draw.style import GREY, INK, LABEL_SIZE, PALE, TEXT_SIZE

__all__ = ["main", "write_picture"]

_GPU, _LEN_KV = "H100", 100_000
_TITLE = "SMs with work: FlashAttention-2 and Flash-Decoding, one new token"


def write_picture(path: Path | str) -> None:
    """Write the picture to ``path`` as SVG: a white card, so that it reads on a dark page too."""
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


def main(argv: Sequence[str] | None = None) -> int:
    """Write the picture to the one path given."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if len(arguments) != 1:
        print("usage: python -m fdlib.xray.readme_picture OUT.svg", file=sys.stderr)
        return 2
    write_picture(arguments[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
