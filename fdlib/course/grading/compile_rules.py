"""What Triton's compiler says about loops, names, branches and Python, and what it means.

The patterns are Triton's own words. `block_rules.py` has those about blocks and functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from fdlib.course.expect.check import HIDES

__all__ = ["BLOCKS", "DOT", "FLOW_RULES", "LOOPS", "POINTERS", "REDUCE", "PYTHON", "Rule"]

LOOPS = "03: Loops and running values"
DOT = "03: `tl.dot`"
BLOCKS = "03: Two axes: `[:, None]`, and `tl.where`"
POINTERS = "03: Pointers, `tl.arange`, masks"
REDUCE = "03: Reductions, `exp`, `log`, casts"
PYTHON = "The interpreter runs your kernel as plain Python, where this works."


@dataclass(frozen=True)
class Rule:
    """One kind of error; {0}, {1} in the sentences are the groups of the pattern."""

    pattern: str
    what: str
    do: str
    read: str = HIDES
    passes: str = PYTHON


FLOW_RULES = (
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
        r"^(math|np|torch|triton|ast|inspect) is not defined",
        "`{0}` is not imported in your file.",
        "Import it, if it is for the launch. In a kernel write tl operations, and float('-inf') for -∞.",
        passes="The interpreter happens to know this name.",
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
        r"only tuple comprehensions are supported|StopIteration"
        r"|unsupported AST node type: (\w+)|'In' object has no attribute",
        "This piece of Python does not compile. A kernel holds assignments, arithmetic, `if`, `for` "
        "over a range, and calls of tl.... functions: no try, raise, with, lambda, lists, "
        "dictionaries, comprehensions or functions inside it.",
        "Write it with blocks, masks and tl.where, or do it before the launch.",
    ),
)
