"""A trace in words and figures."""

from __future__ import annotations

import pytest

import fdlib
from fdlib import device

torch = pytest.importorskip("torch")
kernels = pytest.importorskip("traced_kernels")
from fdlib.xray.tracing.text import order_text  # noqa: E402

pytestmark = pytest.mark.skipif(not device.interpreting(), reason="traces in this process")

ONE = """\
1. sum_kernel, grid (2, 1, 1): 2 programs of 100 to 132 bytes
       loaded  stored  updated  repeated  HBM read  HBM write
  X       224       -        -         -       224          -
  Out       -       8        -         -         -         32
  all     224       8        -         -       224         32
  First program: 2 x load X, store Out.

Asked for: every load, store and atomic update of every program, also of bytes that were there
before ('repeated'). Lanes that a mask hides do not count.
  232 bytes.

HBM at least: each 32-byte sector that the launch uses, read once and written once. A cache can
save the repeats and nothing more: a run that begins with nothing in L2 moves this much or more.
  224 read + 32 written = 256 bytes, 110% of what was asked for.

With an L2 of 60 MiB, by a model: it throws out what was used longest ago, programs run one
after another, and what was changed is written out in the end.
  224 read + 32 written = 256 bytes."""


def test_one_launch():
    found = fdlib.trace(kernels.sum_blocks, torch.ones(56), l2_mb=60)
    assert str(found) == ONE
    html = found._repr_html_()
    assert html.startswith("<pre>1. sum_kernel") and "&#x27;repeated&#x27;" in html
    assert len(repr(found)) < 1000


def test_many_launches():
    def run():
        for _ in range(10):
            kernels.sum_blocks(x)

    x = torch.ones(64)
    text = str(fdlib.trace(run, l2_mb=1, at_once=2))
    assert "8. sum_kernel" in text and "9. sum_kernel" not in text
    assert "... and 2 more launches." in text
    assert "The number below is over all launches" in text
    assert "programs run 2 at a time and take turns, an operation each" in " ".join(text.split())
    assert max(map(len, text.splitlines())) < 100


def test_a_launch_of_no_programs():
    found = fdlib.trace(kernels.in_place_kernel[(0,)], torch.ones(4), BLOCK=4)
    assert "grid (0, 1, 1): no programs" in str(found) and found.bytes == 0


def test_orders():
    assert order_text([]) == ""
    loop = [("load", "K"), ("load", "V")] * 100
    assert order_text(loop) == "100 x (load K, load V)"
    mixed = [("load", str(n)) for n in range(20)]
    assert order_text(mixed).endswith("load 11, ...")
