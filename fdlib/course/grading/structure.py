"""What stands out in a wrong answer that equals no known mistake: where it is wrong, and by how much."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fdlib.course.expect.compare import wrong_elements
from fdlib.course.expect.observe import Seen, Sight

if TYPE_CHECKING:
    import torch

__all__ = ["structure", "name_factor"]

_CLOSE = 1e-3  # of a factor to a known one


def structure(sight: Sight) -> list[str]:
    """Sentences about the first comparison that came out wrong, and about how many cases did."""
    assert sight.first_wrong is not None
    first = sight.seen[sight.first_wrong]
    if first.allowed is not None:
        sentences = _of_tensor(first)
    else:
        sentences = _of_numbers([s for s in sight.seen if s.what == first.what and s.error])
    return [*sentences, *_right_cases(sight, first)]


def _right_cases(sight: Sight, first: Seen) -> list[str]:
    """How many cases of the same value are right, with one as an example."""
    same = [seen for seen in sight.seen if seen.what == first.what]
    right = [seen.case for seen in same if not seen.error and seen.case != first.case]
    if not right:
        return []
    return [f"{first.what} is right in {len(right)} of {len(same)} cases, first for {right[0]}."]


def _of_tensor(seen: Seen) -> list[str]:
    wrong = wrong_elements(seen.got, seen.want, seen.allowed)
    sentences = [_place(seen.what, wrong, seen.axes), _not_finite(seen, wrong)]
    finite = wrong & seen.got.isfinite() & seen.want.isfinite()
    if finite.any() and not (wrong & ~finite).any():
        size = seen.got.shape[-1] if seen.axes[-1:] == ("dim",) else 0
        sentences.append(
            _exchanged(seen, wrong)
            or _factor(seen.got[wrong], seen.want[wrong], seen.allowed[wrong], size)
            or _offset(seen.got[wrong], seen.want[wrong], seen.allowed[wrong])
            or _row_factor(seen, wrong)
            or _rounded(seen)
        )
    return [sentence for sentence in sentences if sentence]


def _place(what: str, wrong: torch.Tensor, axes: tuple[str, ...]) -> str:
    """Along which axes only some indices are wrong in the first wrong case, and which."""
    parts = []
    for axis, name in enumerate(axes):
        others = [i for i in range(wrong.ndim) if i != axis]
        hit = wrong.sum(dim=others) > 0 if others else wrong
        if not hit.all():
            indices = hit.nonzero().flatten().tolist()
            parts.append(f"{name} {_ranges(indices)} (of 0 to {len(hit) - 1})")
    if parts:
        return f"In this case {what} is wrong only at {', '.join(parts)}."
    return f"In this case {what} is wrong {'in every element' if wrong.all() else 'all over'}."


def _ranges(indices: list[int]) -> str:
    """`0, 3 to 5`."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    shown = [f"{r[0]} to {r[-1]}" if len(r) > 1 else str(r[0]) for r in runs]
    return ", ".join(shown[:6]) + (" and more" if len(shown) > 6 else "")


def _not_finite(seen: Seen, wrong: torch.Tensor) -> str:
    nan = seen.got.isnan() & wrong
    if not nan.any():
        infinite = (seen.got == math.inf) & wrong
        return "exp(x) is infinite from x = 89 on, in float32." if infinite.any() else ""
    nothing = seen.want == (0.0 if seen.axes[-1:] == ("dim",) else -math.inf)
    if bool((nan <= nothing).all()):
        return (
            "NaN stands only in rows that see no key: 0 / 0 and (-inf) - (-inf) are NaN. "
            "Such a row needs care of its own."
        )
    rows = "position" not in seen.axes and seen.axes[-1:] == ("dim",)
    if rows and bool((nan.any(-1) == nan.all(-1)).all()):
        return "NaN fills whole rows: one NaN among a row's weights or scores is enough for that."
    return ""


def _factor(got: torch.Tensor, want: torch.Tensor, allowed: torch.Tensor, head_dim: int) -> str:
    """What to say if all wrong values are off by one factor; "" if they are not."""
    import torch

    if (got == 0).all():
        return "Every wrong value is 0."
    large = want.abs() > 500 * allowed  # what rounding does to the ratio of others hides it
    if large.sum() < 3:
        return ""
    at = int(want.abs().argmax())
    factor = float(got[at] / want[at])
    within = torch.where(large, 1e-4 * (factor * want).abs(), allowed * max(1.0, abs(factor)))
    if 0.9 <= factor <= 1.1 or not ((got - factor * want).abs() <= within).all():
        return ""
    name = name_factor(factor, head_dim)
    return f"Every wrong value is {factor:.5g} times what it should be{name}."


def name_factor(factor: float, head_dim: int = 0) -> str:
    """What a factor is known as, as ` (log2 e: ...)`; "" for an unknown one."""
    of_head_dim: dict[float, str] = {}
    if head_dim > 1:
        of_head_dim = {
            math.sqrt(head_dim): f"sqrt(D), with D {head_dim}",
            1 / math.sqrt(head_dim): f"1 / sqrt(D), with D {head_dim}",
            float(head_dim): f"D, which is {head_dim}",
            1 / head_dim: f"1 / D, with D {head_dim}",
        }
    names = {
        math.log2(math.e): "log2 e: the value is in base 2 where it should be natural",
        math.log(2): "the natural logarithm of 2: two bases of logarithms are mixed",
        -1.0: "the sign is wrong",
        100.0: "per cent, where a share from 0 to 1 is asked for",
        8.0: "bits are not bytes",
        0.125: "bits are not bytes",
        1e3: "a thousand: look at the units",
        1e-3: "a thousandth: look at the units",
        1e6: "a million: look at the units",
        1e-6: "a millionth: look at the units",
        1e9: "1e9: look at the units",
        1e-9: "1e-9: look at the units",
        2**30 / 1e9: "GiB is not GB",
        1e9 / 2**30: "GiB is not GB",
    }
    for value, name in (*of_head_dim.items(), *names.items()):
        if abs(factor - value) <= _CLOSE * abs(value):
            return f" ({name})"
    return ""


def _offset(got: torch.Tensor, want: torch.Tensor, allowed: torch.Tensor) -> str:
    """What to say if all wrong values are off by one and the same difference."""
    if len(got) < 3:
        return ""
    off = float((got - want).median())
    if not ((got - want - off).abs() <= 2 * allowed).all():
        return ""
    amount = f"{abs(off):.5g}"
    count = math.exp(min(abs(off), 20.0))  # no row has e**20 keys, and exp(710) raises
    if abs(count - round(count)) < 1e-3 and round(count) > 1:
        amount += f", which is log({round(count)})"
    return f"Every wrong value is too {'large' if off > 0 else 'small'} by {amount}."


def _row_factor(seen: Seen, wrong: torch.Tensor) -> str:
    """What to say if each row is right up to a factor of its own."""
    if seen.axes[-1:] != ("dim",) or seen.got.shape[-1] < 3:
        return ""
    rows = wrong.any(-1)
    got, want = seen.got[rows], seen.want[rows]
    factor = (got * want).sum(-1, keepdim=True) / (want * want).sum(-1, keepdim=True)
    within = (got - factor * want).abs() <= 2 * seen.allowed[rows] * factor.abs().clamp(min=1)
    if not within.all():
        return ""
    low, high = float(factor.min()), float(factor.max())
    if low > 0.98 and high < 1.02:
        return (
            "The values are nearly right: something is rounded on the way, or an epsilon is added."
        )
    return (
        f"Each row is right up to a factor of its own ({low:.4g} to {high:.4g}): the weights of a "
        "row keep their proportions, but what they are divided by is wrong."
    )


def _exchanged(seen: Seen, wrong: torch.Tensor) -> str:
    """What to say if one index along an axis holds what belongs to another."""
    for axis, name in enumerate(seen.axes):
        if name == "dim" or seen.got.shape[axis] < 2:
            continue
        others = [i for i in range(wrong.ndim) if i != axis]
        hit = (wrong.sum(dim=others) > 0 if others else wrong).nonzero().flatten().tolist()
        index = hit[0]
        got, allowed = seen.got.select(axis, index), seen.allowed.select(axis, index)
        for other in range(seen.got.shape[axis]):
            want = seen.want.select(axis, other)
            if other != index and got.numel() > 1 and not wrong_elements(got, want, allowed).any():
                return f"At {name} {index} stands what belongs at {name} {other}."
    return ""


def _rounded(seen: Seen) -> str:
    import torch

    got, want = seen.got, seen.want
    for dtype in (torch.bfloat16, torch.float16):
        if bool((got.to(dtype).double() == got).all()) and bool((want.to(dtype) != want).any()):
            name = str(dtype).removeprefix("torch.")
            return f"Every value is a {name} number: something was rounded to {name} too early."
    return ""


def _of_numbers(wrong: list[Seen]) -> list[str]:
    """About plain numbers: what all wrong cases have in common."""
    pairs = [
        (float(seen.got), float(seen.want))
        for seen in wrong
        if all(
            isinstance(x, (int, float)) and not isinstance(x, bool) for x in (seen.got, seen.want)
        )
    ]
    if not pairs or len(pairs) != len(wrong) or any(math.isnan(got) for got, _ in pairs):
        return []
    where = "Your value is" if len(pairs) == 1 else f"In all {len(pairs)} wrong cases your value is"
    what = _common(pairs)
    whole = [isinstance(s.want, int) and isinstance(s.got, float) for s in wrong]
    kind = ["A whole number is expected, and yours is a float."] if all(whole) else []
    return [f"{where} {what}.", *kind] if what else kind


def _common(pairs: list[tuple[float, float]]) -> str:
    """Ends "your value is": what holds for all (got, want); "" if nothing does."""
    if all(got == 0 for got, _ in pairs):
        return "0"
    if all(got == want for got, want in pairs):
        return ""
    for round_to, name in ((math.floor, "down"), (math.ceil, "up"), (round, "to a whole number")):
        if all(math.isfinite(want) and got == round_to(want) for got, want in pairs):
            return f"the right one, rounded {name}"
    factors = [got / want for got, want in pairs if want]
    if len(factors) == len(pairs) and max(factors) - min(factors) <= 1e-6 * abs(factors[0]):
        return f"{factors[0]:.6g} times the right one{name_factor(factors[0])}"
    offs = [got - want for got, want in pairs]
    if len(pairs) > 1 and max(offs) - min(offs) <= 1e-9 * abs(offs[0]):
        return f"{abs(offs[0]):.6g} {'more' if offs[0] > 0 else 'less'} than the right one"
    if len(factors) == len(pairs) and (far := max(abs(f - 1) for f in factors)) < 0.01:
        return f"off by at most {100 * far:.2g}%: is something rounded on the way?"
    signs = {off > 0 for off in offs}
    if len(pairs) > 1 and len(signs) == 1:
        return f"too {'large' if signs.pop() else 'small'}"
    return ""
