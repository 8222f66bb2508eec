"""Known mistakes of exercise 01 in the causal mask."""

from __future__ import annotations

from fdlib.course.mistakes import Mistake

__all__ = ["MASK_MISTAKES"]

MASK_MISTAKES = (
    Mistake(
        name="causal-hides-itself",
        check="causal",
        edits=(("> position[:, None]", ">= position[:, None]"),),
        says="a query does not see its own position",
        why="The mask is off by one. A token sees itself and what came before; what comes after is hidden. The first "
        "token shows it: it would see no key at all, its LSE is -∞ and its output NaN.",
        read="Many queries: the causal mask",
    ),
    Mistake(
        name="causal-shows-the-next",
        check="causal",
        edits=(("> position[:, None]", "> position[:, None] + 1"),),
        says="a query sees one key too many, the next one",
        why="The mask is off by one. In training, a model that sees the next token has the answer in hand. The last "
        "query looks right, for there is no key after it; look at the first.",
        read="Many queries: the causal mask",
    ),
    Mistake(
        name="causal-from-the-top",
        check="causal",
        edits=(("len_kv - len_q + torch", "torch"),),
        says="query i stands at position i, though there are more keys than queries",
        why="The queries are the last L_q positions. With 3 queries and 17 keys, query 0 stands at 14, not at 0. As "
        "many queries as keys hide the mistake: both positions agree there.",
        read="Many queries: the causal mask",
    ),
    Mistake(
        name="causal-not-kept",
        check="causal",
        edits=(("scores = scores.masked_fill", "scores.masked_fill"),),
        says="the causal mask hides nothing",
        why="Filling in -∞ gives a new tensor and leaves the old one as it was. If the result is not kept, the scores "
        "go on without a mask, and every query sees the future.",
        read="Four pieces of PyTorch",
    ),
    Mistake(
        name="causal-swapped",
        check="causal",
        edits=(("> position[:, None]", "<= position[:, None]"),),
        says="the keys that a query may see are hidden, and the others shown",
        why="The table says True where a key is visible, but -∞ is filled in where it is True. The last query sees "
        "everything, so here all its keys are hidden: its LSE is -∞ and its output NaN.",
        read="Many queries: the causal mask",
    ),
    Mistake(
        name="causal-inverted",
        check="causal",
        edits=(("> position[:, None]", "< position[:, None]"),),
        says="the mask hides the past and shows the future",
        why="The comparison points the wrong way. What is to be hidden are the keys after the query. Print the mask "
        "for 3 queries and 7 keys and hold it to the drawing in the notebook.",
        read="Many queries: the causal mask",
    ),
    Mistake(
        name="hidden-scores-are-0",
        check="causal",
        edits=(('float("-inf")', "0.0"),),
        says="a hidden key gets a score of 0",
        why="A score of 0 is not nothing: exp(0) is 1, as much as any other key with that score. Only exp(-∞) is 0.",
        read="Many queries: the causal mask",
    ),
    Mistake(
        name="hidden-scores-are-minus-10000",
        check="causal",
        edits=(('float("-inf")', "-1e4"),),
        says="a hidden key gets a score of -10000",
        why="It works while every real score is larger. Where they are lower, the hidden keys win the softmax and take "
        "all the weight. Only -∞ is below every score.",
        read="Many queries: the causal mask",
    ),
    Mistake(
        name="hidden-scores-are-finite",
        check="causal",
        edits=(('float("-inf")', "-1e9"),),
        says="a hidden key gets a large negative score instead of -∞",
        why="It works while every real score is larger. Where they are lower, the hidden keys win the softmax and take "
        "all the weight. Only -∞ is below every score.",
        read="Many queries: the causal mask",
    ),
)
