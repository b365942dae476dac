"""A few more words: an update is a fresh fit, only faster."""

import numpy as np
import pandas as pd
import pytest
from test_estimator import NAMES, NAN, TAGS, TRUTH, X, Y

import lass
from lass.learning.poisson import Sources


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
    words = np.array([None if k < 0 else NAMES[k] for k in Y], dtype=object)
    sure = np.linspace(0.5, 2.0, 60)
    told = int(np.flatnonzero(Y >= 0)[0])
    silent = np.flatnonzero(Y < 0)[[3, 10, 20]]
    change = {int(silent[0]): "ale", silent[1]: "cheese", int(silent[2]): np.str_("ale"), told: None}
    later = words.copy()
    for n, word in change.items():
        later[n] = word
    settings_ = {"lam": lam, "prior": prior, "tol": 1e-10}
    model = lass.LASS(**settings_).fit(X, words, confidence=sure)
    assert model.update(change) is model
    same_answer(model, lass.LASS(**settings_).fit(X, later, confidence=sure))
    # and back again, with all the ways to say that nobody knows
    back = {int(silent[0]): None, silent[1]: -1, int(silent[2]): NAN, told: words[told]}
    same_answer(model.update(back), lass.LASS(**settings_).fit(X, words, confidence=sure))


def test_update_keeps_the_chosen_lam_unless_labels_are_sources():
    silent = int(np.flatnonzero(Y < 0)[0])
    model = lass.LASS().fit(X, Y)
    assert model.choice_.sources
    chosen, before = model.lam_, model.solution_
    model.update({silent: 1})
    fresh = Sources(model.graph_).of(model.affinities_, 1e-12)
    np.testing.assert_allclose(model.lam_, fresh.lam, rtol=1e-5)
    assert model.lam_ != chosen
    assert model.choice_.lam == model.lam_ == model.solution_.problem.lam
    np.testing.assert_allclose(model.assignments_, fresh.at(fresh.lam), atol=1e-5)
    assert model.solution_.relative_gap <= model.tol
    assert before.problem.lam == chosen  # what was handed out before stays as it was
    many = np.where(np.arange(len(Y)) % 4, TRUTH, -1)
    held = lass.LASS().fit(X, many)
    held.choice_.sources = False
    chosen = held.lam_
    assert held.update({0: int(TRUTH[0])}).lam_ == chosen


def test_update_sharpens_anew():
    silent = int(np.flatnonzero(Y < 0)[0])
    later = Y.copy()
    later[silent] = 1
    firm = lass.LASS(sharpen="auto", prior=[1, 1, 1]).fit(X, Y).update({silent: 1})
    np.testing.assert_array_equal(
        firm.assignments_, lass.LASS(sharpen="auto", prior=[1, 1, 1]).fit(X, later).assignments_
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
    before, words = model.assignments_.copy(), model.affinities_.toarray()
    with pytest.raises(ValueError, match=message):
        model.update(change)
    np.testing.assert_array_equal(model.assignments_, before)
    np.testing.assert_array_equal(model.affinities_.toarray(), words)
    # nor does it come up later
    fresh = {7: 1} if kind == "labels" else {(7, 1): 1.0}
    other = lass.LASS(**settings_).fit(X, y).update(fresh)
    np.testing.assert_array_equal(model.update(fresh).affinities_.toarray(), other.affinities_.toarray())
