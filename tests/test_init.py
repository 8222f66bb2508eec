"""`import fdlib` is lazy: proved in a fresh process, because this one has imported everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import fdlib

HEAVY = ("torch", "triton", "matplotlib", "numpy", "IPython", "ipywidgets", "pytest")


def in_fresh_process(code: str, **environment: str) -> str:
    env = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"} | environment
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_brings_nothing_heavy():
    code = "import sys, json, fdlib; dir(fdlib); print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(in_fresh_process(code))
    assert [name for name in HEAVY if name in loaded] == []
    assert [name for name in loaded if name.startswith("fdlib.")] == ["fdlib.device"]


def test_plans_need_no_torch():
    code = (
        "import sys, fdlib; fdlib.AttentionShape; fdlib.plan_splits; print('torch' in sys.modules)"
    )
    assert in_fresh_process(code).strip() == "False"


def test_torch_stages_need_no_triton():
    code = (
        "import sys, fdlib; fdlib.naive_attention, fdlib.online_softmax_attention, fdlib.merge_states;"
        "print('triton.language' in sys.modules)"
    )
    assert in_fresh_process(code).strip() == "False"


def test_interpreter_is_chosen_before_triton_when_no_gpu_is_visible():
    code = "import os, fdlib; print(os.environ.get('TRITON_INTERPRET'))"
    assert in_fresh_process(code, CUDA_VISIBLE_DEVICES="").strip() == "1"


@pytest.mark.parametrize("name", fdlib.__all__)
def test_every_public_name_is_there(name):
    assert name in dir(fdlib)
    if name in ("flash_attention", "flash_decode"):
        pytest.importorskip("triton")
    assert getattr(fdlib, name) is getattr(fdlib, name)


def test_all_names_and_homes_agree():
    assert set(fdlib.__all__) == set(fdlib._HOMES) | {"__version__"}


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'flash'"):
        fdlib.flash


def test_version_is_the_project_s():
    from importlib.metadata import version

    assert fdlib.__version__ == version("fdlib")
