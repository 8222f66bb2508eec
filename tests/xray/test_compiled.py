"""Kernels compiled for GPUs that are not here: what is left as it was."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

from fdlib.xray.compiled import compiling_for


def test_the_driver_is_replaced_in_the_block_alone() -> None:
    import triton
    from triton.runtime.jit import JITFunction

    driver = triton.runtime.driver
    before, run = dict(vars(driver)), JITFunction.run
    with compiling_for(80) as launches:
        assert driver.active.get_current_target().arch == 80
        with compiling_for(90):
            assert driver.active.get_current_target().arch == 90
        assert driver.active.get_current_target().arch == 80
    assert (vars(driver), JITFunction.run, launches) == (before, run, [])
