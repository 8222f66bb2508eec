"""The doctor compares numbers, tells a broken Triton from a broken fdlib, and survives what it examines."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import pytest

from fdlib import doctor, selftest, versions

GOOD = {"cuda": None, "gpu": None, "capability": None}
HEALTHY = {
    "torch": GOOD,
    "masked_sum": {"max_error": 0.0, "ok": True},
    "flash_decode": {"max_error": 0.0, "ok": True},
}


@pytest.fixture(autouse=True)
def interpreter_allowed(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")


@pytest.fixture
def patient(monkeypatch):
    """Describe a machine to the doctor, instead of running the known computations on this one."""

    def describe(findings=HEALTHY, ending="", mode="interpreter", **facts):
        healthy = {
            "python": "3.12.1",
            "platform": "Linux x86_64",
            "torch": "2.13.0",
            "triton": "3.7.1",
        }
        healthy |= {"numpy": "2.4.6", "ipywidgets": "8.1.9", "gpu": None, "driver": None}
        monkeypatch.setattr(doctor, "choose_mode", lambda: mode)
        monkeypatch.setattr(doctor, "machine_facts", lambda: healthy | facts)
        monkeypatch.setattr(doctor, "_run_selftest", lambda _: (dict(findings), ending))
        return doctor.examine()

    return describe


@pytest.mark.timeout(150)
def test_this_machine_is_usable():
    done = subprocess.run(
        [sys.executable, "-m", "fdlib", "doctor", "--json"], capture_output=True, text=True
    )
    report = json.loads(done.stdout)
    assert done.returncode == 0, report
    assert report["usable"]
    assert report["tier"] in doctor.TIERS
    assert {"python", "torch", "triton", "numpy", "ipywidgets", "gpu", "driver"} <= set(
        report["facts"]
    )
    assert report["checks"]
    assert all(check["ok"] for check in report["checks"])


def test_healthy(patient):
    report = patient()
    assert (report.usable, report.repair, report.tier) == (True, None, "interpreter")
    assert "Nothing to repair." in doctor.render(report)


def test_wrong_triton_is_told_from_wrong_fdlib(patient):
    wrong = {"max_error": 1.5, "ok": False}
    triton_at_fault = patient(HEALTHY | {"masked_sum": wrong, "flash_decode": wrong})
    ours = patient(HEALTHY | {"flash_decode": wrong})
    assert not triton_at_fault.usable
    assert "itself does not work" in triton_at_fault.notes[0]
    assert not ours.usable
    assert "fdlib's kernel" in ours.notes[0]
    assert "FAULT" in doctor.render(ours)


def test_known_bad_pair_is_named_with_its_repair(patient):
    report = patient(
        HEALTHY | {"masked_sum": {"error": "TypeError: x"}}, triton="3.6.0", numpy="2.4.6"
    )
    assert not report.usable
    assert report.repair == 'pip install "numpy<2.4"'


def test_torch_only_is_usable(patient):
    findings = {"torch": GOOD, "online_softmax_attention": {"max_error": 1e-7, "ok": True}}
    report = patient(findings, mode="torch only", triton=None, platform="Darwin arm64")
    assert (report.usable, report.tier) == (True, "torch only")
    assert "Colab" in doctor.render(report)


def test_triton_missing_where_it_could_be(patient):
    findings = {"torch": GOOD, "online_softmax_attention": {"max_error": 1e-7, "ok": True}}
    report = patient(findings, mode="torch only", triton=None)
    assert report.usable
    assert report.repair == "pip install triton==3.7.1"


def test_gpu(patient):
    found = HEALTHY | {"torch": {"cuda": "13.0", "gpu": "NVIDIA H200", "capability": [9, 0]}}
    report = patient(found, mode="gpu", driver="580.1")
    assert (report.usable, report.tier, report.facts["gpu"]) == (True, "GPU", "NVIDIA H200")
    assert report.repair is None


def test_cpu_build_of_torch_beside_a_gpu(patient):
    report = patient(gpu="NVIDIA L4", driver="580.1")
    assert (report.usable, report.tier) == (True, "interpreter")
    assert "build for the CPU" in report.notes[0]
    assert report.repair


@pytest.mark.parametrize("value", ["0", "", "2", "yes"])
@pytest.mark.parametrize("driver", [None, "580.1"])
def test_a_variable_that_forbids_the_interpreter(patient, monkeypatch, value, driver):
    monkeypatch.setenv("TRITON_INTERPRET", value)
    fails = {"error": "RuntimeError: x"}
    found = HEALTHY | {"masked_sum": fails, "flash_decode": fails}
    report = patient(found, mode="gpu", driver=driver)
    assert not report.usable
    assert report.repair == "unset TRITON_INTERPRET"
    assert repr(value) in report.notes[0]
    assert "Once it is repaired" in doctor.render(report)


def test_the_same_variable_with_a_gpu(patient, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    found = HEALTHY | {"torch": {"cuda": "13.0", "gpu": "NVIDIA H200", "capability": [9, 0]}}
    report = patient(found, mode="gpu", driver="580.1")
    assert (report.usable, report.repair) == (True, None)


@pytest.mark.timeout(150)
def test_a_forbidden_interpreter_for_real():
    pytest.importorskip("triton")
    hidden = os.environ | {"TRITON_INTERPRET": "0", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-m", "fdlib", "doctor"], capture_output=True, text=True, env=hidden
    )
    assert done.returncode == 1
    assert done.stdout.endswith("To repair: unset TRITON_INTERPRET\n"), done.stdout


def test_too_old_a_gpu(patient):
    found = HEALTHY | {"torch": {"cuda": "12.6", "gpu": "GTX 1080", "capability": [6, 1]}}
    report = patient(found, mode="gpu", driver="550")
    assert "7.5 or newer" in report.notes[0]
    assert report.repair == "CUDA_VISIBLE_DEVICES= make lab"


def test_missing_torch(patient):
    report = patient(torch=None)
    assert not report.usable
    assert report.repair == doctor.INSTALL


def test_missing_ipywidgets_is_reported_and_needs_no_repair(patient):
    report = patient(ipywidgets=None)
    assert (report.usable, report.notes, report.repair) == (True, (), None)
    assert "ipywidgets  none" in doctor.render(report)


@pytest.mark.parametrize(
    ("code", "limit_s", "ending"),
    [
        ("import os; os.kill(os.getpid(), 9)", 30, "died"),
        ("import time; time.sleep(60)", 2, "no answer within 2 s"),
    ],
)
def test_a_kernel_that_kills_or_hangs(monkeypatch, code, limit_s, ending):
    said = json.dumps({"name": "masked_sum", "max_error": 0.0, "ok": True})
    monkeypatch.setattr(doctor, "SELFTEST", ("-c", f"print({said!r}, flush=True); {code}"))
    monkeypatch.setattr(doctor, "choose_mode", lambda: "interpreter")
    report = doctor.examine(limit_s)
    assert not report.usable
    assert [check.ok for check in report.checks] == [True, False]
    assert ending in report.checks[1].detail


def test_numbers_are_compared():
    assert selftest._worst_masked_sum(lambda x, length: x[:length].sum())["ok"]
    assert not selftest._worst_masked_sum(lambda x, _: x.sum())["ok"]
    nan = selftest._worst_masked_sum(lambda x, _: x.sum() * math.nan)
    assert nan == {"max_error": None, "ok": False}


def test_attention_is_compared_on_an_empty_and_a_ragged_sequence():
    from fdlib.attention.naive import naive_attention

    q, k, v, lengths = selftest._small_ragged_case()
    out, lse = naive_attention(q, k, v, causal=True, cache_seqlens=lengths)
    oracle = ((q, k, v), lengths)
    assert selftest._against_oracle((out, lse), *oracle, causal=True)["ok"]
    assert not selftest._against_oracle((out + 1e-3, lse), *oracle, causal=True)["ok"]
    assert not selftest._against_oracle((out, lse.nan_to_num()), *oracle, causal=True)["ok"]


def test_nvidia_smi_is_only_asked(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\necho "NVIDIA H200, 580.1"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    facts = doctor.machine_facts()
    assert (facts["gpu"], facts["driver"]) == ("NVIDIA H200", "580.1")
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["--query-gpu=name,driver_version --format=csv,noheader"]


@pytest.mark.parametrize(
    ("triton", "numpy", "interpreting", "bad"),
    [
        ("3.7.1", "2.4.6", True, False),
        ("3.6.0", "2.1.3", True, False),
        ("3.6.0", "2.4.0", True, True),
        ("3.6.0", "2.5.0", False, False),
        ("3.1.0", "1.26.4", False, True),
        ("3.9.0", "2.10.0", True, False),
        (None, "2.4.0", True, False),
    ],
)
def test_known_bad_pairs(triton, numpy, interpreting, bad):
    assert (versions.bad_pair(triton, numpy, interpreting=interpreting) is not None) is bad
