"""What torch, numpy and Python keep for the whole process, and a function may depend on."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

__all__ = ["settings", "with_settings"]


def settings() -> dict[str, Any]:
    """Those of this process, to be pickled."""
    import numpy
    import torch

    return {
        "dtype": torch.get_default_dtype(),
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": [
            torch.get_autocast_dtype(device)
            for device in ("cuda", "cpu")
            if torch.is_autocast_enabled(device)
        ],
        "threads": torch.get_num_threads(),
        "torch": torch.get_rng_state().numpy().tobytes(),
        "numpy": numpy.random.get_state(),
        "python": random.getstate(),
    }


@contextlib.contextmanager
def with_settings(found: dict[str, Any]) -> Iterator[None]:
    """The block runs with them; only modes are put back. Autocast of a GPU becomes the CPU's, as the tensors do."""
    import numpy
    import torch

    torch.set_default_dtype(found["dtype"])
    torch.set_num_threads(found["threads"])
    torch.set_rng_state(torch.frombuffer(bytearray(found["torch"]), dtype=torch.uint8))
    numpy.random.set_state(found["numpy"])
    random.setstate(found["python"])
    dtype = next(iter(found["autocast"]), torch.bfloat16)
    with (
        torch.inference_mode(found["inference"]),
        torch.set_grad_enabled(found["grad"]),
        torch.autocast("cpu", dtype=dtype, enabled=bool(found["autocast"])),
    ):
        yield
