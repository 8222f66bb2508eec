"""Tensors in a parcel: as they lie in their storage, with what torch keeps beside the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fdlib.xray.tracing.data import TraceError

if TYPE_CHECKING:
    import torch

__all__ = ["as_parts"]


def as_parts(tensor: torch.Tensor) -> Any:
    """How pickle makes a strided tensor again: its storage is one object, so that views stay views of one memory."""
    import torch
    from torch._utils import get_tensor_metadata

    kind = type(tensor)
    if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return NotImplemented  # it holds other tensors and no memory: torch knows how to send it
    place = (tensor.untyped_storage(), tensor.dtype, tuple(tensor.shape), tensor.stride())
    bits = get_tensor_metadata(tensor)  # conj and neg: set, but not yet done to the bytes
    made = (kind, *place, tensor.storage_offset(), bits, tensor.is_inference())
    grad = tensor.grad if tensor.is_leaf else None
    state = (tensor.requires_grad, tensor.is_leaf, grad, tensor.__dict__)
    return _make, made, state, None, None, _fill


def _make(
    kind: Any, storage: Any, dtype: Any, shape: Any, stride: Any,
    offset: int, bits: dict[str, bool], inference: bool,
) -> torch.Tensor:  # fmt: skip
    import torch
    from torch._utils import set_tensor_metadata

    with torch.inference_mode(inference):
        tensor = torch.empty(0, dtype=dtype).set_(storage, offset, shape, stride)
        if kind is not torch.Tensor:
            tensor = torch.Tensor._make_subclass(kind, tensor, False)
    if bits:
        set_tensor_metadata(tensor, bits)
    return tensor


def _fill(tensor: torch.Tensor, state: Any) -> None:
    requires_grad, is_leaf, grad, attributes = state
    tensor.__dict__.update(attributes)
    if requires_grad and is_leaf:
        tensor.requires_grad_()
        tensor.grad = grad
    elif requires_grad:
        _give_history(tensor)


def _give_history(tensor: torch.Tensor) -> None:
    """Make it no leaf, as it was. What it was computed from did not travel: backward must not end here in silence."""
    import torch

    class ComputedElsewhere(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, tensor: Any, start: Any) -> Any:
            ctx.mark_dirty(tensor)
            return tensor

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            raise TraceError(
                "trace: backward reached a tensor that was computed before the trace, and how it was computed "
                "did not travel to the process that traces. Compute it in fn, or pass tensor.detach()."
            )

    with torch.enable_grad():
        ComputedElsewhere.apply(tensor, torch.zeros(0, requires_grad=True))
