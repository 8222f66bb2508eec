"""Choosing between the GPU and the interpreter, on machines that this one is not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fdlib import device


@pytest.fixture
def machine(monkeypatch):
    """Describe a machine: what the early look, torch and the import system would see."""
    monkeypatch.setenv("TRITON_INTERPRET", "")  # restored afterwards, whatever a test does to it
    monkeypatch.delenv("TRITON_INTERPRET")
    monkeypatch.setattr(device, "_chosen_here", False)

    def describe(*, seen, usable=False, triton=True, imported=None, platform="linux"):
        monkeypatch.setattr(device, "_sees_gpu", lambda: seen)
        monkeypatch.setattr(device, "_has_triton", lambda: triton)
        monkeypatch.setattr(device, "_imported_mode", lambda: imported)
        monkeypatch.setattr("torch.cuda.is_available", lambda: usable)
        monkeypatch.setattr(sys, "platform", platform)

    return describe


def test_no_gpu_means_interpreter(machine):
    machine(seen=False)
    assert device.choose_mode() == "interpreter"
    assert os.environ["TRITON_INTERPRET"] == "1"
    assert device.interpreting()
    assert device.choose_mode() == "interpreter"  # and again


def test_gpu(machine):
    machine(seen=True, usable=True)
    assert device.choose_mode() == "gpu"
    device.require_triton()
    assert "TRITON_INTERPRET" not in os.environ
    assert not device.interpreting()


@pytest.mark.parametrize(
    ("value", "mode"), [("1", "interpreter"), ("true", "interpreter"), ("0", "gpu")]
)
@pytest.mark.parametrize("seen", [True, False])
def test_a_variable_that_is_set_wins(machine, monkeypatch, value, mode, seen):
    machine(seen=seen, usable=seen)
    monkeypatch.setenv("TRITON_INTERPRET", value)
    assert device.choose_mode() == mode
    device.require_triton()
    assert os.environ["TRITON_INTERPRET"] == value


@pytest.mark.parametrize("value", ["0", "", "2", "yes"])
def test_a_variable_that_leaves_kernels_nowhere_to_run(machine, monkeypatch, value):
    machine(seen=False)
    monkeypatch.setenv("TRITON_INTERPRET", value)
    device.require_triton()  # compiling is still possible
    for ask in (device.kernel_device, device.require_somewhere_to_run):
        with pytest.raises(RuntimeError, match=f"is set to {value!r}.*unset TRITON_INTERPRET"):
            ask()


def test_a_variable_that_forbids_nothing_that_is_there(machine, monkeypatch):
    machine(seen=True, usable=True)
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    assert device.kernel_device() == "cuda"
    machine(seen=False, triton=False)
    assert device.kernel_device() == "cpu"  # the torch stages run


@pytest.mark.parametrize(
    ("value", "forbidden"), [(None, None), ("1", None), ("True", None), ("0", "0"), ("", "")]
)
def test_forbidden_by(machine, monkeypatch, value, forbidden):
    machine(seen=False)
    if value is not None:
        monkeypatch.setenv("TRITON_INTERPRET", value)
    assert device.forbidden_by() == forbidden


def test_no_triton_is_torch_only(machine):
    machine(seen=False, triton=False)
    assert device.choose_mode() == "torch only"


def test_cpu_build_of_torch_on_a_gpu_machine(machine):
    machine(seen=True, usable=False)
    assert device.choose_mode() == "gpu"
    device.require_triton()
    assert device.interpreting()


def test_a_gpu_that_only_torch_sees(machine):
    machine(seen=False, usable=True)
    assert device.choose_mode() == "interpreter"
    device.require_triton()
    assert not device.interpreting()
    assert not device._chosen_here


def test_a_gpu_that_torch_sees_too_late(machine):
    machine(seen=False, usable=True, imported="interpreter")
    device.choose_mode()
    device.require_triton()
    assert device.interpreting()


@pytest.mark.parametrize(
    ("platform", "advice"),
    [("darwin", "Colab"), ("win32", "triton-windows"), ("linux", "constraints.txt")],
)
def test_no_triton_says_what_to_do(machine, platform, advice):
    machine(seen=False, triton=False, platform=platform)
    with pytest.raises(RuntimeError, match=advice):
        device.require_triton()


def test_triton_imported_too_early(machine):
    machine(seen=False, imported="gpu")
    device.choose_mode()
    with pytest.raises(RuntimeError, match=r"Restart the kernel and `import fdlib` before triton"):
        device.require_triton()


def test_triton_imported_under_the_interpreter_on_a_gpu(machine):
    machine(seen=True, usable=True, imported="interpreter")
    device.choose_mode()
    with pytest.raises(RuntimeError, match="TRITON_INTERPRET has changed"):
        device.require_triton()


@pytest.mark.parametrize("order", ["import fdlib, triton", "import triton, fdlib"])
def test_order_of_imports_in_a_fresh_process(order):
    pytest.importorskip("triton")
    env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    env["CUDA_VISIBLE_DEVICES"] = ""
    code = f"{order}; import triton.language; import fdlib.masked_sum"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    if order.startswith("import fdlib"):
        assert done.returncode == 0, done.stderr
    else:
        assert "RuntimeError: triton was imported before fdlib" in done.stderr


@pytest.mark.parametrize("hidden", ["", "-1", " "])
def test_hidden_gpus_are_not_seen(monkeypatch, hidden):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert not device._sees_gpu()


@pytest.mark.parametrize(
    ("names", "seen"),
    [(["null", "nvidia3"], True), (["nvidiactl", "nvidia-uvm", "null"], False), ([], False)],
)
def test_device_files(monkeypatch, names, seen):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os.path, "exists", lambda _: False)
    monkeypatch.setattr(os, "listdir", lambda _: names)
    assert device._sees_gpu() is seen
