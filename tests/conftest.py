"""What every test gets: one torch thread, a fixed seed, and Hypothesis without a deadline."""

from __future__ import annotations

import sys

import pytest

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # the test extra is not installed: the suites that need it skip
    settings = None

if settings is not None:
    quiet = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    # The default run is the same every time. `pytest --hypothesis-profile thorough` searches on.
    settings.register_profile("quick", derandomize=True, max_examples=50, **quiet)
    settings.register_profile("thorough", max_examples=500, print_blob=True, **quiet)
    settings.load_profile("quick")


@pytest.fixture(autouse=True)
def one_thread_and_a_seed():
    """Small tensors: more threads only wait for each other. Tests that do not use torch do not import it here."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "manual_seed"):
        torch.set_num_threads(1)
        torch.manual_seed(0)
