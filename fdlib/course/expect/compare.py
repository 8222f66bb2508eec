"""Compare what a learner computed with what is right, and say where it first differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fdlib.course.expect.observe import Seen, compared
from fdlib.course.expect.shortened import shortened

if TYPE_CHECKING:
    import torch

__all__ = [
    "Mismatch",
    "TOLERANCES",
    "tolerance",
    "expect_close",
    "expect_equal",
    "place",
    "plain_tensor",
    "share",
    "wrong_elements",
]

# Per dtype: (rtol, atol), about twice what a right answer with float32 accumulation and inputs
# rounded to that dtype is off. float16 rounds by 2**-11 = 4.9e-4, bfloat16 by 2**-8 = 3.9e-3.
# float32 has to sum some hundred terms in any order; TF32 (2**-11) does not pass.
TOLERANCES: dict[str, tuple[float, float]] = {
    "float64": (1e-9, 1e-9),
    "float32": (2e-5, 2e-5),
    "float16": (2e-3, 2e-3),
    "bfloat16": (1.6e-2, 1.6e-2),
}


class Mismatch(AssertionError):
    """A learner's value is not the right one; the message is for the learner."""

    signature: tuple[object, ...] = ()  # what two such faults are compared by; () for the message
    explained = False  # its message begins with the cause
    line_number = 0  # of the learner's file, where that is known to be the cause


def tolerance(dtype: str) -> tuple[float, float]:
    """(rtol, atol) for a dtype's name, "float32" or "torch.float32"; other dtypes must be equal."""
    return TOLERANCES.get(dtype.removeprefix("torch."), (0.0, 0.0))


def expect_close(
    actual: Any,
    expected: torch.Tensor,
    *,
    what: str,
    case: str,
    axes: tuple[str, ...],
    rtol: float | None = None,
    atol: float | None = None,
    if_nan: str = "",
) -> None:
    """Raise `Mismatch` unless two tensors agree in type, shape, dtype and value.

    An element is right if |actual - expected| <= atol + rtol * |expected|; an infinite one only if
    equal. One unit in the last place of float16 or bfloat16 is never wrong: a right answer rounds a
    tie either way. `what` names the value, `case` the test case, `axes` the dimensions of `expected`.
    Tolerances left out are those of `TOLERANCES` for the dtype of `expected`. `if_nan` is added to
    the case if a value is NaN.
    """
    import torch

    if len(axes) != expected.ndim:
        raise ValueError(f"axes: got {len(axes)} names, takes one for each of {expected.ndim} axes")
    actual = plain_tensor(actual) if isinstance(actual, torch.Tensor) else actual
    if problem := _other_form(actual, expected, what, case):
        compared(Seen(what, case, axes, actual, expected, None, Mismatch(problem), wrong_form=True))
        return
    default_rtol, default_atol = tolerance(str(expected.dtype))
    rtol = default_rtol if rtol is None else rtol
    atol = default_atol if atol is None else atol
    got = actual.detach().to("cpu", torch.float64)
    want = expected.detach().to("cpu", torch.float64)
    allowed = torch.maximum(atol + rtol * want.abs(), _unit_in_the_lastplace(want, expected.dtype))
    wrong = wrong_elements(got, want, allowed)
    message = _difference_of_tensors(wrong, got, want, what, case, axes, if_nan)
    error = Mismatch(message) if message else None
    compared(Seen(what, case, axes, got, want, allowed, error))


def wrong_elements(got: torch.Tensor, want: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Where `got` is further from `want` than allowed, as a mask; equal infinities and NaNs are right."""
    within = ((got - want).abs() <= allowed) & got.isfinite() & want.isfinite()
    return ~(within | (got == want) | (got.isnan() & want.isnan()))


def _difference_of_tensors(
    wrong: torch.Tensor,
    got: torch.Tensor,
    want: torch.Tensor,
    what: str,
    case: str,
    axes: tuple[str, ...],
    if_nan: str,
) -> str:
    """The message, "" if nothing is wrong."""
    if not wrong.any():
        return ""
    for label, place, hint in (("NaN", got.isnan(), if_nan), ("infinite", got.isinf(), "")):
        if (bad := place & wrong & want.isfinite()).any():
            return (
                f"{what} is {label} where it should not be, for {case}{hint}: {share(bad)}.\n"
                f"First {_describe(bad, got, want, axes)}."
            )
    lines = [
        f"{what} is wrong for {case}: {share(wrong)} differ.",
        f"First {_describe(wrong, got, want, axes)}.",
        _largest(wrong, got, want, axes),
    ]
    return "\n".join(filter(None, lines))


def plain_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The same as a `torch.Tensor` and no subclass, which may have its own idea of equality."""
    import torch

    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.as_subclass(tensor, torch.Tensor)


def _unit_in_the_lastplace(want: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The distance of neighbouring numbers of a 16-bit dtype at each value; 0 for other dtypes."""
    import torch

    if dtype not in (torch.float16, torch.bfloat16):
        return torch.zeros_like(want)
    info = torch.finfo(dtype)
    _, exponent = torch.frexp(want.abs().nan_to_num(0.0, 0.0, 0.0).clamp(min=info.tiny))
    return torch.ldexp(torch.full_like(want, info.eps), exponent - 1)


def _other_form(actual: Any, expected: torch.Tensor, what: str, case: str) -> str:
    """What to say of a wrong type, shape or dtype; "" if they are right."""
    import torch

    if not isinstance(actual, torch.Tensor):
        return (
            f"{what} has the wrong type for {case}: got {_type(actual)}, expected a torch.Tensor."
        )
    for label, got, want in (
        ("shape", tuple(actual.shape), tuple(expected.shape)),
        ("dtype", actual.dtype, expected.dtype),
    ):
        if got != want:
            return f"{what} has the wrong {label} for {case}: got {got}, expected {want}."
    return ""


def share(mask: torch.Tensor) -> str:
    """`3 of 8 elements`."""
    return f"{int(mask.sum())} of {mask.numel()} elements"


def _describe(
    mask: torch.Tensor, got: torch.Tensor, want: torch.Tensor, axes: tuple[str, ...]
) -> str:
    index = tuple(int(i) for i in mask.nonzero()[0])
    got_text, want_text = _numbers(float(got[index]), float(want[index]))
    return f"{place(index, axes)}: got {got_text}, expected {want_text}"


def _largest(
    wrong: torch.Tensor, got: torch.Tensor, want: torch.Tensor, axes: tuple[str, ...]
) -> str:
    error = (got - want).abs()
    error = error.masked_fill(error.isnan(), float("inf")).masked_fill(~wrong, 0.0)
    largest = error.max()
    at_largest = error == largest
    first = [mask.nonzero()[0].tolist() for mask in (wrong, at_largest)]
    if largest.isinf() or first[0] == first[1]:
        return ""
    return f"Largest error {float(largest):.3g}, {_describe(at_largest, got, want, axes)}."


def place(index: tuple[int, ...], axes: tuple[str, ...]) -> str:
    """`at batch 0, head 3`."""
    if not axes:
        return "at the only element"
    return "at " + ", ".join(f"{axis} {i}" for axis, i in zip(axes, index, strict=True))


def _numbers(got: float, want: float) -> tuple[str, str]:
    short = f"{got:.6g}", f"{want:.6g}"
    return short if short[0] != short[1] else (repr(got), repr(want))


def expect_equal(actual: Any, expected: Any, *, what: str, case: str, rtol: float = 1e-9) -> None:
    """Raise `Mismatch` unless plain values agree, floats within `rtol`, all others exactly.

    Tuples and lists are compared element by element, dicts key by key. Where an int is expected, a
    float is wrong; where a float is expected, an int is fine.
    """
    difference = _difference(actual, expected, rtol)
    error = Mismatch(f"{what} is wrong for {case}: {difference}.") if difference else None
    compared(Seen(what, case, (), actual, expected, None, error))


def _difference(actual: Any, expected: Any, rtol: float) -> str | None:
    actual = actual.item() if getattr(actual, "shape", None) == () else actual
    if isinstance(expected, dict):
        return _dict_difference(actual, expected, rtol)
    if isinstance(expected, (tuple, list)):
        return _sequence_difference(actual, expected, rtol)
    if isinstance(expected, float) and isinstance(actual, (int, float)):
        # Of a subclass, which may have its own idea of equality, the plain number.
        actual = float.__pos__(actual) if isinstance(actual, float) else int.__pos__(actual)
        same = actual == expected or abs(actual - expected) <= rtol * abs(expected)
        got_text, want_text = _numbers(float(actual), expected)
        return None if same else f"got {got_text}, expected {want_text}"
    if type(actual) is not type(expected):
        return f"got {shortened(actual)} ({_type(actual)}), expected {shortened(expected)} ({_type(expected)})"
    return (
        None if actual == expected else f"got {shortened(actual)}, expected {shortened(expected)}"
    )


def _sequence_difference(actual: Any, expected: Any, rtol: float) -> str | None:
    if not isinstance(actual, (tuple, list)):
        return f"got {shortened(actual)} ({_type(actual)}), expected {shortened(expected)}"
    if len(actual) != len(expected):
        return f"got {len(actual)} values {shortened(actual)}, expected {len(expected)}, {shortened(expected)}"
    for index, (got, want) in enumerate(zip(actual, expected, strict=True)):
        if difference := _difference(got, want, rtol):
            return f"at index {index} {difference}"
    return None


def _dict_difference(actual: Any, expected: dict[Any, Any], rtol: float) -> str | None:
    if not isinstance(actual, dict):
        return f"got {shortened(actual)} ({_type(actual)}), expected {shortened(expected)}"
    if set(actual) != set(expected):
        return f"got the keys {shortened(list(actual))}, expected {shortened(list(expected))}"
    for key, want in expected.items():
        if difference := _difference(actual[key], want, rtol):
            return f"for {key!r} {difference}"
    return None


def _type(value: Any) -> str:
    return "None" if value is None else type(value).__name__
