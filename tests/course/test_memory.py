"""Loads and stores outside of a tensor, and elements that two programs fight for."""

from __future__ import annotations

from pathlib import Path

import pytest

import fdlib
from fdlib import device
from fdlib.course.expect.memory import MemoryFault, MemoryWatch, fault_in
from fdlib.course.grading.loader import explain
from fdlib.xray.interpreter.interpreted import watching

torch = pytest.importorskip("torch")
interpreter = pytest.importorskip("triton.runtime.interpreter")
kernels = pytest.importorskip("xray.watched_kernels")
pytestmark = pytest.mark.skipif(
    not device.interpreting(), reason="only Triton's interpreter can be watched"
)


def run(kernel, grid, *args, order=None, **kw):
    """The fault of a launch, None if it had none."""
    watch = MemoryWatch()
    found = None
    try:
        with watching(watch, order=order):
            kernel[grid](*args, **kw)
    except interpreter.InterpreterError as error:
        found = fault_in(error) or error
    assert found is watch.fault
    return found


def in_surroundings(shape, more):
    """A view of zeros in a larger tensor of NaN."""
    larger = torch.full([n + m for n, m in zip(shape, more, strict=True)], float("nan"))
    view = larger[tuple(slice(n) for n in shape)]
    return view.zero_()


@pytest.mark.parametrize(
    ("at", "where"),
    [
        (-1, "The first lies 1 element before the tensor's first element."),
        (-(2**40), f"The first lies {2**40} elements before the tensor's first element."),
        (64, "at position 64 along axis 0 (the tensor has 0 to 63): it lies 1 element past the"),
        (2**31 + 5, f"it lies {2**31 + 5 - 63} elements past the tensor's last element."),
        (2**50, f"it lies {2**50 - 63} elements past the tensor's last element."),
    ],
)
def test_near_and_far_outside_on_either_side(at, where):
    for kernel, extra in ((kernels.scalar_kernel, ()), (kernels.load_kernel, (1,))):
        kw = {"N": 1} if extra else {}
        fault = run(kernel, (1,), torch.zeros(64), torch.zeros(1), at, *extra, **kw)
        assert (fault.kind, fault.argument, fault.program) == ("load", "X", (0, 0, 0))
        assert (fault.offset, fault.lanes) == (at, 1)
        assert where in str(fault)
        assert "This load has no mask." in str(fault)


def test_all_elements_of_a_tensor_are_its_own():
    view = in_surroundings((3, 4), (1, 2))
    for at in (0, 3, 6, 9, 12, 15):
        assert run(kernels.scalar_kernel, (1,), view, torch.zeros(1), at) is None
    for at in (4, 5, 10, 11):  # the surroundings
        fault = run(kernels.scalar_kernel, (1,), view, torch.zeros(1), at)
        column, row = at % 6, at // 6
        assert f"position {column} along axis 1 (the tensor has 0 to 3)" in str(fault), row
        assert "between the tensor's rows, in memory that is not the tensor's" in str(fault)


def test_the_position_is_along_the_axis_that_was_overrun():
    k = in_surroundings((2, 7, 3, 16), (4, 64, 1, 0))
    first = k.stride(0) + 7 * k.stride(1) + 2 * k.stride(2)
    fault = run(kernels.load_kernel, (1,), k, torch.zeros(1), first, 1, N=16)
    assert "16 of its 16 elements" in str(fault)
    assert "position 7 along axis 1 (the tensor has 0 to 6)" in str(fault)
    one = in_surroundings((2, 1, 3, 16), (4, 64, 1, 0))
    fault = run(kernels.scalar_kernel, (1,), one, torch.zeros(1), one.stride(1) + 5)
    assert "position 1 along axis 1 (the tensor has 0 only)" in str(fault)
    transposed = torch.zeros(5, 4).T
    assert run(kernels.scalar_kernel, (1,), transposed, torch.zeros(1), 19) is None
    fault = run(kernels.scalar_kernel, (1,), transposed, torch.zeros(1), 20)
    assert "position 5 along axis 1 (the tensor has 0 to 4)" in str(fault)


def test_neighbours_in_one_tensor_are_not_each_others():
    both = torch.zeros(4, 2, 3, 8)
    k, v = both[:, 0], both[:, 1]
    ok = [8, 4 * 48 - 48 + 23]
    assert all(run(kernels.two_kernel, (1,), k, v, torch.zeros(1), at, at) is None for at in ok)
    fault = run(kernels.two_kernel, (1,), k, v, torch.zeros(1), 24, 0)  # v's first element
    assert (fault.argument, fault.offset) == ("K", 24)
    fault = run(kernels.two_kernel, (1,), k, v, torch.zeros(1), 0, -24)  # k's first element
    assert (fault.argument, fault.offset) == ("V", -24)


def test_expanded_and_empty_tensors():
    row = torch.arange(4.0).expand(1000, 4)
    assert run(kernels.scalar_kernel, (1,), row, out := torch.zeros(1), 3) is None
    assert out.item() == 3
    assert run(kernels.scalar_kernel, (1,), row, torch.zeros(1), 4).offset == 4
    for shape in ((0,), (3, 0, 2)):
        fault = run(kernels.scalar_kernel, (1,), torch.zeros(shape), torch.zeros(1), 0)
        assert "The tensor has no elements" in str(fault)
    fault = run(kernels.scalar_kernel, (1,), torch.tensor(1.0), torch.zeros(1), 2)
    assert "The first is element 2: it lies 2 elements past" in str(fault)


def test_the_mask_counts_and_a_wrong_one_is_named():
    x, out = torch.zeros(6), torch.zeros(6)
    assert run(kernels.copy_kernel, (2,), x, out, 6, 0, BLOCK=4) is None
    fault = run(kernels.copy_kernel, (2,), x, out, 8, 0, BLOCK=4)
    assert (fault.kind, fault.program, fault.offset, fault.lanes) == ("load", (1, 0, 0), 6, 2)
    assert "2 of its 4 elements, in program (1, 0, 0)" in str(fault)
    assert "Its mask lets them through." in str(fault)
    fault = run(kernels.copy_kernel, (1,), torch.zeros(8), out, 8, 4, BLOCK=4)
    assert (fault.kind, fault.argument, fault.offset) == ("store", "Out", 6)
    assert out.tolist() == [0] * 6


def test_a_wider_type_and_a_descriptor_past_the_end():
    assert run(kernels.bytes_kernel, (1,), torch.zeros(8), torch.zeros(4).long(), N=4) is None
    fault = run(kernels.bytes_kernel, (1,), torch.zeros(7), torch.zeros(4).long(), N=4)
    assert (fault.argument, fault.offset) == ("X", 7)
    x, out = torch.zeros(3, 8), torch.zeros(3, 4)
    assert run(kernels.descriptor_kernel, (1,), x[:, :4], out, 3, 4, 8, 4, 4) is None
    fault = run(kernels.descriptor_kernel, (1,), x[:, :4], out, 4, 4, 8, 4, 4)
    assert "position 3 along axis 0 (the tensor has 0 to 2)" in str(fault)
    assert "Its mask" in str(fault)


def test_atomics_outside():
    counter = torch.zeros(2, dtype=torch.int32)
    for kernel, kw in ((kernels.add_kernel, {"RELAXED": True}), (kernels.swap_kernel, {})):
        assert run(kernel, (3,), counter, 1, **kw) is None
        fault = run(kernel, (3,), counter, 2, **kw)
        assert fault.kind == "atomic"
        assert str(fault).startswith(
            "An atomic operation goes outside of Out: in program (0, 0, 0)"
        )
        assert "mask" not in str(fault)


def test_a_fault_compares_takes_a_case_and_is_found_at_its_line():
    x, out = torch.zeros(4), torch.zeros(1)
    a, b = (run(kernels.calling_kernel, (1,), x, out, at) for at in (9, 9))
    assert a.signature == b.signature != run(kernels.calling_kernel, (1,), x, out, 8).signature
    assert a.signature == a.for_case("B 2").signature
    assert str(a.for_case("B 2")).startswith(
        "A load goes outside of X, for B 2: in program (0, 0, 0)"
    )
    path = Path(kernels.__file__)
    with pytest.raises(interpreter.InterpreterError) as raised, watching(MemoryWatch()):
        kernels.calling_kernel[(1,)](x, out, 9)
    assert explain(raised.value, path)[1].endswith("return 2 * tl.load(X + at)")
    with pytest.raises(MemoryFault) as again:
        raise a.for_case("B 2") from raised.value
    assert explain(again.value, path)[1].endswith("return 2 * tl.load(X + at)")
    assert fault_in(ValueError()) is None and fault_in(None) is None


@pytest.mark.parametrize("backwards", [False, True])
def test_two_programs_at_one_element(backwards):
    order = (lambda n: range(n)[::-1]) if backwards else None
    out = torch.zeros(2, 3, dtype=torch.int32)
    assert run(kernels.all_store_kernel, (1,), out, 5, order=order) is None
    fault = run(kernels.all_store_kernel, (3,), out, 5, order=order)
    a, b = ((1, 0, 0), (2, 0, 0)) if backwards else ((1, 0, 0), (0, 0, 0))
    assert (fault.argument, fault.kind, fault.program, fault.offset) == ("Out", "store", a, 5)
    text = f"program {a} (tl.program_id of axis 0, 1 and 2) stores to element [1, 2]; program {b} stores to it too."
    assert text in str(fault)
    assert "run at the same time, in no fixed order" in str(fault)


def test_a_load_and_a_store_of_two_programs_in_either_order():
    fault = run(kernels.neighbour_kernel, (3,), torch.zeros(4), N=1)
    assert (fault.kind, fault.program) == ("store", (1, 0, 0))
    assert "program (0, 0, 0) loads it too" in str(fault)
    fault = run(kernels.neighbour_kernel, (3,), torch.zeros(4), N=1, order=lambda n: range(n)[::-1])
    assert (fault.kind, fault.program) == ("load", (1, 0, 0))
    assert "program (2, 0, 0) stores to it too" in str(fault)
    x = torch.zeros(8)
    assert run(kernels.copy_kernel, (2,), x, x, 8, 0, BLOCK=4) is None  # each its own elements
    fault = run(kernels.two_kernel, (2,), x, x, x, 0, 1)
    assert fault.argument in ("K", "Out")  # two arguments, one memory


def test_atomics_do_not_fight_and_order_what_comes_after():
    counter = torch.zeros(1, dtype=torch.int32)
    assert run(kernels.add_kernel, (4,), counter, 0, RELAXED=True) is None
    fault = run(kernels.count_and_store_kernel, (2,), torch.zeros(1))
    assert fault.kind == "store" and "does an atomic operation on it too" in str(fault)
    x, counter = torch.arange(5.0), torch.zeros(1, dtype=torch.int32)
    parts, out = torch.zeros(5), torch.zeros(1)
    assert run(kernels.last_block_kernel, (5,), x, parts, out, counter, N=8) is None
    assert out.item() == 10


def test_launches_do_not_fight_each_other_and_the_package_is_clean():
    out, watch = torch.zeros(1, dtype=torch.int32), MemoryWatch()
    with watching(watch):
        for _ in range(2):
            kernels.all_store_kernel[(1,)](out, 0)
        q, k, v = (torch.randn(2, n, h, 16) for n, h in ((1, 4), (37, 2), (37, 2)))
        fdlib.flash_decode(q, k, v, num_splits=3)
        fdlib.flash_attention(q, k, v, causal=True)
    assert watch.fault is None
