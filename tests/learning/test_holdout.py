import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lass.learning.predictors.holdout import SITUATIONS, group_codes, split


def annotations(rng, items=40, tags=7, groups=15):
    G = rng.choice([0.0, 0.0, 0.0, 1.0, 1.0, -1.0], size=(items, tags))
    G[:5] = 0.0
    return sp.csr_array(G), rng.integers(groups, size=items).astype(np.intp)


@pytest.mark.parametrize("situation", SITUATIONS)
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), share=st.floats(0.05, 0.95))
def test_hidden_and_visible_annotations_make_up_all(situation, seed, share):
    G, groups = annotations(np.random.default_rng(seed))
    parts = split(G, groups, situation, share, seed)
    hidden, visible, stated = parts.hidden.toarray(), parts.visible.toarray(), G.toarray()
    assert (hidden[stated <= 0] == 0).all()
    assert (visible[hidden > 0] == 0).all()
    kept = hidden == 0
    gone = parts.hidden.toarray().any(axis=1) if situation == "items" else np.zeros(len(stated), bool)
    if situation == "items":
        gone = np.isin(groups, groups[gone])
    np.testing.assert_array_equal(visible[~gone][kept[~gone]], stated[~gone][kept[~gone]])
    assert (visible[gone] == 0).all()


@pytest.mark.parametrize("situation", SITUATIONS)
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_near_copies_are_never_on_both_sides(situation, seed):
    G, groups = annotations(np.random.default_rng(seed))
    parts = split(G, groups, situation, 0.5, seed)
    hidden, visible = parts.hidden.toarray() > 0, parts.visible.toarray() > 0
    for group in np.unique(groups):
        of_group = groups == group
        assert not (hidden[of_group].any(axis=0) & visible[of_group].any(axis=0)).any()


def test_scattered_leaves_every_group_a_tag_and_evaluates_items_that_keep_one():
    G, groups = annotations(np.random.default_rng(0), items=300, groups=200)
    parts = split(G, groups, "scattered", 0.5, 1)
    stated, hidden, visible = (M.toarray() > 0 for M in (G, parts.hidden, parts.visible))
    for group in np.unique(groups[stated.any(axis=1)]):
        tags = stated[groups == group].any(axis=0).sum()
        lost = hidden[groups == group].any(axis=0).sum()
        assert lost == (0 if tags == 1 else min(max(1, np.rint(0.5 * tags)), tags - 1))
    evaluated = np.flatnonzero(hidden.any(axis=1) & visible.any(axis=1))
    np.testing.assert_array_equal(parts.rows, evaluated)


def test_items_hides_the_share_of_the_groups_that_was_asked_for():
    G, groups = annotations(np.random.default_rng(3), items=500, groups=400)
    parts = split(G, groups, "items", 0.3, 0)
    tagged = np.unique(groups[(G.toarray() > 0).any(axis=1)])
    assert len(np.unique(groups[parts.rows])) == round(0.3 * len(tagged))


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_same_seed_hides_the_same_tags_and_another_seed_others(situation):
    G, groups = annotations(np.random.default_rng(0), items=200, groups=150)
    first, again, other = (split(G, groups, situation, 0.5, seed).hidden for seed in (0, 0, 1))
    assert (first != again).nnz == 0
    assert (first != other).nnz > 0


def test_an_item_without_a_value_is_a_group_of_its_own():
    assert group_codes(["a", None, "", "a", 0, "0"]).tolist() == [0, 1, 2, 0, 3, 3]


@pytest.mark.parametrize(
    ("G", "situation", "share", "message"),
    [
        (np.eye(3), "scattered", 0.5, "needs an item with two tags"),
        (np.eye(3)[:, :1] * 1.0, "items", 0.5, "needs tagged items in two groups"),
        (np.zeros((3, 2)), "items", 0.5, "nothing can be hidden"),
        (np.zeros((3, 2)), "scattered", 0.5, "nothing can be hidden"),
        (np.ones((3, 2)), "scattered", 1.0, "hide must be a share between 0 and 1; found 1.0"),
        (np.ones((3, 2)), "somehow", 0.5, "situation must be one of 'scattered', 'items'; found 'somehow'"),
    ],
)
def test_what_cannot_be_split_is_an_error(G, situation, share, message):
    with pytest.raises(ValueError, match=message):
        split(sp.csr_array(G), np.arange(len(G)), situation, share, 0)
