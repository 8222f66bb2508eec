"""What bandwidth and arithmetic allow one attention call: the roofline, its ridge, and the floor of its time."""

from __future__ import annotations

from dataclasses import dataclass

from fdlib.gpus import GpuSpec
from fdlib.shapes import AttentionShape

__all__ = ["Roofline", "roof_line", "roof_tflops"]


def roof_tflops(gpu: GpuSpec, intensity: float) -> float:
    """The most TFLOPS that ``gpu`` can reach at ``intensity`` FLOPs per byte, in 16 bits.

    Source: Williams, Waterman, Patterson 2009, https://doi.org/10.1145/1498765.1498785.

    >>> from fdlib.gpus import get_gpu
    >>> roof_tflops(get_gpu("H200"), 4.0), roof_tflops(get_gpu("H200"), 1e6)
    (19.2, 989.4)
    """
    return min(gpu.fp16_tflops, intensity * gpu.bandwidth_gbs / 1000)


def roof_line(gpu: GpuSpec, low: float, high: float) -> tuple[list[float], list[float]]:
    """The corners of the roof from ``low`` to ``high`` FLOPs per byte, as ``(FLOPs per byte, TFLOPS)``."""
    corners = sorted([low, min(max(gpu.ridge, low), high), high])
    return corners, [roof_tflops(gpu, intensity) for intensity in corners]


@dataclass(frozen=True)
class Roofline:
    """One attention call on one GPU, each byte moved once. Times are floors: no kernel can be faster.

    >>> from fdlib.gpus import get_gpu
    >>> from fdlib.shapes import model
    >>> call = Roofline(model("Llama-3.1-8B").shape(16_384), get_gpu("H200"))
    >>> call.bound, round(call.floor_us, 2)
    ('memory', 13.98)
    """

    shape: AttentionShape
    gpu: GpuSpec

    @property
    def compute_us(self) -> float:
        """Microseconds of the arithmetic alone, at the GPU's 16-bit peak."""
        return self.shape.flops / (self.gpu.fp16_tflops * 1e6)

    @property
    def memory_us(self) -> float:
        """Microseconds of the bytes alone, at the GPU's bandwidth."""
        return self.shape.min_bytes / (self.gpu.bandwidth_gbs * 1e3)

    @property
    def floor_us(self) -> float:
        """The larger of the two."""
        return max(self.compute_us, self.memory_us)

    @property
    def bound(self) -> str:
        """What the call waits for: "compute" or "memory"."""
        return "compute" if self.compute_us > self.memory_us else "memory"

    def is_near(self, other: Roofline) -> bool:
        """Whether both stand at almost the same place: names beside them would lie on each other."""
        less, more = sorted((self.shape.intensity, other.shape.intensity))
        return more <= 1.7 * less

    @property
    def tflops(self) -> float:
        """The height of the roof above this call."""
        return roof_tflops(self.gpu, self.shape.intensity)
