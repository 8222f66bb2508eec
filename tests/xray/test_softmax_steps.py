"""The walk over the keys holds what fold said, and its weights are those of the formula; so are the splits' shares."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from fdlib.attention.online_softmax import SoftmaxState, update  # noqa: E402
from fdlib.passage import load_passage  # noqa: E402
from fdlib.xray.figures.softmax_steps import scores_of, walk_keys  # noqa: E402
from fdlib.xray.figures.split_shares import by_share, split_shares  # noqa: E402


@pytest.fixture(scope="module")
def passage():
    return load_passage()


def fold(m, l, acc, scores, v):  # noqa: E741
    state = update(SoftmaxState(m, l, acc), scores, v)
    return state.m, state.l, state.acc


@pytest.mark.parametrize("head", range(12))
def test_the_last_weights_are_softmax(passage, head):
    walk = walk_keys(passage, fold, head=head, query=60)
    exact = torch.softmax(scores_of(passage, head, 60).double(), 0)
    assert walk.weights_after(61) == pytest.approx(exact.tolist(), abs=1e-5)
    assert sum(walk.weights_after(7)) == pytest.approx(1, abs=1e-5)
    out = torch.tensor(walk.accs[-1]) / walk.steps[-1].l
    values = passage.v[0, :61, passage.heads[head].kv_index]
    torch.testing.assert_close(out, exact.float() @ values, atol=1e-4, rtol=1e-4)


def test_alpha_moves_with_the_maximum(passage):
    walk = walk_keys(passage, fold, head=5, query=60)
    moved = [step.start for step in walk.steps if step.alpha < 1]
    assert [walk.words[key] for key in moved] == ["CH", "ep", " book"]
    for before, step in zip(walk.steps, walk.steps[1:], strict=False):
        assert step.alpha == pytest.approx(math.exp(before.m - step.m))
    assert walk.weights_after(0) == []


def test_the_steps_are_those_of_the_given_fold(passage):
    """A fold that forgets to correct shows it: its sum keeps what alpha should have taken."""

    def forgets(m, l, acc, scores, v):  # noqa: E741
        m_new, _, acc_new = fold(m, l, acc, scores, v)
        return m_new, l + torch.exp(scores - m_new).sum(-1), acc_new

    right, wrong = (walk_keys(passage, f, head=5, query=60).steps[46] for f in (fold, forgets))
    assert wrong.l > 3 * right.l


@pytest.mark.parametrize("block_n", [1, 16, 60, 61, 500])
def test_blocks_end_where_single_keys_end(passage, block_n):
    walk = walk_keys(passage, fold, head=5, query=60, block_n=block_n)
    single = walk_keys(passage, fold, head=5, query=60).steps[-1]
    assert [step.start for step in walk.steps] == list(range(0, 61, block_n))
    last = walk.steps[-1]
    assert (last.end, last.m) == (61, single.m)
    assert last.l == pytest.approx(single.l) == pytest.approx(last.l_kept + last.l_added)
    assert len(walk.weights_after(len(walk.steps))) == 61
    assert sum(walk.weights_after(1)) == pytest.approx(1, abs=1e-5)


def test_a_block_has_a_key_or_more(passage):
    with pytest.raises(ValueError, match="block_n: got 0"):
        walk_keys(passage, fold, head=5, query=60, block_n=0)


@pytest.mark.parametrize("num_splits", [1, 4, 25, 32])
@pytest.mark.parametrize("head", [5, 11])
def test_shares_add_up_and_are_the_sum_of_their_keys(passage, head, num_splits):
    splits = split_shares(passage, head=head, query=390, num_splits=num_splits)
    weights = torch.softmax(scores_of(passage, head, 390).double(), 0)
    assert len(splits) == num_splits
    assert sum(split.share for split in splits) == pytest.approx(1)
    shares = [splits[number].share for number in by_share(splits)]
    assert shares == sorted((split.share for split in splits), reverse=True)
    for split in splits:
        part = weights[split.start : split.end]
        assert split.share == pytest.approx(part.sum().item(), abs=1e-12)
        if split.top is None:
            assert (split.share, split.lse, len(part)) == (0, -math.inf, 0)
        else:
            assert weights[split.top] == part.max()


@pytest.mark.parametrize(
    ("m", "l", "said"),
    [
        (-math.inf, 1.0, "m = -inf at key 0"),
        (math.nan, 1.0, "m = nan at key 0"),
        (1.0, 0.0, "l = 0.0 at key 0"),
        (1.0, math.nan, "l = nan at key 0"),
    ],
)
def test_a_fold_that_cannot_be_drawn_is_told_with_its_key(passage, m, l, said):  # noqa: E741
    def wrong(_m, _l, acc, scores, v):
        return torch.tensor([m]), torch.tensor([l]), acc

    with pytest.raises(ValueError, match=f"fold: got {said}"):
        walk_keys(passage, wrong, head=5, query=60)


def test_a_maximum_that_falls_is_told_with_its_key(passage):
    def falls(m, l, acc, scores, v):  # noqa: E741
        return scores[0], l + 1, acc

    with pytest.raises(ValueError, match="takes an m that never falls"):
        walk_keys(passage, falls, head=5, query=60)
