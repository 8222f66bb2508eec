from __future__ import annotations

import pytest

from fdlib.gpus import GPUS
from fdlib.plan import plan_splits
from fdlib.shapes import AttentionShape
from fdlib.xray.simulation.model import FITTED, launch_limits, parameters_for
from fdlib.xray.simulation.work import plan_works


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)
@pytest.mark.parametrize("head_dim", [16, 128])
def test_the_time_of_a_step_limits_a_program_and_not_its_bytes_in_flight(gpu, head_dim):
    sizes = AttentionShape(heads_q=8, heads_kv=1, len_kv=131_072, head_dim=head_dim)
    works = plan_works(plan_splits(sizes, gpu, 32))
    assert [each.loop for each in works] == ["attention", "merge"]
    for work in works:
        limits = launch_limits(work, gpu, parameters_for(gpu))
        assert limits.in_flight_gbs > 2 * limits.program_gbs


def test_the_gpu_that_was_fitted_on_has_the_fitted_numbers():
    assert parameters_for(GPUS["H200"]) == FITTED
