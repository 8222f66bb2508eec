"""Toy kernels for the tests of what watches kernels run."""

from __future__ import annotations

import fdlib  # noqa: F401  (chooses the mode before triton is imported)

import triton  # isort: skip
import triton.language as tl  # isort: skip


@triton.jit
def copy_kernel(X, Out, n, first, BLOCK: tl.constexpr):
    offs = first + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Out + offs, tl.load(X + offs, mask=offs < n, other=1.0), mask=offs < n)


@triton.jit
def load_kernel(X, Out, first, step, N: tl.constexpr):
    """Loads without a mask, then a scalar store."""
    x = tl.load(X + first + step * tl.arange(0, N))
    tl.store(Out + tl.program_id(0), tl.sum(x, 0))


@triton.jit
def scalar_kernel(X, Out, at):
    tl.store(Out, tl.load(X + at))


@triton.jit
def two_kernel(K, V, Out, at_k, at_v):
    tl.store(Out, tl.load(K + at_k) + tl.load(V + at_v))


@triton.jit
def choose_kernel(K, V, Out, N: tl.constexpr):
    """One load from two tensors: even lanes from K, odd ones from V."""
    offs = tl.arange(0, N)
    tl.store(Out + offs, tl.load(tl.where(offs % 2 == 0, K + offs, V + offs)))


@triton.jit
def _twice(X, at):
    return 2 * tl.load(X + at)


@triton.jit
def calling_kernel(X, Out, at):
    tl.store(Out, _twice(X, at))


@triton.jit
def no_other_kernel(X, Out, n, N: tl.constexpr):
    offs = tl.arange(0, N)
    tl.store(Out + offs, tl.load(X + offs, mask=offs < n))


@triton.jit
def foreign_kernel(Addresses, Out):
    address = tl.load(Addresses).to(tl.pointer_type(tl.float32))
    tl.store(Out, tl.load(address))


@triton.jit
def bytes_kernel(X, Out, N: tl.constexpr):
    """Reads float32 as bytes, then as pairs of them."""
    offs = tl.arange(0, N)
    first = tl.load(X.to(tl.pointer_type(tl.int8)) + offs)
    pairs = tl.load(X.to(tl.pointer_type(tl.int64)) + offs)
    tl.store(Out + offs, first + pairs)


@triton.jit
def raising_kernel(X, Out):
    tl.store(Out, tl.load(X))
    tl.static_assert(tl.program_id(0) < 1)


@triton.jit
def descriptor_kernel(X, Out, rows, cols, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    source = tl.make_tensor_descriptor(X, [rows, cols], [stride, 1], [ROWS, COLS])
    target = tl.make_tensor_descriptor(Out, [rows, cols], [cols, 1], [ROWS, COLS])
    target.store([0, 0], source.load([0, 0]) + 1)


@triton.jit
def block_pointer_kernel(X, Out, n, first, N: tl.constexpr):
    source = tl.make_block_ptr(X, (n,), (1,), (first,), (N,), (0,))
    target = tl.make_block_ptr(Out, (n,), (1,), (0,), (N,), (0,))
    tl.store(
        target, tl.load(source, boundary_check=(0,), padding_option="zero"), boundary_check=(0,)
    )


@triton.jit
def add_kernel(Out, at, RELAXED: tl.constexpr):
    """Every program adds its number to one element."""
    tl.atomic_add(Out + at, tl.program_id(0) + 1, sem="relaxed" if RELAXED else "acq_rel")


@triton.jit
def swap_kernel(Out, at):
    tl.atomic_cas(Out + at, 0, 7)


@triton.jit
def order_kernel(Seen, Counter):
    """Every program writes its number where its turn is."""
    turn = tl.atomic_add(Counter, 1)
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    tl.store(Seen + turn, 100 * x + 10 * y + z)


@triton.jit
def last_block_kernel(X, Parts, Out, Counter, N: tl.constexpr):
    """The program that counts last adds up what all have stored."""
    pid, programs = tl.program_id(0), tl.num_programs(0)
    tl.store(Parts + pid, tl.load(X + pid))
    if tl.atomic_add(Counter, 1) == programs - 1:
        offs = tl.arange(0, N)
        tl.store(Out, tl.sum(tl.load(Parts + offs, mask=offs < programs, other=0.0), 0))


@triton.jit
def all_store_kernel(Out, at):
    tl.store(Out + at, tl.program_id(0))


@triton.jit
def neighbour_kernel(X, N: tl.constexpr):
    """Each program reads the element of the next one and writes its own."""
    pid = tl.program_id(0)
    tl.store(X + pid, tl.load(X + pid + 1))


@triton.jit
def count_and_store_kernel(Out):
    if tl.program_id(0) == 0:
        tl.atomic_add(Out, 1.0, sem="relaxed")
    else:
        tl.store(Out, 1.0)
