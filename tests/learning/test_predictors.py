"""Predictor features against dense computations; weights against what they must bring out."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.learning.predictors import (
    COLUMNS,
    FEATURES,
    PREDICTORS,
    LinearPredictor,
    PredictorFeatures,
    Predictors,
    Weights,
    propagation,
    score,
    train,
)
from lass.learning.predictors import features as features_module
from lass.learning.predictors.linear import RANK, standardised
from lass.learning.predictors.prior import default_prior
from lass.learning.predictors.propagation import SWEEPS
from lass.learning.predictors.tag_lists import TagLists
from lass.learning.predictors.training import _pairs, holdouts
from lass.learning.predictors.voters import find_voters
from lass.learning.predictors.weights import VERSION_2
from lass.solvers.assignments import to_sparse


def collection(items=400, tags=12, seed=0):
    """Points whose tags depend on where they are, and on each other: 0 and 1 always come together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(items, 5))
    directions = rng.normal(size=(5, tags))
    T = (X @ directions + 0.5 * rng.normal(size=(items, tags))) > 2.0
    T[:, 1] = T[:, 0]
    T[rng.random(items) < 0.3] = False
    return X, lass.knn_graph(X, 8), sp.csr_array(T.astype(float))


def features_of(W, G, linear=None, lam=0.5):
    return PredictorFeatures(W, G, lass.solve(W, G, lam, tol=1e-8).Z, linear)


def test_features_are_what_dense_algebra_says():
    _, W, G = collection(80, 5)
    Z = lass.solve(W, G, 0.5, tol=1e-8).Z
    found = PredictorFeatures(W, G, Z, None)
    dense, T = W.toarray(), G.toarray()
    degree = dense.sum(axis=1)
    tagged = T.any(axis=1)
    frequency = (T.sum(axis=0) + 0.5) / (tagged.sum() + 1.0)
    rows = np.array([3, 0, 77])
    values = found.compute(TagLists.all(rows, 5))
    assert values.shape == (15, len(COLUMNS))
    got = dict(zip(COLUMNS, np.moveaxis(values.reshape(3, 5, -1), 2, 0), strict=True))
    crowd = (dense @ Z / degree[:, None])[rows]
    np.testing.assert_allclose(got["crowd"], crowd, atol=1e-6)
    np.testing.assert_allclose(got["log_crowd"], np.log(crowd + 1e-3 * frequency), atol=1e-4)
    half = 0.5 * np.median(W.data)
    vote = (dense @ T + half * frequency) / (dense @ tagged + half)[:, None]
    np.testing.assert_allclose(got["neighbours"], vote[rows], rtol=1e-5)
    np.testing.assert_allclose(got["log_frequency"], np.tile(np.log(frequency), (3, 1)), rtol=1e-5)
    np.testing.assert_allclose(got["frequency"], np.tile(frequency, (3, 1)), rtol=1e-5)
    np.testing.assert_array_equal(got["own_features_1"], 0.0)  # there are no features
    # a walk of four steps, each less likely than the one before, without its first return
    P, known = dense / degree[:, None], tagged.astype(float)[:, None]
    powers = [np.linalg.matrix_power(P, t) * 0.7 ** (t - 1) for t in range(1, 5)]
    tag_visits, visits = sum(powers) @ T, sum(powers) @ known
    back = 0.7 * np.diag(P @ P)[:, None]
    smooth = 0.01 * visits.mean()
    walk = (tag_visits - back * T + smooth * frequency) / (visits - back * known + smooth)
    np.testing.assert_allclose(got["walk"], np.maximum(walk, 0)[rows], atol=1e-5)
    # from there, items without annotations become means of their neighbours, some times in turn
    H = np.where(known > 0, T, tag_visits / (visits - back * known + smooth))
    for _ in range(SWEEPS):
        H = np.where(known > 0, T, P @ H)
    np.testing.assert_allclose(got["harmonic"], (P @ H)[rows], atol=1e-5)
    L, exact = np.diag(degree) - dense, T.copy()
    exact[~tagged] = np.linalg.solve(L[np.ix_(~tagged, ~tagged)], dense[np.ix_(~tagged, tagged)] @ T[tagged])
    np.testing.assert_allclose(got["harmonic"], (P @ exact)[rows], atol=0.01)
    # co-occurrence: each tag by ridge regression on the others of an item, without itself
    for k in range(5):
        others = np.delete(np.arange(5), k)
        A = T[:, others].T @ T[:, others] + 20.0 * np.eye(4)
        weights = np.linalg.solve(A, T[:, others].T @ T[:, k])
        np.testing.assert_allclose(got["ridge"][:, k], T[rows][:, others] @ weights, atol=1e-5)


def test_an_annotation_is_no_evidence_for_itself():
    """The features of a tag of an item stay the same when that very annotation is taken back."""
    X, W, G = collection(200, 6)
    n, k = next((n, k) for n, k in zip(*G.nonzero(), strict=True) if G[[n]].nnz > 1)
    less = G.tolil()
    less[n, k] = 0
    less = sp.csr_array(less)
    with_it, without = (features_of(W, g, LinearPredictor(X, np.arange(200), W)) for g in (G, less))
    one, other = (w.compute(TagLists.all(np.array([n]), 6))[k] for w in (with_it, without))
    # through its neighbours a little of it comes back, and counts of the tag change by one
    shares = {feature.name for feature in FEATURES if feature.floor is not None} - {"walk"} | {"ridge"}
    for name, before, after in zip(COLUMNS, one, other, strict=True):
        assert name not in shares or abs(before - after) <= 0.3, name
    assert without.T[n, k] == 0


def test_after_an_update_the_same_is_known_of_tagged_neighbours():
    X, W, G = collection(200, 6)
    changed = G.tolil()
    rows = np.array([3, 50, 120])
    for row in rows:  # one way or the other
        changed[row] = 0
        changed[row, 2] = float(G[[row]].nnz == 0)
    changed = sp.csr_array(changed)
    found, afresh = (features_of(W, one, LinearPredictor(X, np.arange(200), W)) for one in (G, changed))
    found.update(changed, to_sparse(np.full(G.shape, 1 / 6)), rows)
    assert (np.diff(G.indptr)[rows] > 0).any()
    np.testing.assert_allclose(found.tagged_degree, afresh.tagged_degree, atol=1e-12)
    np.testing.assert_allclose(found.frequency, afresh.frequency)


def test_the_crowd_of_a_few_items_is_computed_from_those_around_alone(monkeypatch):
    _, W, G = collection()
    found = []
    for few in (0, 10**6):
        monkeypatch.setattr(features_module, "FEW", few)
        features = features_of(W, G)
        lists = features.candidates(np.array([3, 17, 200]))
        found.append(features.crowd(lists))
        assert (features._assigned is None) == (few == 0)
    np.testing.assert_array_equal(*found)


def test_no_group_is_scored_by_a_linear_model_fitted_to_it():
    """Tags at random: only a model that was fitted to them can predict them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 120))
    X = np.repeat(X, 2, axis=0)  # every item twice
    T = np.repeat(rng.random((150, 3)) < 0.5, 2, axis=0)
    T[T.sum(axis=1) == 0, 0] = True
    tags = sp.csr_array(T.astype(float))
    pairs, tagged = TagLists.all(np.arange(300), 3), np.ones(300, bool)
    correct = {}
    for name, groups in (("apart", np.repeat(np.arange(150), 2)), ("mixed", np.arange(300))):
        linear = LinearPredictor(X, groups, sp.csr_array((300, 300)), penalties=(1e-6, 1e-5))
        models = linear.fit(tags)
        predicted = [linear.predict(models, i, pairs, tagged).reshape(300, 3) for i in range(4)]
        correct[name] = [np.mean((one > 0.5) == T) for one in predicted]
    assert min(correct["mixed"]) > 0.75  # the twin gave it away
    assert max(correct["apart"]) < 0.62


def test_standardised_columns_have_no_wild_values_and_no_units():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[0, 0] = 1e9
    found = standardised(X * [1.0, 1e-300, 1e300] + [0.0, 0.0, 5e300])
    assert np.abs(found).max() <= 3.0
    np.testing.assert_allclose(found[:, 1:].std(axis=0), 1.0, atol=0.02)
    assert not standardised(np.full((4, 2), 0.1)).any()
    assert standardised(np.zeros((0, 2))).shape == (0, 2)


def test_folds_do_not_go_together_with_data_drawn_with_the_same_seed():
    group = np.random.default_rng(0).integers(4, size=240)
    fold = LinearPredictor(np.eye(4)[group], np.arange(240), sp.csr_array((240, 240))).fold
    together = np.array([[np.mean((group == a) & (fold == b)) for a in range(4)] for b in range(4)])
    assert together.max() < 0.11  # a sixteenth, if one says nothing of the other


def test_linear_models_are_ridge_regressions_of_what_is_there_and_around():
    X, W, G = collection(120, 4)
    model = LinearPredictor(X, np.arange(120), W)
    tagged, models = np.diff(G.indptr) > 0, model.fit(G)
    pairs = TagLists.all(np.arange(120), 4)
    predicted = [model.predict(models, i, pairs, tagged).reshape(120, 4) for i in range(4)]
    own = X / np.linalg.norm(X, axis=1, keepdims=True)
    P = W.toarray() / W.toarray().sum(axis=1, keepdims=True)
    around = sum(0.7**t * np.linalg.matrix_power(P, t) for t in range(5)) @ own
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    expected = []
    for view in (own, around):
        A = np.hstack([view, np.ones((120, 1))])
        for penalty in (1.0, 10.0):
            ridge = np.diag([penalty] * 5 + [1e-6])
            rows = np.empty((120, 4))
            for n in range(120):
                known = tagged & ((model.fold != model.fold[n]) | ~tagged[n])
                rows[n] = A[n] @ np.linalg.solve(
                    A[known].T @ A[known] + ridge, A[known].T @ G[known].toarray()
                )
            expected.append(rows)
    np.testing.assert_allclose(predicted, expected, atol=1e-4)


def test_features_beyond_the_rank_are_reduced_and_keep_their_inner_products():
    rng = np.random.default_rng(1)
    low = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 900))
    alone = sp.csr_array((60, 60))
    dense, sparse = (LinearPredictor(X, np.arange(60), alone) for X in (low, sp.csr_array(low)))
    assert dense.features.shape[1] <= RANK
    unit = low / np.linalg.norm(low, axis=1, keepdims=True)
    for found in (dense, sparse):
        for number in range(2):  # items without edges have only themselves around
            view = found.view(number, np.arange(60))
            np.testing.assert_allclose(view[:, :-1] @ view[:, :-1].T, unit @ unit.T, atol=1e-5)


@pytest.mark.parametrize("groups", ["own", "pairs"])
def test_what_is_hidden_is_hidden_in_whole_groups_and_nothing_is_lost(groups):
    _, _, G = collection()
    codes = np.arange(400) if groups == "own" else np.arange(400) // 2
    T = G.toarray() > 0
    seen = np.zeros(400, bool)
    for visible, hidden in holdouts(G, codes, 0):
        v, h = visible.toarray() > 0, hidden.toarray() > 0
        np.testing.assert_array_equal(v | h, T)
        assert not (v & h).any()
        lost_all = h.any(axis=1) & ~v.any(axis=1)
        seen |= lost_all
        assert 0 < lost_all.sum() < 0.35 * T.any(axis=1).sum()
        assert (h.any(axis=1) & v.any(axis=1)).any()
        if groups == "pairs":  # a tag is hidden in both items of a pair, or in neither
            both = (v | h)[0::2] & (v | h)[1::2]
            np.testing.assert_array_equal(h[0::2][both], h[1::2][both])
    assert seen.sum() > 0.5 * T.any(axis=1).sum()


@pytest.mark.parametrize("count", [200, 600, 10**6])
def test_pairs_stand_for_all_that_are_not_annotated(count):
    _, W, G = collection(300, 12)
    visible, hidden = next(iter(holdouts(G, np.arange(300), 0)))
    features = features_of(W, visible)
    rows = np.flatnonzero(np.diff(hidden.indptr))
    pauses = []
    taken, kept = _pairs(features, rows, visible, hidden, count, (0, 0), lambda: pauses.append(1))
    assert pauses
    truth, candidate = hidden[rows].toarray() > 0, visible[rows].toarray() == 0
    assert taken.hidden.sum() == truth.sum()  # whatever was hidden is there
    assert kept == (visible[rows] > 0).sum()
    assert taken.hidden_share == truth.sum() / (truth.sum() + kept)
    np.testing.assert_array_equal(np.bincount(taken.item, taken.hidden)[rows], truth.sum(axis=1))
    assert taken.weight.sum() == pytest.approx(candidate.sum(), rel=0.15)
    assert (np.diff(taken.item) >= 0).all()
    assert len(taken.X) == candidate.sum() if count == 10**6 else len(taken.X) < candidate.sum()


@pytest.mark.parametrize("count", [600, 5000])
def test_one_more_item_changes_few_of_the_pairs_of_the_others(count):
    _, W, G = collection(600, 100)
    visible, hidden = next(iter(holdouts(G, np.arange(600), 0)))
    features = features_of(W, visible)
    rows = np.flatnonzero(np.diff(hidden.indptr))
    for more in range(3, len(rows), 40):
        found = []
        for some in (np.delete(rows, more), rows):
            taken, _ = _pairs(features, some, visible, hidden, count, (0, 0), int)
            others = taken.item != rows[more]
            found.append(
                {(item, *X) for item, X in zip(taken.item[others], taken.X[others].tolist(), strict=True)}
            )
        assert len(found[0] ^ found[1]) < 0.05 * len(found[0])


def fitted(seed=0, items=600):
    X, W, G = collection(items, 12, seed)
    linear = LinearPredictor(X, np.arange(items), W)

    def compute(visible):
        return PredictorFeatures(W, visible, lass.solve(W, visible, 0.5, tol=1e-3).Z, linear)

    return compute, G, train(compute, compute(G), G, np.arange(items))


def score_trained(features, G, weights, **more):
    """Scores by the trained weights alone, without the mixture of few tags."""
    voters = find_voters(features.W, G)
    predictors = Predictors(features, None, None, np.arange(G.shape[0]), default_prior(), voters)
    return score(predictors, G, weights, **more)


def test_scores_are_likely_where_tags_are_and_say_how_likely():
    compute, G, weights = fitted()
    # a fifth of the items lose all their tags
    rng = np.random.default_rng(5)
    away = rng.random(G.shape[0]) < 0.2
    visible = sp.csr_array(sp.diags_array((~away).astype(float)) @ G)
    visible.eliminate_zeros()
    weights = train(compute, compute(visible), visible, np.arange(G.shape[0]))
    scores = score_trained(compute(visible), visible, weights)
    judged = np.flatnonzero(away & (np.diff(G.indptr) > 0))
    truth, values = G[judged].toarray() > 0, scores.values[judged].toarray()
    assert values[truth].mean() > 3 * values[~truth].mean()
    # calibrated: in every band of scores with enough pairs the share that is right is about the score
    for low, high in ((0.0, 0.1), (0.1, 0.4), (0.4, 1.01)):
        band = (values >= low) & (values < high)
        assert band.sum() > 30
        assert abs(values[band].mean() - truth[band].mean()) < 0.12


def test_co_occurrence_adds_to_a_tag_that_always_comes_with_another():
    compute, G, weights = fitted()
    some = np.flatnonzero(G[:, [0]].toarray().ravel() > 0)[:6]
    less = G.tolil()
    for n in some:
        less[n, 1] = 0
    visible = sp.csr_array(less)
    scores = score_trained(compute(visible), visible, weights)
    assert np.mean(scores.top_tags[some, 0] == 1) > 0.8
    co_occurrence = list(PREDICTORS).index("co-occurrence")
    place = (scores.top_tags[some] == 1).argmax(axis=1)
    assert (scores.contributions[some, place, co_occurrence] > 1.0).all()


def test_contributions_add_up_to_the_evidence_and_top_tags_are_not_annotated():
    compute, G, weights = fitted()
    scores = score_trained(compute(G), G, weights, count=4)
    values = scores.values.toarray()
    with np.errstate(divide="ignore"):  # what is negligible is not kept
        evidence = np.log((1.0 - values.astype(float)) ** -2 - 1.0) - np.log(2.0)
    tagged = np.diff(G.indptr) > 0
    mean = np.array(weights.mean)
    for n in (0, 17, 301):
        slope = np.array(weights.tagged if tagged[n] else weights.untagged)
        base = slope[-1] + slope[:-1] @ mean
        for place, k in enumerate(scores.top_tags[n]):
            assert G[n, k] == 0
            np.testing.assert_allclose(base + scores.contributions[n, place].sum(), evidence[n, k], atol=2e-3)
        others = np.flatnonzero(G[[n]].toarray().ravel() == 0)
        assert values[n, scores.top_tags[n, 0]] == values[n, others].max()


def example_weights():
    """Other numbers everywhere."""
    count = len(COLUMNS)
    vectors = (np.arange(count + 1) + 0.5, -np.arange(count + 1.0), np.arange(count) / 7)
    return Weights(*(vector.tolist() for vector in vectors), completeness=0.7)


def test_weights_survive_a_file_and_damage_is_an_error():
    weights = example_weights()
    assert Weights.from_json(weights.to_json()) == weights
    unknown, no_constant = json.loads(weights.to_json()), json.loads(weights.to_json())
    unknown["tagged"]["another"] = 1.0
    del no_constant["untagged"]["constant"]
    damaged = (unknown, no_constant, {"version": 3, "tagged": {}}, {"version": 3}, {"tagged": []}, [], "a", 3)
    for text in (*map(json.dumps, damaged), "{"):
        with pytest.raises(ValueError, match=r"weights|Expecting"):
            Weights.from_json(text)


def test_weights_of_0_1_0_are_read_by_position():
    weights = example_weights()
    count, names = len(VERSION_2), [*VERSION_2, "constant"]
    assert tuple(COLUMNS)[:count] == VERSION_2  # those that came later have no weight
    saved = {"version": 2, "tagged": weights.tagged[: count + 1], "untagged": weights.untagged[: count + 1]}
    saved |= {"usual": weights.mean[:count], "complete": weights.completeness}
    read = json.loads(Weights.from_json(json.dumps(saved)).to_json())
    for key, old in (("tagged", "tagged"), ("untagged", "untagged"), ("mean", "usual")):
        assert {name: value for name, value in read[key].items() if name in names} == dict(
            zip(names, saved[old], strict=False)
        )
        assert not any(value for name, value in read[key].items() if name not in names)
    assert read["completeness"] == weights.completeness
    saved["tagged"] = saved["tagged"][:-1]
    with pytest.raises(ValueError, match=r"not weights \(21 columns expected\)"):
        Weights.from_json(json.dumps(saved))
    del saved["version"]  # there was none at first, and the same numbers meant another curve
    with pytest.raises(
        ValueError, match=r"another version of lass \(number 1, 3 expected\); run lass fit again"
    ):
        Weights.from_json(json.dumps(saved))


def test_weights_in_a_collection_of_0_1_0():
    path = Path(__file__).parents[1] / "fixtures" / "v0_1_0" / "collection" / "arrays" / "assignments.npz"
    with np.load(path) as arrays:
        text = str(arrays["beside_weights"])
    saved, read = json.loads(text), Weights.from_json(text)
    assert saved["version"] == 2
    for values, old in ((read.tagged, saved["tagged"]), (read.untagged, saved["untagged"])):
        assert (values[: len(VERSION_2)], values[-1]) == (old[:-1], old[-1])
    assert (read.mean[: len(VERSION_2)], read.completeness) == (saved["usual"], saved["complete"])
    assert Weights.from_json(read.to_json()) == read


def test_a_feature_that_a_file_does_not_know_has_no_weight():
    weights = example_weights()
    saved = json.loads(weights.to_json())
    for name in ("tagged", "untagged", "mean"):
        del saved[name]["lift"]
    place = list(COLUMNS).index("lift")
    read = Weights.from_json(json.dumps(saved))
    assert (read.tagged[place], read.untagged[place], read.mean[place]) == (0.0, 0.0, 0.0)
    assert read.tagged[place + 1 :] == weights.tagged[place + 1 :]


def test_too_little_data_trains_no_weights():
    _, W, G = collection(60, 4)
    few = G.tolil()
    few[8:] = 0
    few = sp.csr_array(few)
    assert train(lambda visible: features_of(W, visible), features_of(W, few), few, np.arange(60)) is None


@pytest.mark.parametrize("part", [7, 10_000])
def test_mean_shares_are_those_of_all_items_however_they_are_summed(monkeypatch, part):
    monkeypatch.setattr(propagation, "PART", part)
    rng = np.random.default_rng(0)
    W = sp.csr_array(np.triu(rng.random((60, 60)) < 0.1, 1).astype(float))
    G = sp.csr_array((rng.random((60, 5)) < 0.1).astype(float))
    found = propagation.Propagation(sp.csr_array(W + W.T), G)
    expected = found.harmonic.toarray().astype(float).mean(axis=0)
    np.testing.assert_allclose(found.mean_shares(), expected, rtol=1e-12)
