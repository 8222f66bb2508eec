"""What an observer of Triton's interpreter is told, and that nothing of it stays behind."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fdlib import device
from fdlib.xray.interpreter.interpreted import _Watch, watching
from fdlib.xray.interpreter.observer import Access

torch = pytest.importorskip("torch")
interpreter = pytest.importorskip("triton.runtime.interpreter")
kernels = pytest.importorskip("watched_kernels")
pytestmark = pytest.mark.skipif(
    not device.interpreting(), reason="only Triton's interpreter can be watched"
)


class Notes:
    """Writes everything down; `refuse` makes it raise at an access."""

    def __init__(self, refuse=None):
        self.launches, self.accesses, self.ends, self.refuse = [], [], 0, refuse

    def launch(self, kernel, grid, arguments):
        self.launches.append((kernel, grid, dict(arguments)))

    def access(self, access: Access):
        self.accesses.append(access)
        if self.refuse is not None and self.refuse(access):
            raise LookupError("refused")

    def end(self):
        self.ends += 1

    def shown(self):
        return [(a.kind, a.argument, a.program, a.offsets.ravel().tolist()) for a in self.accesses]


def hooks():
    """What `watching` replaces, as it is now."""
    executor, builder = interpreter.GridExecutor, interpreter.InterpreterBuilder
    names = [n for n in dir(builder) if n.startswith(("create_", "set_grid"))]
    own = [interpreter._implicit_cvt, executor.__call__, executor._init_args_hst]
    return own + [getattr(builder, name) for name in names]


@pytest.fixture(autouse=True)
def nothing_stays_behind():
    before = hooks()
    yield
    assert hooks() == before


def watched(kernel, grid, *args, refuse=None, order=None, fill_undefined=False, **kw):
    notes = Notes(refuse)
    with watching(notes, order=order, fill_undefined=fill_undefined):
        kernel[grid](*args, **kw)
    return notes


def test_a_launch_and_its_accesses_in_order():
    x, out = torch.arange(6.0), torch.zeros(6)
    notes = watched(kernels.copy_kernel, (2,), x, out, 6, 0, BLOCK=4)
    ((name, grid, arguments),) = notes.launches
    assert (name, grid, list(arguments)) == ("copy_kernel", (2, 1, 1), ["X", "Out"])
    assert arguments["X"].data_ptr() == x.data_ptr() and arguments["X"].shape == x.shape
    assert notes.shown() == [
        ("load", "X", (0, 0, 0), [0, 1, 2, 3]),
        ("store", "Out", (0, 0, 0), [0, 1, 2, 3]),
        ("load", "X", (1, 0, 0), [4, 5, 6, 7]),
        ("store", "Out", (1, 0, 0), [4, 5, 6, 7]),
    ]
    assert notes.accesses[2].lanes.tolist() == [True, True, False, False]
    assert notes.accesses[2].masked and not notes.accesses[2].undefined
    assert notes.ends == 1 and torch.equal(out, x)


def test_two_launches_by_keyword_without_a_mask_and_a_scalar():
    x, out = torch.arange(8.0), torch.zeros(1)
    notes = Notes()
    with watching(notes):
        kernels.load_kernel[(1,)](X=x, Out=out, first=1, step=2, N=2)
        kernels.scalar_kernel[lambda meta: (1, 1)](x, at=5, Out=out)
    assert [launch[0] for launch in notes.launches] == ["load_kernel", "scalar_kernel"]
    assert notes.ends == 2 and out.item() == 5
    assert [offsets for *_, offsets in notes.shown()] == [[1, 3], [0], [5], [0]]
    assert not any(access.masked for access in notes.accesses)


@pytest.mark.parametrize("at", [-1, 64, -(2**20), 2**31 + 5, -(2**40), 2**50])
def test_a_pointer_is_known_however_far_it_runs(at):
    k, v = torch.zeros(2, 64)
    for at_k, at_v, argument in ((at, 0, "K"), (0, at, "V")):
        out = torch.full((1,), 3.0)
        notes = Notes(refuse=lambda a: a.offsets.min() < 0 or a.offsets.max() >= 64)
        with watching(notes), pytest.raises(interpreter.InterpreterError, match="refused"):
            kernels.two_kernel[(1,)](k, v, out, at_k, at_v)
        assert notes.shown()[-1] == ("load", argument, (0, 0, 0), [at])
        assert notes.ends == 1 and out.item() == 3


def test_one_load_from_two_tensors_is_two_accesses():
    k, v = torch.arange(8.0), -torch.arange(8.0)
    notes = watched(kernels.choose_kernel, (1,), k, v, out := torch.zeros(4), N=4)
    first, second, _ = notes.accesses
    assert (first.argument, first.offsets[first.lanes].tolist()) == ("K", [0, 2])
    assert (second.argument, second.offsets[second.lanes].tolist()) == ("V", [1, 3])
    assert out.tolist() == [0, -1, 2, -3]


def test_views_of_one_tensor_stay_apart_and_have_their_own_element_0():
    both = torch.arange(12.0).reshape(3, 2, 2)
    k, v = both[:, 0], both[:, 1]
    notes = watched(kernels.two_kernel, (1,), k, v, out := torch.zeros(1), 4, 4)
    assert notes.shown()[:2] == [("load", "K", (0, 0, 0), [4]), ("load", "V", (0, 0, 0), [4])]
    assert out.item() == 4 + 6
    same = torch.ones(2)
    notes = watched(kernels.two_kernel, (1,), same, same, same, 0, 1)
    assert [name for _, name, *_ in notes.shown()] == ["K", "V", "Out"]


def test_an_empty_tensor_has_addresses_too():
    notes = Notes(refuse=lambda access: access.argument == "X")
    with watching(notes), pytest.raises(interpreter.InterpreterError):
        kernels.scalar_kernel[(1,)](torch.empty(0), torch.zeros(1), 0)
    assert notes.shown() == [("load", "X", (0, 0, 0), [0])]
    assert watched(kernels.scalar_kernel, (0,), torch.empty(0), torch.zeros(1), 0).ends == 1


def test_a_device_function_uses_its_callers_arguments():
    x, out = torch.arange(4.0), torch.zeros(1)
    notes = watched(kernels.calling_kernel, (1,), x, out, 3)
    assert notes.shown() == [("load", "X", (0, 0, 0), [3]), ("store", "Out", (0, 0, 0), [0])]
    assert out.item() == 6


def test_a_pointer_of_another_type_says_which_elements_it_touches():
    x, out = torch.zeros(8), torch.zeros(4, dtype=torch.int64)
    as_bytes, as_pairs, _ = watched(kernels.bytes_kernel, (1,), x, out, N=4).accesses
    assert (as_bytes.offsets.tolist(), as_bytes.last.tolist()) == ([0] * 4, [0] * 4)
    assert (as_pairs.offsets.tolist(), as_pairs.last.tolist()) == ([0, 2, 4, 6], [1, 3, 5, 7])


def test_an_address_from_memory_is_refused():
    x = torch.ones(1)
    addresses = torch.tensor([x.data_ptr()])
    with pytest.raises(interpreter.InterpreterError, match="comes from no tensor argument"):
        watched(kernels.foreign_kernel, (1,), addresses, torch.zeros(1))


def test_descriptors_are_watched():
    x = torch.arange(24.0).reshape(3, 8)[:, :4]
    notes = watched(kernels.descriptor_kernel, (1,), x, out := torch.zeros(3, 4), 3, 4, 8, 4, 4)
    assert torch.equal(out, x + 1)
    load, store = notes.accesses
    assert (load.argument, load.lanes.sum(), load.offsets[2, 3]) == ("X", 12, 19)
    assert (store.argument, store.lanes.sum()) == ("Out", 12)


@pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
def test_block_pointers_are_watched():
    if not hasattr(interpreter.InterpreterBuilder, "create_tensor_pointer_load"):
        pytest.skip("this Triton has none")
    x, out = torch.arange(4.0), torch.ones(4)
    notes = watched(kernels.block_pointer_kernel, (1,), x, out, 4, 2, 4)
    assert out.tolist() == [2, 3, 0, 0]
    assert notes.accesses[0].lanes.tolist() == [True, True, False, False]


def test_atomics():
    out = torch.zeros(2, dtype=torch.int32)
    notes = watched(kernels.add_kernel, (3,), out, 1, RELAXED=True)
    assert out.tolist() == [0, 6]
    assert notes.shown()[2] == ("atomic", "Out", (2, 0, 0), [1])
    assert {access.semantic for access in notes.accesses} == {"relaxed"}
    notes = watched(kernels.add_kernel, (1,), out, 0, RELAXED=False)
    assert notes.accesses[0].semantic == "acquire_release" and not notes.accesses[0].masked
    notes = watched(kernels.swap_kernel, (1,), out, 0)
    assert (notes.accesses[0].kind, out.tolist()) == ("atomic", [1, 6])


def test_the_order_of_programs():
    grid, natural = (
        (2, 3, 2),
        [100 * x + 10 * y + z for x in (0, 1) for y in (0, 1, 2) for z in (0, 1)],
    )
    for order, want in ((None, natural), (lambda n: range(n)[::-1], natural[::-1])):
        seen, counter = torch.zeros(12, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        notes = watched(kernels.order_kernel, grid, seen, counter, order=order)
        assert seen.tolist() == want
        assert [100 * x + 10 * y + z for _, _, (x, y, z), _ in notes.shown()[::2]] == want


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8"])
def test_hidden_lanes_without_other_can_be_made_to_show(dtype):
    x = torch.ones(4, dtype=getattr(torch, dtype))
    for fill in (False, True):
        out = torch.zeros_like(x)
        notes = watched(kernels.no_other_kernel, (1,), x, out, 3, N=4, fill_undefined=fill)
        assert notes.accesses[0].undefined
        assert out[:3].tolist() == [1, 1, 1]
        hidden = out[3].item()
        spoilt = hidden != hidden if x.is_floating_point() else hidden == torch.iinfo(x.dtype).max
        assert spoilt if fill else hidden == 0
    assert not watched(kernels.no_other_kernel, (1,), x, out, 4, N=4).accesses[0].undefined


def test_a_kernel_that_raises_half_way_and_what_comes_after():
    notes = Notes()
    with pytest.raises(interpreter.InterpreterError), watching(notes):
        kernels.raising_kernel[(3,)](torch.ones(1), torch.zeros(1))
    assert notes.ends == 1 and len(notes.accesses) == 4
    with pytest.raises(TypeError), watching(notes):
        kernels.raising_kernel[(3,)](torch.ones(1))
    assert notes.ends == 1
    kernels.scalar_kernel[(1,)](torch.ones(1), out := torch.zeros(1), 0)
    assert out.item() == 1 and len(notes.accesses) == 4


def test_it_does_not_nest():
    with watching(Notes()), pytest.raises(RuntimeError, match="nested"), watching(Notes()):
        pass


def test_a_tuple_and_a_descriptor_made_on_the_host_have_names():
    watch = _Watch(interpreter, Notes(), None, False)
    x, y = torch.ones(1), torch.ones(1)
    watch._name("Pair", (x, 3, (y,)))
    watch._name("Desc", SimpleNamespace(base=(base := torch.ones(1))))
    names = [watch._names[id(tensor)] for tensor in (x, y, base)]
    assert names == ["Pair[0]", "Pair[2][0]", "Desc"]
