"""A few more labels: an update is a fresh fit, only faster."""

import numpy as np
import pandas as pd
import pytest

import lass
from estimator_data import NAMES, NAN, TAGS, TRUTH, X, Y
from lass.learning.poisson import PoissonRegime


def same_answer(model, fresh):
    """Equal up to what the certificates allow."""
    np.testing.assert_allclose(model.affinities_.toarray(), fresh.affinities_.toarray(), atol=1e-12)
    slack = model.solution_.gap + fresh.solution_.gap + 1e-12
    assert abs(model.solution_.objective - fresh.solution_.objective) <= slack
    np.testing.assert_allclose(model.assignments_, fresh.assignments_, atol=1e-3)
    assert model.solution_.relative_gap <= model.tol
    assert model.health_ == fresh.health_


@pytest.mark.parametrize("lam", [0.3, 10.0])
@pytest.mark.parametrize("prior", [None, "labels"])
def test_update_of_labels_is_a_fresh_fit(lam, prior):
    names = np.array([None if k < 0 else NAMES[k] for k in Y], dtype=object)
    weights = np.linspace(0.5, 2.0, 60)
    labelled = int(np.flatnonzero(Y >= 0)[0])
    unknown = np.flatnonzero(Y < 0)[[3, 10, 20]]
    change = {int(unknown[0]): "ale", unknown[1]: "cheese", int(unknown[2]): np.str_("ale"), labelled: None}
    later = names.copy()
    for n, label in change.items():
        later[n] = label
    settings_ = {"lam": lam, "prior": prior, "tol": 1e-10}
    model = lass.LASS(**settings_).fit(X, names, confidence=weights)
    assert model.update(change) is model
    same_answer(model, lass.LASS(**settings_).fit(X, later, confidence=weights))
    # and back again, with all ways to withdraw a label
    back = {int(unknown[0]): None, unknown[1]: -1, int(unknown[2]): NAN, labelled: names[labelled]}
    same_answer(model.update(back), lass.LASS(**settings_).fit(X, names, confidence=weights))


def test_update_keeps_the_chosen_lam_outside_the_poisson_regime():
    unknown = int(np.flatnonzero(Y < 0)[0])
    model = lass.LASS(features=None).fit(X, Y)
    model.choice_.poisson, model.choice_.totals, model.choice_.parts = True, False, []
    chosen, before = model.lam_, model.solution_
    model.update({unknown: 1})
    fresh = PoissonRegime(model.graph_).solve(model.affinities_, 1e-12)
    np.testing.assert_allclose(model.lam_, fresh.lam, rtol=1e-5)
    assert model.lam_ != chosen
    assert model.choice_.lam == model.lam_ == model.solution_.problem.lam
    np.testing.assert_allclose(model.assignments_, fresh.at(fresh.lam), atol=1e-5)
    assert model.solution_.relative_gap <= model.tol
    assert before.problem.lam == chosen  # what was handed out before stays as it was
    many = np.where(np.arange(len(Y)) % 4, TRUTH, -1)
    held = lass.LASS().fit(X, many)
    held.choice_.poisson = False
    chosen = held.lam_
    assert held.update({0: int(TRUTH[0])}).lam_ == chosen


def test_update_sharpens_anew():
    unknown = int(np.flatnonzero(Y < 0)[0])
    later = Y.copy()
    later[unknown] = 1
    sharp = lass.LASS(sharpen="auto", prior=[1, 1, 1]).fit(X, Y).update({unknown: 1})
    np.testing.assert_array_equal(
        sharp.assignments_, lass.LASS(sharpen="auto", prior=[1, 1, 1]).fit(X, later).assignments_
    )


@pytest.mark.parametrize("lam", [0.3, 10.0])
def test_update_of_affinities_is_a_fresh_fit(lam):
    names = ["jazz", "rock", "folk", "loud"]
    frame = pd.DataFrame(TAGS, columns=names)
    later = frame.copy()
    later.loc[1, "loud"], later.loc[0, "jazz"], later.loc[2, "folk"] = -1.0, 0.0, 2.5
    later.iloc[3, int(TRUTH[3])] = 0.0
    model = lass.LASS(lam, tol=1e-10).fit(X, frame)
    model.update({(1, "loud"): -1, (0, "jazz"): 0.0, (2, "folk"): 2.5, (np.int64(3), names[TRUTH[3]]): None})
    same_answer(model, lass.LASS(lam, tol=1e-10).fit(X, later))


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("labels", {4: 1, 5: 9}, "names 9, which was not among"),
        ("labels", {4: 1, 60: 1}, "item 60; items are row numbers from 0 to 59"),
        ("labels", {4: 1, -1: 1}, "item -1"),
        ("labels", {4: 1, "first": 1}, "item 'first'"),
        ("labels", {4: 1, 5: [1]}, "not among the categories"),
        ("labels", {int(n): None for n in np.flatnonzero(Y >= 0)}, "last label"),
        ("labels", [4, 5], "must be a mapping"),
        ("affinities", {(4, 1): 1.0, (5, 9): 1.0}, "names 9"),
        ("affinities", {(4, 1): 1.0, (60, 1): 1.0}, "item 60"),
        ("affinities", {(4, 1): 1.0, 5: 1.0}, r"pairs \(item, category\)"),
        ("affinities", {(4, 1): 1.0, (5, 1): NAN}, "finite"),
        ("affinities", {(4, 1): 1.0, (5, 1): "much"}, "finite numbers"),
    ],
)
def test_update_that_cannot_be_meant_changes_nothing(kind, change, message):
    y = Y if kind == "labels" else TAGS
    settings_ = {"lam": 0.5, "prior": "labels", "tol": 1e-9}
    model = lass.LASS(**settings_).fit(X, y)
    before, affinities = model.assignments_.copy(), model.affinities_.toarray()
    with pytest.raises(ValueError, match=message):
        model.update(change)
    np.testing.assert_array_equal(model.assignments_, before)
    np.testing.assert_array_equal(model.affinities_.toarray(), affinities)
    # nor does it come up later
    fresh = {7: 1} if kind == "labels" else {(7, 1): 1.0}
    other = lass.LASS(**settings_).fit(X, y).update(fresh)
    np.testing.assert_array_equal(model.update(fresh).affinities_.toarray(), other.affinities_.toarray())
