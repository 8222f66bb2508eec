"""What Triton's compiler says about `tl.dot`, shapes and functions, and what it means."""

from __future__ import annotations

from fdlib.course.grading.compile_rules import BLOCKS, DOT, POINTERS, REDUCE, Rule

__all__ = ["BLOCK_RULES"]

BLOCK_RULES = (
    # --- tl.dot
    Rule(
        r"Input shapes should have M >= (\d+), N >= (\d+) and K >= (\d+)",
        "tl.dot got a tile that is too small: this GPU needs M >= {0}, N >= {1} and K >= {2} for "
        "[M, K] times [K, N].",
        "Use larger blocks, or multiply and tl.sum where there is no tile to fill.",
        DOT,
        "The interpreter multiplies any shapes with numpy; tensor cores work on fixed tiles.",
    ),
    Rule(
        r"Both operands must be same dtype. Got (\w+) and (\w+)",
        "tl.dot got a tile of {0} and one of {1}.",
        "Cast one: p.to(v.dtype).",
        DOT,
    ),
    Rule(
        r"must have equal ranks|reduction dimensions",
        "The two tiles of tl.dot do not fit: it takes [M, K] and [K, N].",
        "Turn one around with tl.trans, or multiply and tl.sum if one of them is a vector.",
        DOT,
        "",
    ),
    Rule(
        r"input_precision must be one of (.+)\. Got (\w+)",
        "tl.dot does not know the input_precision {1!r}.",
        'Write input_precision="ieee".',
        DOT,
    ),
    # --- shapes
    Rule(
        r"arange's range must be a power of 2|must be a power of 2",
        "The length of a block, as in tl.arange or tl.zeros, must be a power of two.",
        "Take the next power of two, and hide the rest with a mask.",
        POINTERS,
        "The interpreter uses numpy, which takes any length.",
    ),
    Rule(
        r"arange's arguments must be of type tl.constexpr|Shape element \d+ must have type",
        "The length of a block is not known when the kernel is compiled: it comes with the launch.",
        "Use one of the kernel's `tl.constexpr` arguments. An argument of your own needs that "
        "annotation too: SIZE: tl.constexpr.",
        POINTERS,
        "Under the interpreter every number is known.",
    ),
    Rule(
        r"incompatible dimensions at index (\d+): (\d+) and (\d+)",
        "Two blocks do not fit together: along axis {0} one has {1} elements, the other {2}.",
        "A `[:, None]` or `[None, :]` is missing, or the wrong axis was summed.",
        BLOCKS,
        "",
    ),
    Rule(
        r"Expected pointer argument to have shape (\[.*\]) but got (\[.*\])",
        "Pointers, mask and value of one tl.load or tl.store have different shapes.",
        "Give all of them the same shape, with `[:, None]` and `[None, :]`.",
        POINTERS,
    ),
    Rule(
        r"cannot be block type if pointer argument is not a block",
        "tl.store got a whole block to write, and one single address.",
        "Add tl.arange to the pointer, one address an element.",
        POINTERS,
    ),
    Rule(
        r"Unsupported ptr type (.+) in `tl\.(\w+)`",
        "tl.{1} got values ({0}) where it takes pointers.",
        "Pass the pointer argument plus offsets.",
        POINTERS,
    ),
    Rule(
        r"op operand #\d+ must be 1-bit signless integer",
        "The mask of a tl.load or tl.store is not a condition but a block of numbers.",
        "Compare: mask=offs < length.",
        POINTERS,
        "The interpreter takes any number but 0 for True.",
    ),
    Rule(
        r"`other` cannot be provided without `mask`",
        "tl.load got `other` and no mask.",
        "Give it the mask that says which elements are read.",
        POINTERS,
    ),
    Rule(
        r"numel \((\d+)\) exceeds triton maximum tensor numel \((\d+)\)",
        "A block of {0} elements is too large: Triton takes {1} at most, and a GPU much less.",
        "Loop over smaller blocks.",
        POINTERS,
    ),
    Rule(
        r"unsupported tensor index|__setitem__ is not supported|`_semantic` argument must be",
        "A block lives in registers: single elements or slices of it cannot be read or set.",
        "Load what you need from memory, or pick elements with tl.where and tl.sum. Only "
        "`[:, None]` and `[None, :]` work.",
        BLOCKS,
        "Under the interpreter a block is a numpy array.",
    ),
    Rule(
        r"invalid axis (-?\d+)\. Expected",
        "The axis {0} does not exist in this block.",
        "The second argument of tl.max and tl.sum is an axis: 0 for rows, 1 for columns.",
        REDUCE,
    ),
    # --- functions
    Rule(
        r"Unsupported function referenced: <.*?(?:method|function) (\w+)",
        "The kernel calls `{0}`, a function that is not Triton's: only tl.... and functions with "
        "@triton.jit compile.",
        "Use Triton's own (tl.exp, tl.log, tl.where, ...), or put @triton.jit above your function.",
        REDUCE,
    ),
    Rule(
        r"must be real number, not tensor|float\(\) argument must be|has no len\(\)"
        r"|requires at least 2 values|int\(\) argument must be",
        "A Python function (math.exp, float, max, len, ...) got a block of the kernel.",
        "Use Triton's own: tl.exp, tl.log, tl.max, .to(tl.float32).",
        REDUCE,
    ),
    Rule(
        r"unexpected keyword argument '(\w+)'",
        "A function of Triton was given `{0}=`, which it does not take. torch and numpy name things "
        "differently.",
        "The axis is the second argument: tl.sum(p, 1).",
        REDUCE,
        "",
    ),
    Rule(
        r"'([\w.]+)' object has no attribute '(?:scalar|type)'",
        "A value of Python's type {0} stands where Triton takes a number, a block or a dtype.",
        "Use numbers, and Triton's names for dtypes: x.to(tl.float16).",
        REDUCE,
    ),
    Rule(
        r"'(?:int|constexpr)' object has no attribute '(\w+)'",
        "`.{0}` is asked of a plain number. An integer argument that is 1 at the launch (one split, one key, one head) "
        "is compiled as the number 1 itself: it is no value of the kernel and has no `.{0}`.",
        "Leave the `.{0}` out: whole numbers mix without it. tl.cast(x, tl.int64) casts either.",
        REDUCE,
        "The interpreter makes a value of the kernel of every argument.",
    ),
    Rule(
        r"'MatMult' object has no attribute",
        "`@` is the product of torch and numpy.",
        "Use tl.dot(a, b).",
        DOT,
    ),
    Rule(
        r"has no attribute '__pow__'|'Pow' object has no attribute",
        "`**` does not work on blocks.",
        "Multiply: x * x.",
        REDUCE,
    ),
    Rule(
        r"'tensor' object has no attribute '(\w+)'",
        "A block of the kernel has no `{0}`: it is no torch tensor.",
        "Use Triton's functions, and .to(tl.float32) to cast.",
        REDUCE,
        "",
    ),
    Rule(
        r"Expected dtype (\[.*\]) but got (\w+)",
        "A function such as tl.exp takes floating point numbers, and got {1}.",
        "Cast first: x.to(tl.float32).",
        REDUCE,
        "The interpreter uses numpy, which casts by itself.",
    ),
    Rule(
        r"cannot convert .* of type <class '(\w+)'> to tensor",
        "A value of Python's type {0} stands where Triton takes a number or a block.",
        "Pass a number.",
        REDUCE,
        "",
    ),
)
