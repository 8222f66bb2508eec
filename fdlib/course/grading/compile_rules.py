"""What Triton's compiler says, what it means, why the interpreter let it pass, what to do.

The patterns are Triton's own words. The first that is found counts.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HIDES", "RULES", "Rule"]

HIDES = "03: Before you build: what the interpreter does, and what it hides"
LOOPS = "03: Loops and running values"
DOT = "03: `tl.dot`"
BLOCKS = "03: Two axes: `[:, None]`, and `tl.where`"
POINTERS = "03: Pointers, `tl.arange`, masks"
REDUCE = "03: Reductions, `exp`, `log`, casts"
_PYTHON = "The interpreter runs your kernel as plain Python, where this works."


@dataclass(frozen=True)
class Rule:
    """One kind of error; {0}, {1} in the sentences are the groups of the pattern."""

    pattern: str
    what: str
    do: str
    read: str = HIDES
    passes: str = _PYTHON


RULES = (
    # --- loops
    Rule(
        r"unsupported AST node type: (Break|Continue)",
        "A kernel cannot leave or skip a round of a loop: `break` and `continue` do not compile.",
        "Loop over the right range from the start, and hide what should not count with a mask.",
        LOOPS,
    ),
    Rule(
        r"(?s)Loop-carried variable (\w+) has initial type (.+) but is re-assigned to (.+) in loop",
        "`{0}` changes its type in the loop: it starts as {1} and becomes {2}.",
        "Start it with the shape and dtype that it has later (tl.zeros, tl.full), or cast it back "
        "with .to(...) at the end of each round.",
        LOOPS,
        "The interpreter gives a name any value, as Python does; a compiled loop keeps each running "
        "value in the same registers from round to round.",
    ),
    Rule(
        r"`return` statements inside `while` or `for`|loop body should only have one block",
        "A kernel cannot `return` from inside a loop.",
        "Let the loop run to its end; choose its range, or use a mask, so that the rest does nothing.",
        LOOPS,
    ),
    Rule(
        r"'constexpr' object has no attribute 'handle'",
        "A loop such as `while True` has a condition that is fixed when the kernel is compiled.",
        "Use `for ... in range(...)` with the number of rounds.",
        LOOPS,
    ),
    Rule(
        r"'(?:Name|List|Tuple|Dict|Constant|Subscript)' object has no attribute 'func'",
        "A `for` in a kernel goes over range(...) or tl.static_range(...), and over nothing else.",
        "Write `for i in range(...)`.",
        LOOPS,
    ),
    Rule(
        r"For loop bounds and step must all be ints",
        "The bounds of the loop are not whole numbers.",
        "Divide with `//` or tl.cdiv, not with `/`.",
        LOOPS,
    ),
    Rule(
        r"used as tl.static_range (\w+) value is not a constexpr",
        "tl.static_range is unrolled when the kernel is compiled: its bounds must be known then.",
        "Use range(...) for a number that comes with the launch.",
        LOOPS,
    ),
    # --- names
    Rule(
        r"Cannot access global variable (\w+) from within",
        "The kernel uses `{0}`, a Python variable of your file. Compiled kernels cannot see it.",
        "Write the number itself in the kernel, or make it `{0} = tl.constexpr(...)` in your file.",
    ),
    Rule(
        r"^(\w+) is not defined",
        "`{0}` has no value here on every path: it is misspelt, or it gets its value only in one "
        "branch of an `if` or only inside a loop.",
        "Give it a value before the `if` or the loop, of the same shape and dtype.",
        passes="The interpreter takes one path, like Python, and does not look at the others.",
    ),
    Rule(
        r"module 'triton.language[\w.]*' has no attribute '(\w+)'",
        "`tl.{0}` does not exist in Triton's language.",
        "Look for the operation in the list of notebook 03.",
        "03: All of it on one page",
        "",
    ),
    # --- branches
    Rule(
        r"Boolean value of Tensor with more than one value|with more than one element is ambiguous",
        "An `if` asks a whole block, which holds many answers.",
        "Choose element by element: tl.where(condition, a, b).",
        BLOCKS,
        "The interpreter takes the branch once for the whole block.",
    ),
    Rule(
        r"Mismatched type for (\w+) between then block \((.+)\) and else block \((.+)\)",
        "`{0}` is {1} in one branch of the `if` and {2} in the other.",
        "Give both the same shape and dtype, or use tl.where.",
        passes="The interpreter takes one branch, like Python; the compiler needs one type for both.",
    ),
    Rule(
        r"initial value for `(\w+)` is of type (.+), but the \w+ block redefines it as (.+)",
        "`{0}` is {1} before the `if` and {2} in one of its branches.",
        "Keep the same shape and dtype, or use tl.where.",
        passes="The interpreter takes one branch, like Python; the compiler needs one type for both.",
    ),
    Rule(
        r"Ternary expression with dynamic condition has inconsistent types (.+) and (.+)",
        "`a if condition else b` has {0} on one side and {1} on the other.",
        "Use tl.where(condition, a, b).",
        BLOCKS,
    ),
    Rule(
        r"simultaneous multiple comparison",
        "A chain such as `a <= x < b` does not compile.",
        "Join two comparisons: (a <= x) & (x < b).",
        BLOCKS,
    ),
    Rule(
        r"[Ll]ogical operators? '?(and|or|not)'?|chained boolean operators",
        "`and`, `or` and `not` are for single values, not for blocks.",
        "Join blocks with `&` and `|`, turn one around with `~`, each condition in parentheses.",
        BLOCKS,
        "The interpreter keeps one of the two blocks and drops the other.",
    ),
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
        r"'(\w+)' object has no attribute '(?:scalar|type)'",
        "A value of Python's type {0} stands where Triton takes a number, a block or a dtype.",
        "Use numbers, and Triton's names for dtypes: x.to(tl.float16).",
        REDUCE,
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
    # --- Python that a kernel cannot hold
    Rule(
        r"f-string containing non-constexpr|is not string",
        "`print` of a value of the kernel, alone or in an f-string, does not compile.",
        'Take the print out, or write tl.device_print("x", x): a text first, then the values.',
    ),
    Rule(
        r"CompileTimeAssertionFailure",
        "A tl.static_assert says that this setting is not allowed.",
        "The check uses the settings of the exercise: your kernel has to work with them.",
    ),
    Rule(
        r"Assertion condition could not be determined at compile-time",
        "tl.static_assert looks at a value that is only known when the kernel runs.",
        "Let it look at `tl.constexpr` arguments only.",
    ),
    Rule(
        r"cannot convert .* of type <class '(\w+)'> to tensor",
        "A value of Python's type {0} stands where Triton takes a number or a block.",
        "Pass a number.",
        REDUCE,
        "",
    ),
    Rule(
        r"only tuple comprehensions are supported|StopIteration"
        r"|unsupported AST node type: (\w+)|'In' object has no attribute",
        "This piece of Python does not compile. A kernel holds assignments, arithmetic, `if`, `for` "
        "over a range, and calls of tl.... functions: no try, raise, with, lambda, lists, "
        "dictionaries, comprehensions or functions inside it.",
        "Write it with blocks, masks and tl.where, or do it before the launch.",
    ),
)
