"""Checks of kernels, run with their memory watched: faults, hidden lanes, the order of programs."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from fdlib import device
from fdlib.course.catalogue import find, solution_path
from fdlib.course.checks import load_checks
from fdlib.course.checks.guards import at_work, expect_written, unwritten_memory
from fdlib.course.expect.check import Check, CheckContext
from fdlib.course.expect.compare import Mismatch, expect_close
from fdlib.course.expect.memory import MemoryFault
from fdlib.course.expect.observe import look
from fdlib.course.expect.watched import watched
from fdlib.course.grading.runner import check

from .answers import edited, load_text

torch = pytest.importorskip("torch")
kernels = pytest.importorskip("xray.watched_kernels")
pytestmark = pytest.mark.skipif(
    not device.interpreting(), reason="only Triton's interpreter can be watched"
)
CONTEXT = CheckContext(seed=0, name="toy", mode="interpreter")


def outcome(run, want, context=CONTEXT):
    """What a check says that compares what `run` returns with `want`."""

    def compare(module, context):
        with unwritten_memory("a toy"):
            got = run()
        expect_written(got, what="out", case="a toy", axes=("i",))
        expect_close(got, torch.tensor(want), what="out", case="a toy", axes=("i",))

    (each,) = watched(Check("toy", "A toy.", 1, compare))
    try:
        each.run(ModuleType("toy"), context)
    except Mismatch as error:
        return error
    return None


def launch(kernel, n, *args, of=1, before=(), **kw):
    """A function that launches a kernel on an output of `of` elements, which it returns."""

    def run():
        out = torch.empty(of)
        kernel[(n,)](*before, out, *args, **kw)
        return out

    return run


def test_a_fault_says_for_which_case_and_is_seen_by_who_looks_on():
    x = torch.ones(3)
    run = launch(kernels.no_other_kernel, 1, 4, before=(x,), of=4, N=4)
    error = outcome(run, [1.0, 1.0, 1.0, 0.0])
    assert isinstance(error, MemoryFault)
    assert str(error).startswith("A load goes outside of X, for a toy: 1 of its 4 elements,")
    right = launch(kernels.no_other_kernel, 1, 4, before=(torch.ones(4),), of=4, N=4)
    assert outcome(right, [1.0] * 4) is None


def test_a_fault_that_the_learners_code_catches_counts():
    def run():
        try:
            kernels.scalar_kernel[(1,)](torch.ones(1), torch.empty(1), 5)
        except Exception:
            return torch.ones(1)

    assert outcome(run, [1.0]).offset == 5


def test_other_exceptions_pass_and_later_comparisons_are_reached():
    def fails(module, context):
        for value in (1.0, 2.0):
            expect_close(torch.tensor(value), torch.tensor(0.0), what="x", case="a toy", axes=())
        raise KeyError("later")

    (each,) = watched(Check("toy", "A toy.", 1, fails))
    with pytest.raises(Mismatch, match="got 1, expected 0"):
        each.run(ModuleType("toy"), CONTEXT)
    sight = look(each.run, ModuleType("toy"), CONTEXT)
    assert len(sight.seen) == 2 and isinstance(sight.ended, KeyError)


def test_hidden_lanes_without_other_are_named_where_nan_comes_out():
    run = launch(kernels.no_other_kernel, 1, 3, before=(torch.ones(4),), of=4, N=4)
    message = str(outcome(run, [1.0, 1.0, 1.0, 0.0]))
    assert "out is NaN where it should not be" in message
    assert "A load from X hides lanes with its mask and gives no `other`." in message
    wrong = str(outcome(run, [2.0, 2.0, 2.0, float("nan")]))
    assert "out is wrong" in wrong and "`other`" not in wrong


def test_hidden_lanes_are_named_only_where_they_are_the_cause():
    """The wrong value is the same with 0 in the hidden lanes: it comes from elsewhere."""

    def run():
        out = torch.empty(4)
        kernels.no_other_kernel[(1,)](torch.ones(4), out, 3, N=4)
        return torch.where(torch.arange(4) < 3, torch.nan, 0.0)

    assert "`other`" not in str(outcome(run, [1.0, 1.0, 1.0, 0.0]))


def test_a_load_without_other_leads_with_its_line_and_region(tmp_path):
    path = tmp_path / "ex06_lse_combine.py"
    text = 'tl.load(lse_ptrs, mask=in_splits, other=float("-inf"))'
    path.write_text(edited(6, f"{text} | tl.load(lse_ptrs, mask=in_splits)"))
    verdict = check(6, path=path, seed=0)
    result = verdict.result("combine")
    assert result.message.startswith("A load from LsePartial hides lanes with its mask")
    assert result.location.endswith("lse_parts = tl.load(lse_ptrs, mask=in_splits)")
    assert result.region == "load the LSEs and the partial outputs"
    assert (result.diagnosis, result.mistake) == ("", "")
    assert result.read == "03: Pointers, `tl.arange`, masks"


def test_a_result_that_depends_on_the_order_says_so():
    def run(n):
        seen, counter = torch.empty(n), torch.zeros(1, dtype=torch.int32)
        kernels.order_kernel[(n,)](seen, counter)
        return seen

    message = str(outcome(lambda: run(4), [0.0, 100.0, 200.0, 300.0]))
    assert "in another order it is right. A GPU promises no order." in message
    message = str(outcome(lambda: run(4), [0.0, 0.0, 200.0, 300.0]))
    assert "in another order it is a different one." in message
    assert "order" not in str(outcome(lambda: run(1), [7.0]))
    same = launch(kernels.all_store_kernel, 1, 0)
    assert "order" not in str(outcome(same, [7.0]))


def test_the_order_comes_from_the_seed():

    orders = [order_of(seed) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]


def order_of(seed):
    """The order in which nine programs run in a check with this seed."""
    found = []

    def compare(module, context):
        seen, counter = torch.zeros(9), torch.zeros(1, dtype=torch.int32)
        kernels.order_kernel[(9,)](seen, counter)
        found.append(seen.tolist())

    (each,) = watched(Check("toy", "A toy.", 1, compare))
    each.run(ModuleType("toy"), CheckContext(seed, "toy", "interpreter"))
    (order,) = found
    assert sorted(order) == [100.0 * i for i in range(9)]
    return order


def test_launches_are_counted_by_module_and_name():
    out = torch.zeros(1, dtype=torch.int32)
    module = ModuleType(kernels.__name__)
    with at_work(module, "all_store_kernel") as right, at_work(module, "other_kernel") as other:
        for _ in range(2):
            kernels.all_store_kernel[(1,)](out, 0)
    with at_work(ModuleType("elsewhere"), "all_store_kernel") as elsewhere:
        kernels.all_store_kernel[(1,)](out, 0)
    assert (right.launches, other.launches, elsewhere.launches) == (2, 0, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_what_a_kernel_wrote_is_told_from_what_torch_computed(dtype):
    seen, counter = torch.zeros(9, dtype=dtype), torch.zeros(1, dtype=torch.int32)
    with at_work(ModuleType(kernels.__name__), "order_kernel") as work:
        kernels.order_kernel[(9,)](seen, counter)
    work.expect_of("a case", out=seen, also=seen.to(torch.float32)[::2])
    work.expect_of("a case", out=torch.tensor([0.0, float("-inf"), float("nan")]))
    with pytest.raises(Mismatch, match=r"out is not what your kernel wrote, for a case: 9 of 9"):
        work.expect_of("a case", out=seen + 1)


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ([1, 1], "The grid is of type list, for [1, 1]"),
        (9, "The grid is of type int"),
        ((9 / 1,), "a float is no integer"),
        ((1, 1, 1, 1), "one to three integers"),
    ],
)
def test_a_grid_that_triton_does_not_take_is_explained(grid, said):
    out = torch.zeros(1, dtype=torch.int32)
    with (
        at_work(ModuleType(kernels.__name__), "all_store_kernel"),
        pytest.raises(Mismatch, match=re.escape(said)),
    ):
        kernels.all_store_kernel[grid](out, 0)


@pytest.mark.parametrize("number", [3, 5, 6])
def test_on_a_gpu_the_checks_run_unwatched(number, monkeypatch):
    for name in ("expect.watched", "checks.guards", "checks.inputs"):
        monkeypatch.setattr(f"fdlib.course.{name}.interpreting", lambda: False)
    monkeypatch.setattr("fdlib.xray.interpreter.interpreted.watching", None)
    module = load_text(number, solution_path(number).read_text(encoding="utf-8"))
    first = load_checks(find(number))[0]
    first.run(module, CheckContext(0, first.name, "gpu"))


NO_MASK = (
    "stride_kn + offs_d[None, :], mask=in_keys[:, None], other=0.0 | stride_kn + offs_d[None, :]"
)


def test_a_load_of_keys_without_a_mask_fails_at_its_line(tmp_path):
    path = tmp_path / "ex03_flash_attention.py"
    path.write_text(edited(3, NO_MASK))
    verdict = check(3, path=path, seed=0)
    assert verdict.result("one-block").outcome == "passed"
    result = verdict.result("tail")
    assert result.outcome == "failed"
    assert result.message.startswith("A load goes outside of K, for B 2, L_q 1, L_kv 1")
    assert "k = tl.load(" in result.location
