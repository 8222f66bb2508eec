from __future__ import annotations

import pytest

from fdlib.gpus import GPUS, get_gpu
from fdlib.recorded import load_recorded
from fdlib.xray.simulation.occupancy import programs_per_sm
from fdlib.xray.simulation.work import ATTENTION_REGISTERS

H200, T4, L4 = (get_gpu(name) for name in ("H200", "T4", "L4"))


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)
def test_nothing_but_the_slots_limits_a_small_program(gpu):
    assert programs_per_sm(gpu, threads=32, registers=16) == gpu.blocks_per_sm


def test_threads_limit():
    assert programs_per_sm(H200, threads=1024, registers=16) == 2
    assert programs_per_sm(L4, threads=1024, registers=16) == 1
    assert programs_per_sm(H200, threads=33, registers=16) == 32  # two warps: 2048 / 64


def test_registers_limit_in_units_of_256_a_warp_and_quarters_of_the_sm():
    # 65,536 registers: 4 warps x 32 x 128 = 16,384 a program
    assert programs_per_sm(H200, registers=128) == 4
    assert programs_per_sm(H200, registers=129) == 3  # 136 x 32 = 4352 a warp: 3 warps a quarter
    assert programs_per_sm(H200, registers=255) == 2
    assert programs_per_sm(H200, threads=256, registers=255) == 1


def test_three_attention_programs_fit_whichever_triton_compiled_them():
    compiled = [each for each in load_recorded("h200_timelines")["kernels"] if each["stages"] == 3]
    recorded = {
        (each["kernel"], each["registers"], each["shared_bytes"])
        for each in compiled
        if each["kernel"] != "_combine_kernel"
    }
    assert recorded == {
        ("_flash_attention_kernel", 139, 71_680),
        ("_split_kernel", 128, 71_680),
    }
    for registers in (ATTENTION_REGISTERS, 128, 139):
        assert programs_per_sm(H200, shared_bytes=71_680, registers=registers) == 3


def test_shared_memory_limits_and_the_system_keeps_a_kibibyte_of_each_program():
    assert programs_per_sm(H200, shared_bytes=113 * 1024, registers=32) == 2
    assert programs_per_sm(H200, shared_bytes=113 * 1024 + 1, registers=32) == 1
    assert programs_per_sm(H200, shared_bytes=227 * 1024, registers=32) == 1
    assert programs_per_sm(T4, shared_bytes=32 * 1024, registers=32) == 2  # it keeps none there


def test_a_program_that_fits_on_no_sm():
    with pytest.raises(ValueError, match=r"shared_bytes: got 233472, takes 0 to 232448: .* H200"):
        programs_per_sm(H200, shared_bytes=228 * 1024)
    with pytest.raises(ValueError, match="registers: got 255 for each of 1024 threads"):
        programs_per_sm(H200, threads=1024, registers=255)


@pytest.mark.parametrize(
    ("name", "value"), [("threads", 0), ("threads", 2048), ("registers", 256), ("shared_bytes", -1)]
)
def test_what_no_program_can_have(name, value):
    with pytest.raises(ValueError, match=f"{name}: got {value}, takes"):
        programs_per_sm(H200, **{name: value})
