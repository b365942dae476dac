"""The estimator where categories are in facets."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

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
        ({"facets": FACETS, "prior": "labels"}, None, "facets do not go with prior='labels'"),
        ({"facets": FACETS, "sharpen": 0.1}, None, "sharpen is for labels"),
        ({"none": True}, None, "none must be True or False, and False without facets"),
        ({"facets": FACETS, "none": "yes"}, None, "none must be True or False"),
    ],
)
def test_bad_settings_are_one_clear_error(settings, y, message):
    X, affinities, _ = groups()
    with pytest.raises(ValueError, match=message):
        lass.LASS(**settings).fit(X, affinities if y is None else y)
