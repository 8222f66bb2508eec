"""Known mistakes of exercise 03 in the scores of a block: the scale, and what is hidden."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["SCORE_MISTAKES"]

_VISIBLE = "visible = offs_n[None, :] < len_kv"
_SEES = "offs_n[None, :] <= len_kv - len_q + offs_m[:, None]"
_HIDE = 'qk = tl.where(visible, qk, float("-inf"))'
_LOG2E = "(scale * 1.4426950408889634)"
_CAUSAL = "01: Many queries: the causal mask"

SCORE_MISTAKES = (
    Mistake(
        name="scale-missing",
        check="one-block",
        edits=((" * scale", ""),),
        says="the scores are not multiplied with the scale",
        why="The scale is 1/√D. Without it the scores are √D times too large, 4 times with D = 16, and nearly all "
        "weight goes to one key.",
        read="01: The formula",
    ),
    Mistake(
        name="scale-twice",
        check="one-block",
        edits=(("* scale", "* scale * scale"),),
        says="the scores are multiplied with the scale twice",
        why="That divides by D instead of √D: the weights become too equal. The scale belongs on q, on k or on the "
        "scores, and on one of them only.",
        read="01: The formula",
    ),
    Mistake(
        name="scale-on-the-weights",
        check="one-block",
        edits=((" * scale", ""), ("p.to(v.dtype)", "(p * scale).to(v.dtype)")),
        says="the scale multiplies the weights, not the scores",
        why="The scale works inside exp: it decides how unequal the weights are. After exp it only makes the output "
        "smaller.",
        read="01: The formula",
    ),
    Mistake(
        name="base-2-scale-natural-exp",
        check="one-block",
        edits=(("* scale", f"* {_LOG2E}"),),
        says="log₂e is folded into the scale, but exp is natural",
        why="e to the x equals 2 to the x · log₂e. The factor belongs to powers of 2; with powers of e it makes every "
        "score 1.44 times too large.",
        read="Reductions, `exp`, `log`, casts",
    ),
    Mistake(
        name="base-2-lse-mixed",
        check="one-block",
        edits=(
            ("* scale", f"* {_LOG2E}"),
            ("tl.exp(m_i", "tl.exp2(m_i"),
            ("tl.exp(qk", "tl.exp2(qk"),
        ),
        says="the maximum of the LSE is in base 2 and the logarithm in it is natural",
        why="Powers of 2 with log₂e in the scale give the right output. But m is then 1.44 times too large for a "
        "natural logarithm; it has to be multiplied with ln 2 before log(l) is added.",
        read="02: LSE: all that must be remembered",
    ),
    Mistake(
        name="base-2-lse",
        check="one-block",
        edits=(
            ("* scale", f"* {_LOG2E}"),
            ("tl.exp(m_i", "tl.exp2(m_i"),
            ("tl.exp(qk", "tl.exp2(qk"),
            ("tl.log(l_safe)", "tl.log2(l_safe)"),
        ),
        says="all is computed in base 2, and the LSE stays in base 2",
        why="Powers of 2 with log₂e in the scale give the right output. But then m and log₂(l) are both 1.44 times "
        "too large for a natural logarithm: the LSE has to be taken back, by the factor ln 2.",
        read="02: LSE: all that must be remembered",
    ),
    Mistake(
        name="visible-keys-hidden",
        check="one-block",
        edits=((_HIDE, 'qk = tl.where(visible, float("-inf"), qk)'),),
        says="the visible scores become -∞, and the hidden ones stay",
        why="The choice takes its second argument where the condition holds, its third elsewhere. Exchanged, a full "
        "block leaves no key at all: the output is 0 and the LSE -∞.",
        read="Two axes: `[:, None]`, and `tl.where`",
    ),
    Mistake(
        name="tail-counted",
        check="tail",
        edits=((_VISIBLE, "visible = offs_n[None, :] >= 0"),),
        says="keys past the end count, with a score of 0",
        why="The masked load makes such a key 0, so its score is 0, and exp(0) is 1. Only a score of -∞ has the "
        "weight 0. The sum is too large by one such term for each missing key.",
        read="Build: exercise 03",
    ),
    Mistake(
        name="one-key-too-many",
        check="tail",
        edits=((_VISIBLE, "visible = offs_n[None, :] <= len_kv"),),
        says="one key past the end counts, with a score of 0",
        why="Keys count from 0, so the last one is number len_kv - 1. The masked load makes number len_kv a key of "
        "zeros: its score is 0, and exp(0) is 1.",
        read="Build: exercise 03",
    ),
    Mistake(
        name="hidden-after-the-maximum",
        check="large-scores",
        edits=(
            (_HIDE, "qk = qk"),
            (
                "p = tl.exp(qk - m_safe[:, None])",
                "p = tl.where(visible, tl.exp(qk - m_safe[:, None]), 0.0)",
            ),
        ),
        says="keys are hidden only after the maximum was taken",
        why="A key past the end has a score of 0 until it is hidden. When all real scores are near -200, that 0 "
        "becomes the maximum, and every real term is exp(-200), which is 0 in float32.",
        read="02: Why a maximum is needed: overflow",
    ),
    Mistake(
        name="causal-hides-itself",
        check="causal",
        edits=((_SEES, _SEES.replace("<=", "<")),),
        says="a query does not see the key at its own position",
        why="The mask is off by one. A token sees itself and what came before. The first token shows it best: it "
        "would see nothing at all, and its LSE is -∞.",
        read=_CAUSAL,
    ),
    Mistake(
        name="causal-shows-the-next",
        check="causal",
        edits=((_SEES, _SEES.replace("len_kv -", "1 + len_kv -")),),
        says="a query sees one key too many, the next one",
        why="The mask is off by one. The last query looks right, for there is no key after it; look at the first. It "
        "has one key to see: its LSE is that score.",
        read=_CAUSAL,
    ),
    Mistake(
        name="causal-from-the-top",
        check="causal",
        edits=((_SEES, "offs_n[None, :] <= offs_m[:, None]"),),
        says="query i stands at position i, though there are more keys than queries",
        why="The queries are the last ones of the sequence. With 19 queries and 50 keys, query 0 stands at 31, not at "
        "0. As many queries as keys hide the mistake: both positions agree there.",
        read=_CAUSAL,
    ),
    Mistake(
        name="causal-offset-upside-down",
        check="causal",
        edits=((_SEES, _SEES.replace("len_kv - len_q", "len_q - len_kv")),),
        says="the offset of the queries has the wrong sign",
        why="With fewer queries than keys the queries come late: query 0 has len_kv - len_q keys before it. Turned "
        "around, the first queries stand before the first key and see nothing.",
        read=_CAUSAL,
    ),
    Mistake(
        name="causal-within-the-block",
        check="causal",
        edits=((_SEES, _SEES.replace("offs_m", "tl.arange(0, BLOCK_M)")),),
        says="the position of a query is counted from the start of its own block",
        why="Every block of queries then takes itself for the first. Which queries a program has is worked out at the "
        "top of the kernel. The first block is right, and the others see too little.",
        read="Pointers, `tl.arange`, masks",
    ),
    Mistake(
        name="causal-rows-by-block-n",
        check="causal",
        edits=((_SEES, _SEES.replace("offs_m", "(m_block * BLOCK_N + tl.arange(0, BLOCK_M))")),),
        says="the block of queries is taken to be as large as a block of keys",
        why="The two sizes are chosen apart from each other. With BLOCK_M 32 and BLOCK_N 16 the second program "
        "starts at query 32, not at 16. Blocks of one size hide the mistake.",
        read="Pointers, `tl.arange`, masks",
    ),
    Mistake(
        name="causal-inverted",
        check="causal",
        edits=((_SEES, _SEES.replace("<=", ">=")),),
        says="the mask hides the past and shows the future",
        why="The comparison points the wrong way: the visible keys are those up to the query. Print the mask for one "
        "program and hold it to the drawing in notebook 01.",
        read=_CAUSAL,
    ),
    Mistake(
        name="causal-without-effect",
        check="causal",
        edits=(("visible & (", "visible | ("),),
        says="the causal mask hides nothing",
        why="A key is visible if it exists and also lies not after the query. Joined with `or`, it is enough that it "
        "exists, which is true of every key.",
        read="Two axes: `[:, None]`, and `tl.where`",
    ),
    Mistake(
        name="hidden-scores-are-0",
        check="causal",
        edits=((f"visible = visible & ({_SEES})", f"qk = tl.where({_SEES}, qk, 0.0)"),),
        says="a key after the query gets a score of 0",
        why="A score of 0 is not nothing: exp(0) is 1. Only exp(-∞) is 0.",
        read=_CAUSAL,
    ),
    Mistake(
        name="hidden-scores-are-minus-10000",
        check="large-scores",
        edits=((_HIDE, "qk = tl.where(visible, qk, -1e4)"),),
        says="hidden scores are -10000 instead of -∞",
        why="It works while every real score is larger. Where they are lower, the hidden keys win the softmax and take "
        "all the weight. Only -∞ is below every score.",
        read="02: Rows that see no key",
    ),
    Mistake(
        name="hidden-scores-are-finite",
        check="large-scores",
        edits=((_HIDE, "qk = tl.where(visible, qk, -1e9)"),),
        says="hidden scores are a large negative number instead of -∞",
        why="Beside a larger real score it works. Where the real scores are lower, or all are hidden, that number is "
        "the maximum, and each hidden key gets the weight exp(0) = 1: the row is a mean of what it must not see.",
        read="02: Rows that see no key",
    ),
    Mistake(
        name="scores-in-float16",
        check="float16",
        edits=(('input_precision="ieee") * scale', 'input_precision="ieee").to(q.dtype) * scale'),),
        says="the scores are rounded to float16",
        why="float16 has 11 significant bits: near 60 its numbers lie 1/32 apart. An error of 1/64 in a score is an "
        "error of 1.6% in the weight. The tile product gives float32; leave it so.",
        read="Reductions, `exp`, `log`, casts",
    ),
)
