"""What `fdlib.trace` refuses, in which words, and that the next call works."""

from __future__ import annotations

import threading

import pytest

import fdlib
from fdlib import device
from fdlib.xray.tracing.data import TraceError

torch = pytest.importorskip("torch")
interpreter = pytest.importorskip("triton.runtime.interpreter")
kernels = pytest.importorskip("traced_kernels")
pytestmark = pytest.mark.skipif(not device.interpreting(), reason="traces in this process")


@pytest.fixture(autouse=True)
def the_next_call_works():
    before = interpreter.GridExecutor.__call__
    yield
    assert interpreter.GridExecutor.__call__ is before
    assert fdlib.trace(kernels.sum_blocks, torch.ones(56)).bytes == 232


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"l2_mb": 0},
            ValueError,
            "l2_mb: got 0, takes a number of MiB above 0 and at most 1,000,000,000, or None",
        ),
        ({"l2_mb": 1e308}, ValueError, r"l2_mb: got 1e\+308, takes"),
        ({"l2_mb": "60"}, ValueError, "l2_mb: got '60', takes"),
        ({"l2_mb": float("nan")}, ValueError, "l2_mb: got nan, takes"),
        ({"at_once": 0, "l2_mb": 60}, ValueError, "at_once: got 0, takes an int of 1 or more"),
        ({"at_once": 8}, ValueError, "at_once: got 8 without l2_mb, takes 1"),
        ({"events": 5}, TypeError, "events: got 5, takes True or False"),
        ({"events": True, "max_events": 0}, ValueError, "max_events: got 0, takes an int of 1"),
        ({"events": True, "max_events": 5}, TraceError, "max_events: got more than 5 accesses"),
    ],
)
def test_options(options, error, words):
    with pytest.raises(error, match=words):
        fdlib.trace(kernels.sum_blocks, torch.ones(56), **options)


def test_what_is_no_function_that_launches():
    with pytest.raises(TypeError, match="fn: got Tensor, takes a function that launches kernels"):
        fdlib.trace(torch.ones(3))
    with pytest.raises(
        ValueError, match="fn: got naive_attention, which launched no Triton kernel"
    ):
        fdlib.trace(fdlib.naive_attention, *torch.ones(3, 1, 2, 2, 16))
    with pytest.raises(
        TypeError, match=r"got the kernel sum_kernel without a grid, takes sum_ker.*\["
    ):
        fdlib.trace(kernels.sum_kernel, torch.ones(3))


def test_what_the_function_raises_passes_through():
    with pytest.raises(TypeError, match="v: got int, takes a torch.Tensor"):
        fdlib.trace(fdlib.flash_attention, *torch.ones(2, 1, 2, 2, 16), 3)
    with pytest.raises(interpreter.InterpreterError):
        fdlib.trace(kernels.half_way_kernel[(3,)], torch.ones(1), torch.zeros(1))


def test_an_access_outside_of_the_tensor_is_refused_before_it_happens():
    x, out = torch.ones(30), torch.zeros(2)
    call = kernels.sum_kernel[(2,)]
    words = (
        r"X: program \(0, 0, 0\) reads element 30, which is outside .* \(shape \(30,\)\). The mask"
    )
    with pytest.raises(TraceError, match=words):
        fdlib.trace(call, x, out, 64, REPEAT=1, SKIP=False, BLOCK=16)
    with pytest.raises(
        TraceError, match="Out: program .* writes element 2, .* The store has no mask"
    ):
        fdlib.trace(
            kernels.tile_kernel[(1,)], torch.ones(8), out[:1], 2, ROWS=2, COLS=4, ACROSS=False
        )


def test_no_trace_in_a_trace():
    with pytest.raises(TraceError, match="another trace is running"):
        fdlib.trace(lambda: fdlib.trace(kernels.sum_blocks, torch.ones(8)))


def test_no_trace_in_a_second_thread():
    heard = []

    def trace_in_thread():
        with pytest.raises(TraceError, match="two threads cannot trace at a time") as caught:
            fdlib.trace(kernels.sum_blocks, torch.ones(8))
        heard.append(caught.value)

    def run():
        thread = threading.Thread(target=trace_in_thread)
        thread.start()
        thread.join()
        kernels.sum_blocks(torch.ones(8))

    fdlib.trace(run)
    assert heard


def test_no_launch_in_a_second_thread():
    heard = []

    def launch():
        try:
            kernels.sum_blocks(torch.ones(8))
        except TraceError as error:
            heard.append(str(error))

    def run():
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
        kernels.sum_blocks(torch.ones(8))

    fdlib.trace(run)
    assert heard and "sum_kernel was launched in a second thread" in heard[0]


def test_a_kernel_made_for_a_gpu():
    from triton.runtime.jit import JITFunction

    compiled = JITFunction(kernels.sum_kernel.fn)
    with pytest.raises(TypeError, match="without a grid"):
        fdlib.trace(compiled)
    with pytest.raises(
        TraceError, match=r"sum_kernel was decorated with @triton.jit while kernels"
    ):
        fdlib.trace(lambda: compiled[(1,)](torch.ones(8), torch.ones(1), 8, 1, False, 4))


def test_an_autotuned_kernel_is_measured_on_a_gpu_only():
    import triton

    several, one = (
        triton.autotune([triton.Config({"BLOCK": 4 * n}) for n in sizes], key=[])(
            kernels.in_place_kernel
        )
        for sizes in ([1, 2], [1])
    )
    with pytest.raises(
        TraceError, match=r"in_place_kernel has several conf.*in_place_kernel.fn\[grid"
    ):
        fdlib.trace(several[(2,)], torch.ones(8))
    assert fdlib.trace(one[(2,)], torch.ones(8)).bytes == 64
    assert fdlib.trace(several.fn[(2,)], torch.ones(8), BLOCK=4).bytes == 64


def test_a_triton_whose_interpreter_is_another(monkeypatch):
    monkeypatch.delattr(interpreter.InterpreterBuilder, "create_masked_load")
    with pytest.raises(RuntimeError, match=r"no create_masked_load.*3\.6\.0, 3\.7\.1 and 3\.9\.0"):
        fdlib.trace(kernels.sum_blocks, torch.ones(8))
    monkeypatch.undo()


def test_a_pair_of_versions_that_fails(monkeypatch):
    import numpy
    import triton

    monkeypatch.setattr(triton, "__version__", "3.6.0")
    monkeypatch.setattr(numpy, "__version__", "2.5.0")
    with pytest.raises(
        TraceError, match=r"Triton 3.6.0 fails with numpy 2.5.0.*Repair: pip install"
    ):
        fdlib.trace(kernels.half_way_kernel[(3,)], torch.ones(1), torch.zeros(1))
    with pytest.raises(ZeroDivisionError):  # not the pair's fault
        fdlib.trace(lambda: 1 / 0)
    monkeypatch.undo()
