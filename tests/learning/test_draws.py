"""Draws by keys: random as they should be, and one more annotation changes few of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lass.learning import lam_selection
from lass.learning.draws import drawn_folds, drawn_order, keyed_draws
from lass.learning.lam_selection import choose_for_tags
from lass.learning.predictors.holdout import SITUATIONS, split
from lass.learning.predictors.training import HIDE_ALL, HIDE_SOME, holdouts
from lass.tagging.completion import sample_items

numbers = st.sets(st.integers(0, 500), min_size=1, max_size=80)


def annotations(groups, seed=0, tags=9, free=20):
    """Two items a group, every group with one tag at least; the last ``free`` groups have none."""
    rng = np.random.default_rng(seed)
    T = rng.random((2 * groups, tags)) < 0.25
    T[::2, 0] |= ~(T[::2] | T[1::2]).any(axis=1)
    T = np.vstack([T, np.zeros((2 * free, tags))])
    return T.astype(float), np.repeat(np.arange(groups + free), 2)


def changed_groups(one, other, codes):
    """The groups of items with other tags."""
    return set(codes[(one != other).nonzero()[0]].tolist())


def test_draws_are_uniform_and_those_of_other_keys_and_purposes_independent():
    items, tags = (axis.ravel() for axis in np.indices((300, 100)))
    draws = [
        keyed_draws(*keys, items, tags)
        for keys in (("pairs", 0, 0), ("pairs", 0, 1), ("pairs", 1, 0), ("others", 0, 0))
    ]
    for one in draws:
        assert one.min() >= 0.0
        assert one.max() < 1.0
        in_tenths = np.bincount((10 * one).astype(int), minlength=10)
        assert np.abs(in_tenths - 3000).max() < 5 * np.sqrt(3000)
    assert np.abs(np.corrcoef(draws) - np.eye(4)).max() < 5 / np.sqrt(len(items))
    table = draws[0].reshape(300, 100)
    for left, right in ((table[1:], table[:-1]), (table[:, 1:], table[:, :-1])):  # neighbouring keys
        assert abs(np.corrcoef(left.ravel(), right.ravel())[0, 1]) < 5 / np.sqrt(len(items))


def test_keys_are_broadcast():
    rows = np.array([4, 0, 7])
    table = keyed_draws("others", 3, rows[:, None], np.arange(5))
    assert table.shape == (3, 5)
    np.testing.assert_array_equal(table[2], keyed_draws("others", 3, 7, np.arange(5)))
    np.testing.assert_array_equal(table[:, 2], keyed_draws("others", 3, rows.astype(np.int32), 2))


@settings(deadline=None)
@given(numbers, st.integers(0, 500))
def test_one_more_number_leaves_the_others_in_their_order(values, more):
    before = drawn_order(np.array(sorted(values)), "x", 0)
    after = drawn_order(np.array(sorted(values | {more}))[::-1], "x", 0)
    assert sorted(before.tolist()) == sorted(values)
    assert [n for n in after.tolist() if n in values] == before.tolist()


@settings(deadline=None)
@given(numbers, st.integers(0, 500), st.integers(1, 12))
def test_folds_are_even_and_one_more_group_moves_few(values, more, count):
    groups = np.repeat(np.array(sorted(values)), 2)
    fold = drawn_folds(groups, count, "x")
    np.testing.assert_array_equal(fold[::2], fold[1::2])
    sizes = np.bincount(fold[::2], minlength=count)
    assert len(sizes) == count
    assert sizes.max() - sizes.min() <= 1
    after = drawn_folds(np.append(groups, more), count, "x")[:-1]
    assert (np.abs(after - fold)[::2] > 0).sum() <= max(count - 1, len(values) if len(values) < count else 0)


@pytest.mark.parametrize(("groups", "most"), [(300, 5), (304, 20)])  # 305 // 5: more lose their tags
@settings(deadline=None, max_examples=30)
@given(item=st.integers(0, 639), tag=st.integers(0, 8), seed=st.integers(0, 99))
def test_one_more_annotation_changes_little_of_what_is_hidden(groups, most, item, tag, seed):
    T, codes = annotations(groups)
    item %= len(T)
    known = T[codes == codes[item]].any()
    more = T.copy()
    more[item, tag] = 1.0
    rounds = [[hidden for _, hidden in holdouts(sp.csr_array(M), codes, seed)] for M in (T, more)]
    assert len(rounds[0]) == len(rounds[1]) == 5
    for before, after in zip(*rounds, strict=True):
        changed = changed_groups(before, after, codes) - {codes[item]}
        assert not changed if known else len(changed) <= most


def test_a_negative_annotation_changes_nothing_of_what_is_hidden():
    T, codes = annotations(60)
    less = T.copy()
    less[np.unravel_index(np.flatnonzero(T == 0)[::7], T.shape)] = -1.0
    for (_, one), (_, other) in zip(*(holdouts(sp.csr_array(M), codes, 0) for M in (T, less)), strict=True):
        assert (one != other).nnz == 0


@pytest.mark.parametrize("groups", [10, 57, 300])
def test_the_shares_that_are_hidden_are_those_asked_for(groups):
    T, codes = annotations(groups, seed=groups)
    members = np.equal.outer(np.unique(codes), codes)
    sizes = ((members @ T) > 0).sum(axis=1)
    emptied_once = np.zeros(len(sizes), int)
    for visible, hidden in holdouts(sp.csr_array(T), codes, 3):
        left, lost = (((members @ M.toarray()) > 0).sum(axis=1) for M in (visible, hidden))
        np.testing.assert_array_equal(left + lost, sizes)
        emptied, reduced = (sizes > 0) & (left == 0), (left > 0) & (lost > 0)
        assert emptied.sum() == int(HIDE_ALL * groups)
        assert reduced.sum() <= int(HIDE_ALL * groups)
        assert reduced.sum() > 0.5 * int(HIDE_ALL * groups)  # of those with two tags, which are most
        expected = np.clip(np.rint(HIDE_SOME * sizes), 1, sizes - 1)
        np.testing.assert_array_equal(lost[reduced], expected[reduced])
        emptied_once += emptied
    assert emptied_once.max() == 1
    assert emptied_once.sum() == 5 * int(HIDE_ALL * groups)


@pytest.mark.parametrize("situation", SITUATIONS)
@settings(deadline=None, max_examples=30)
@given(item=st.integers(0, 239), tag=st.integers(0, 8), seed=st.integers(0, 99))
def test_one_more_annotation_changes_little_of_a_split(situation, item, tag, seed):
    T, codes = annotations(100)
    more = T.copy()
    more[item, tag] = 1.0
    one, other = (split(sp.csr_array(M), codes, situation, 0.5, seed).hidden for M in (T, more))
    changed = changed_groups(one, other, codes) - {codes[item]}
    assert len(changed) <= (situation == "items")


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_hidden_does_not_depend_on_the_order_of_storage(situation):
    T, codes = annotations(100)
    rng = np.random.default_rng(0)
    stored = sp.coo_array(T)
    order = rng.permutation(stored.nnz)
    row, column = (axis[order] for axis in stored.coords)
    starts = np.append(0, np.cumsum(np.bincount(row, minlength=len(T))))
    by_row = np.argsort(row, kind="stable")
    shuffled = sp.csr_array((np.ones(len(row)), column[by_row], starts), shape=T.shape)
    assert not shuffled.has_sorted_indices
    one, other = (split(G, codes, situation, 0.5, 0).hidden for G in (sp.csr_array(T), shuffled))
    assert (one != other).nnz == 0


def test_one_more_annotation_changes_little_of_what_lam_is_chosen_by(monkeypatch):
    T, _ = annotations(100)
    more, seen = T.copy(), []
    more[tuple(np.argwhere(T == 0)[40])] = 1.0
    solve = lam_selection.solve

    def recorded(W, visible, lam, **options):
        seen.append(visible.toarray())
        return solve(W, visible, lam, **options)

    monkeypatch.setattr(lam_selection, "solve", recorded)
    size = len(T)
    W = sp.csr_array(sp.diags_array([np.ones(size - 1)] * 2, offsets=[-1, 1]))
    hidden = []
    for M in (T, more):
        seen.clear()
        choose_for_tags(W, sp.csr_array(M))
        hidden.append((M > 0) & (seen[0] == 0))
        assert hidden[-1].sum() == int(0.2 * (M > 0).sum())
    assert (hidden[0] != hidden[1]).sum() <= 2


def test_one_more_annotated_item_changes_little_of_a_sample():
    size, clique = 600, 6
    W = sp.csr_array(sp.kron(sp.eye_array(size // clique), np.ones((clique, clique)) - np.eye(clique)))
    annotated = np.random.default_rng(0).random(size) < 0.1
    before = sample_items(W, sp.csr_array(annotated[:, None].astype(float)), 200)
    differences = []
    for item in np.flatnonzero(~annotated)[::20]:
        more = annotated.copy()
        more[item] = True
        after = sample_items(W, sp.csr_array(more[:, None].astype(float)), 200)
        differences.append(len(np.setdiff1d(after, before)))
    assert max(differences) <= 2 * clique
