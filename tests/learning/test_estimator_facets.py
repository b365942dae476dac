"""The estimator where categories are in facets."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import lass

FACETS = [5, 5, 1, 1, 3]


def groups(seed=0):
    """Two groups by the first column, two by the second; a part of the items has affinities to both."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, (80, 2))
    X = group * 4.0 + rng.normal(size=(80, 2)) * 0.3
    y = np.zeros((80, 5))
    for n in np.flatnonzero(rng.random(80) < 0.4):
        y[n, group[n, 0]] = y[n, 2 + group[n, 1]] = 1.0
        y[n, 4] = 1.0 if group[n].sum() == 2 else -1.0
    return X, y, group


@pytest.fixture(scope="module")
def fitted():
    X, y, group = groups()
    return lass.LASS(n_neighbors=6, facets=FACETS).fit(X, y), X, group


def test_every_facet_is_decided(fitted):
    model, X, group = fitted
    expected = np.c_[2 + group[:, 1], np.where(group.sum(axis=1) == 2, 4, -1), group[:, 0]].astype(object)
    expected[expected == -1] = None
    np.testing.assert_array_equal(model.transduction_, expected)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert isinstance(model.solution_, lass.FacetSolution)
    Z = model.predict_proba(X)
    np.testing.assert_allclose(Z[:, :2].sum(axis=1), 1.0)
    np.testing.assert_allclose(Z[:, 2:4].sum(axis=1), 1.0)
    np.testing.assert_allclose(Z, lass.assign(model._edges_to(X), model.solution_, None, model.lam_))
    np.testing.assert_array_equal(model.transform(X), Z)
    assert model.choice_ is not None
    assert "hidden annotation" in model.choice_.reason
    way = model.path(X[0], [0, 9, 0, 0, 0])
    assert way(1e-3)[1] == 1.0
    tags = model.predict_tags(X[:2], top=3)
    assert len(tags[0]) == 3
    assert {k for k, _ in model.predict_tags(top=2)[0]} <= set(range(5))


def test_lam_is_chosen_by_ranks_within_facets():
    X, y, _ = groups()
    alone = lass.LASS(n_neighbors=6).fit(X, y).choice_
    one = lass.LASS(n_neighbors=6, facets=[0] * 5).fit(X, y).choice_
    assert one.scores == pytest.approx(alone.scores)
    within = lass.LASS(n_neighbors=6, facets=FACETS).fit(X, y).choice_
    assert min(within.scores) > max(alone.scores)


def test_an_update_is_a_fit_to_all(fitted):
    _, X, _ = fitted
    y = groups()[1]
    model = lass.LASS(0.1, n_neighbors=6, facets=FACETS, none=True).fit(X, y)
    before = model.solution_
    model.update({(0, 1): 2.0, (1, 1): None})
    assert model.solution_.parts[0] is before.parts[0]
    y[0, 1], y[1, 1] = 2.0, 0.0
    again = lass.LASS(0.1, n_neighbors=6, facets=FACETS, none=True).fit(X, y)
    np.testing.assert_allclose(model.assignments_, again.assignments_, atol=2e-4)
    assert (model.affinities_ != again.affinities_).nnz == 0


@pytest.mark.parametrize("output", ["dense", "sparse"])
def test_files(tmp_path, output):
    X, y, _ = groups()
    table = pd.DataFrame(y, columns=list("abcde"))
    model = lass.LASS(0.1, n_neighbors=6, facets=np.array(FACETS), none=True, output=output).fit(X, table)
    model.save(tmp_path / "model.npz")
    back = lass.LASS.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(back.transduction_, model.transduction_)
    np.testing.assert_array_equal(back.predict(X[:9]), model.predict(X[:9]))
    assert set(model.transduction_.ravel()) <= {*"abcde", None}
    assert back.predict_tags(X[:4], top=2) == model.predict_tags(X[:4], top=2)
    assert back.get_params()["facets"].tolist() == FACETS
    assert back.none is True
    assert back.update({(3, "b"): 1.0}).transduction_[3, 2] == "b"


def one_cloud(seed=0):
    """Groups that are halves of one cloud, so that no two items have equal assignments."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2))
    group = (X > 0.0).astype(int)
    y = np.zeros((80, 5))
    for n in np.flatnonzero(rng.random(80) < 0.4):
        y[n, group[n, 0]] = y[n, 2 + group[n, 1]] = rng.uniform(0.5, 1.5)
        y[n, 4] = rng.uniform(0.5, 1.5) * (1.0 if group[n].sum() == 2 else -1.0)
    return X, y


def test_decisions_of_each_facet_follow_its_prior(tmp_path):
    X, y = one_cloud()
    prior = [0.25, 0.75, np.nan, np.nan, 0.1]
    model = lass.LASS(30.0, n_neighbors=6, facets=FACETS, prior=prior).fit(X, y)
    free = lass.LASS(30.0, n_neighbors=6, facets=FACETS).fit(X, y)
    decided = model.transduction_
    assert (decided[:, 2] == 0).sum() == 20
    assert (decided[:, 2] == 1).sum() == 60
    assert (decided[:, 1] == 4).sum() == 8
    np.testing.assert_array_equal(decided[:, 0], free.transduction_[:, 0])
    np.testing.assert_allclose(model.solution_.Z, free.solution_.Z)
    Z = model.assignments_
    np.testing.assert_allclose(Z[:, :2].sum(axis=1), 1.0)
    assert model.shift_[2] == model.shift_[3] == 0.0
    new = lass.assign(model._edges_to(X), model.solution_, None, 30.0, shift=model.shift_)
    np.testing.assert_allclose(model.predict_proba(X), new)
    model.save(tmp_path / "model.npz")
    again = lass.LASS.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.transduction_, decided)
    change = {(0, 0): 1.0}
    np.testing.assert_array_equal(again.update(change).transduction_, model.update(change).transduction_)


def test_shares_of_labels_are_counted_within_facets():
    X, y = one_cloud()
    model = lass.LASS(30.0, n_neighbors=6, facets=FACETS, prior="labels").fit(X, y)
    for place, own in ((0, [2, 3]), (2, [0, 1])):
        counts = y[:, own].clip(0).sum(axis=0)
        wanted = 80 * counts / counts.sum()
        found = [(model.transduction_[:, place] == k).sum() for k in own]
        np.testing.assert_allclose(found, wanted, atol=1.0)
    one = y[:, 4]
    share = one.clip(0).sum() / (one.clip(0).sum() + (one < 0).sum())
    assert abs((model.transduction_[:, 1] == 4).sum() - 80 * share) <= 1.0
    with pytest.raises(ValueError, match="needs a positive affinity"):
        lass.LASS(0.1, facets=[0, 0, 1, 1, 1], prior="labels").fit(X, np.where(y < 0, y, 0.0))


def test_clones_keep_facets_and_a_fit_without_them_is_plain():
    X, y, _ = groups()
    model = clone(lass.LASS(0.1, facets=FACETS)).fit(X, sp.csr_array(y))
    assert model.transduction_.shape == (80, 3)
    plain = model.set_params(facets=None).fit(X, y)
    assert plain.transduction_.shape == (80,)
    np.testing.assert_array_equal(plain.assignments_, lass.LASS(0.1).fit(X, y).assignments_)


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({"facets": FACETS}, np.zeros(80, int), "facets are for affinities; y holds one label"),
        ({"facets": [0, 1]}, None, "facets must have one number a category, 5"),
        ({"facets": [0, 0, 1, 1, 0.5]}, None, "facets must be whole numbers"),
        ({"facets": FACETS, "prior": "even"}, None, "prior must be None, 'labels' or shares"),
        ({"facets": FACETS, "prior": [0.5, 0.5]}, None, "prior must have one number a category, 5"),
        (
            {"facets": FACETS, "prior": [0.9, 0.9, 0.5, 0.5, 0.2]},
            None,
            "prior must be numbers >= 0 that sum to one within facet 5",
        ),
        (
            {"facets": FACETS, "prior": [0.5, 0.5, 0.5, 0.5, 1.2]},
            None,
            "prior must be numbers >= 0 that sum to one at most within facet 3",
        ),
        ({"facets": FACETS, "sharpen": 0.1}, None, "sharpen is for labels"),
        ({"none": True}, None, "none must be True or False, and False without facets"),
        ({"facets": FACETS, "none": "yes"}, None, "none must be True or False"),
    ],
)
def test_bad_settings_are_one_clear_error(settings, y, message):
    X, affinities, _ = groups()
    with pytest.raises(ValueError, match=message):
        lass.LASS(**settings).fit(X, affinities if y is None else y)


def test_a_score_counts_decisions_that_are_right(fitted):
    model, X, group = fitted
    truth = np.zeros((80, 5))
    truth[np.arange(80), group[:, 0]] = truth[np.arange(80), 2 + group[:, 1]] = 1.0
    assert model.score(X, truth) == 1.0
    wrong = truth[:, [1, 0, 2, 3, 4]]
    assert model.score(X, wrong) == 0.5
    assert model.score(X, sp.csr_array(wrong)) == 0.5
    assert model.score(X, wrong, np.arange(80) == 7) == 0.5
    with pytest.raises(ValueError, match="one column a category, 5; found 4"):
        model.score(X, truth[:, :4])
    with pytest.raises(ValueError, match="positive affinities; found none"):
        model.score(X, -truth)
    alone = lass.LASS(n_neighbors=6, lam=0.1).fit(X, truth[:, :2])
    assert alone.score(X, truth[:, :2]) == 1.0


def test_a_search_over_settings_compares_scores():
    X, _, group = groups()
    y = np.zeros((80, 4))
    y[np.arange(80), group[:, 0]] = y[np.arange(80), 2 + group[:, 1]] = 1.0
    found = GridSearchCV(lass.LASS(n_neighbors=6, facets=[0, 0, 1, 1]), {"lam": [0.1, 1.0]}, cv=2).fit(X, y)
    assert (found.cv_results_["mean_test_score"] > 0.9).all()
