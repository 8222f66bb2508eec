"""Exercise 04: predict an idle GPU (plain Python, about 25 minutes).

Read notebook 04_decode_bottleneck first. No kernel today: you write down, as small functions, what
the notebook argued. How many programs does FlashAttention-2 launch? How many SMs do they keep busy?
How many bytes must be read, and how long does that take at best? Integers stay integers: use // and
not /, unless a fraction is asked for (2.0 is not the integer 2). a // b rounds down; -(-a // b) is a
divided by b, rounded up.

Write only between a line that begins with "# >>> write" and the next "# <<<".
Check yourself: `fdlib check 4` in a terminal, or `check(4)` in the notebook.
"""

import math  # noqa: F401  (if you want it)


def grid_programs(batch, heads_q, len_q, block_m=128):
    """Programs that FlashAttention-2 launches: one per block of `block_m` queries, per query head,
    per sequence.

    A block that is only partly filled is a program too: 130 queries are 2 blocks of 128.
    """
    # >>> write: the number of programs
    blocks = -(-len_q // block_m)
    programs = blocks * heads_q * batch
    # <<<
    return programs


def idle_fraction(programs, num_sms):
    """Share of the GPU's SMs that get no program, from 0.0 to 1.0. One SM can run several programs."""
    # >>> write: the idle fraction
    busy = min(programs, num_sms)
    fraction = 1 - busy / num_sms
    # <<<
    return fraction


def kv_bytes(batch, heads_kv, len_kv, head_dim, element_bytes=2):
    """Bytes of the keys and the values of one layer, both together.

    `element_bytes` is 2 for float16 and bfloat16.
    """
    # >>> write: the bytes of K and V
    size = 2 * batch * heads_kv * len_kv * head_dim * element_bytes
    # <<<
    return size


def flops(batch, heads_q, len_q, len_kv, head_dim):
    """Floating point operations of q kᵀ and of p v; a product and an addition are two operations.

    No discount for causal masking.
    """
    # >>> write: the operations of the two matrix products
    operations = 2 * (2 * batch * heads_q * len_q * len_kv * head_dim)
    # <<<
    return operations


def intensity(batch, heads_q, heads_kv, len_q, len_kv, head_dim, element_bytes=2):
    """Operations per byte of memory traffic, if q, k and v are read once and out is written once."""
    # >>> write: operations per byte
    q_bytes = batch * heads_q * len_q * head_dim * element_bytes
    kv_read = kv_bytes(batch, heads_kv, len_kv, head_dim, element_bytes)
    traffic = q_bytes + kv_read + q_bytes  # out is as large as q
    per_byte = flops(batch, heads_q, len_q, len_kv, head_dim) / traffic
    # <<<
    return per_byte


def decode_time_us(bytes_read, bandwidth_gbs, programs, num_sms):
    """Microseconds to read `bytes_read` in a simple model: an SM draws 1/num_sms of the bandwidth.

    So a grid that leaves half of the SMs idle takes twice as long. `bandwidth_gbs` is in GB/s; 1 GB
    is 1e9 bytes. There is at least one program.
    """
    # >>> write: the time in microseconds
    busy_share = 1 - idle_fraction(programs, num_sms)
    microseconds = bytes_read / (bandwidth_gbs * 1e9 * busy_share) * 1e6
    # <<<
    return microseconds


def splits_to_fill(batch, heads_q, num_sms):
    """The fewest parts to cut the keys into, so that one query per sequence gives every SM a program.

    Each part of each query head of each sequence is one program. At least 1: uncut.
    """
    # >>> write: the number of splits
    splits = -(-num_sms // (batch * heads_q))
    # <<<
    return splits
