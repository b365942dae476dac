"""Witnesses against dense computations; weights against what they must bring out."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.learning.predictors import COLUMNS, WITNESSES, Linear, Weights, Witnesses, learn, score
from lass.learning.predictors import linear as linear_room
from lass.learning.predictors.training import _pairs, hidings


def collection(items=400, tags=12, seed=0):
    """Points whose tags depend on where they are, and on each other: 0 and 1 always come together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(items, 5))
    directions = rng.normal(size=(5, tags))
    T = (X @ directions + 0.5 * rng.normal(size=(items, tags))) > 2.0
    T[:, 1] = T[:, 0]
    T[rng.random(items) < 0.3] = False
    return X, lass.knn_graph(X, 8), sp.csr_array(T.astype(float))


def witnesses_of(W, G, linear=None, lam=0.5):
    return Witnesses(W, G, lass.solve(W, G, lam, tol=1e-8).Z, linear)


def test_testimony_is_what_dense_algebra_says():
    _, W, G = collection(80, 5)
    found = witnesses_of(W, G)
    dense, T, Z = W.toarray(), G.toarray(), found.Z
    degree = dense.sum(axis=1)
    told = T.any(axis=1)
    often = (T.sum(axis=0) + 0.5) / (told.sum() + 1.0)
    H = T.copy()
    L = np.diag(degree) - dense
    H[~told] = np.linalg.solve(L[np.ix_(~told, ~told)], dense[np.ix_(~told, told)] @ T[told])
    rows = np.array([3, 0, 77])
    got = found.testimony(rows)
    assert got.shape == (3, 5, len(COLUMNS))
    crowd, reach = (dense @ Z / degree[:, None])[rows], (dense @ H / degree[:, None])[rows]
    np.testing.assert_allclose(got[:, :, 1], crowd, atol=1e-6)
    np.testing.assert_allclose(got[:, :, 3], reach, atol=1e-3)
    np.testing.assert_allclose(got[:, :, 0], np.log(crowd + 1e-3 * often), atol=1e-4)
    half = 0.5 * np.median(W.data)
    vote = (dense @ T + half * often) / (dense @ told + half)[:, None]
    np.testing.assert_allclose(got[:, :, 5], vote[rows], rtol=1e-5)
    np.testing.assert_allclose(got[:, :, 10], np.tile(np.log(often), (3, 1)), rtol=1e-5)
    # a walk of four steps, each less likely than the one before, without its first return
    P, known = dense / degree[:, None], told.astype(float)[:, None]
    powers = [np.linalg.matrix_power(P, t) * 0.7 ** (t - 1) for t in range(1, 5)]
    seen, heard = sum(powers) @ T, sum(powers) @ known
    back = 0.7 * np.diag(P @ P)[:, None]
    shy = 0.01 * heard.mean()
    walk = (seen - back * T + shy * often) / (heard - back * known + shy)
    np.testing.assert_allclose(got[:, :, 12], np.maximum(walk, 0)[rows], atol=1e-5)
    # company: each tag by ridge regression on the others of an item, without itself
    for k in range(5):
        others = np.delete(np.arange(5), k)
        A = T[:, others].T @ T[:, others] + 20.0 * np.eye(4)
        weights = np.linalg.solve(A, T[:, others].T @ T[:, k])
        np.testing.assert_allclose(got[:, k, 8], T[rows][:, others] @ weights, atol=1e-5)


def test_a_word_says_nothing_about_itself():
    """What testifies about a tag of an item stays the same when that very word is taken back."""
    X, W, G = collection(200, 6)
    n, k = next((n, k) for n, k in zip(*G.nonzero(), strict=True) if G[[n]].nnz > 1)
    less = G.tolil()
    less[n, k] = 0
    less = sp.csr_array(less)
    with_it, without = (witnesses_of(W, g, Linear(X, np.arange(200), W)) for g in (G, less))
    one, other = (w.testimony(np.array([n]))[0, k] for w in (with_it, without))
    # through its neighbours a word comes back faintly, and counts of the tag change by one
    for column in (1, 3, 5, 7, 8, 15, 17, 19):
        assert abs(one[column] - other[column]) <= 0.3, COLUMNS[column]
    assert without.T[n, k] == 0


def test_a_linear_model_never_judges_its_own_group(monkeypatch):
    """Tags at random: whoever has seen the answers finds them again, and nobody else."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(linear_room, "PENALTIES", (1e-6, 1e-5))
    X = rng.normal(size=(150, 120))
    X = np.repeat(X, 2, axis=0)  # every item twice
    T = np.repeat(rng.random((150, 3)) < 0.5, 2, axis=0)
    T[T.sum(axis=1) == 0, 0] = True
    tags = sp.csr_array(T.astype(float))
    rows, tagged = np.arange(300), np.ones(300, bool)
    correct = {}
    for name, groups in (("apart", np.repeat(np.arange(150), 2)), ("mixed", np.arange(300))):
        model = Linear(X, groups, sp.csr_array((300, 300)))
        said = list(model.judge(model.fit(tags), rows, tagged))
        assert len(said) == 4
        correct[name] = [np.mean((share > 0.5) == T) for share in said]
    assert min(correct["mixed"]) > 0.75  # the twin gave it away
    assert max(correct["apart"]) < 0.62


def test_linear_models_are_ridge_regressions_of_what_is_there_and_around():
    X, W, G = collection(120, 4)
    model = Linear(X, np.arange(120), W)
    said = list(model.judge(model.fit(G), np.arange(120), np.diff(G.indptr) > 0))
    own = X / np.linalg.norm(X, axis=1, keepdims=True)
    P = W.toarray() / W.toarray().sum(axis=1, keepdims=True)
    around = sum(0.7**t * np.linalg.matrix_power(P, t) for t in range(5)) @ own
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    told, part = np.diff(G.indptr) > 0, model.part
    expected = []
    for view in (own, around):
        A = np.hstack([view, np.ones((120, 1))])
        for penalty in (1.0, 10.0):
            ridge = np.diag([penalty] * 5 + [1e-6])
            rows = np.empty((120, 4))
            for n in range(120):
                known = told & ((part != part[n]) | ~told[n])
                rows[n] = A[n] @ np.linalg.solve(
                    A[known].T @ A[known] + ridge, A[known].T @ G[known].toarray()
                )
            expected.append(rows)
    np.testing.assert_allclose(said, expected, atol=1e-4)


def test_features_beyond_the_rank_are_reduced_and_keep_their_inner_products():
    rng = np.random.default_rng(1)
    low = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 900))
    alone = sp.csr_array((60, 60))
    dense, sparse = (Linear(X, np.arange(60), alone) for X in (low, sp.csr_array(low)))
    assert dense.views[0].shape[1] <= linear_room.RANK + 1
    unit = low / np.linalg.norm(low, axis=1, keepdims=True)
    for found in (dense, sparse):
        for view in found.views:  # items without ties have only themselves around
            np.testing.assert_allclose(view[:, :-1] @ view[:, :-1].T, unit @ unit.T, atol=1e-5)


@pytest.mark.parametrize("groups", ["own", "pairs"])
def test_what_is_hidden_is_hidden_in_whole_groups_and_nothing_is_lost(groups):
    _, _, G = collection()
    codes = np.arange(400) if groups == "own" else np.arange(400) // 2
    T = G.toarray() > 0
    seen = np.zeros(400, bool)
    for visible, hidden in hidings(G, codes, 0):
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
def test_pairs_stand_for_all_that_nothing_is_said_about(count):
    _, W, G = collection(300, 12)
    visible, hidden = next(iter(hidings(G, np.arange(300), 0)))
    witnesses = witnesses_of(W, visible)
    rows = np.flatnonzero(np.diff(hidden.indptr))
    taken = _pairs(witnesses, rows, visible, hidden, count, np.random.default_rng(0))
    truth, unsaid = hidden[rows].toarray() > 0, visible[rows].toarray() == 0
    assert taken.hidden.sum() == truth.sum() == taken.lost  # whatever was hidden is there
    np.testing.assert_array_equal(np.bincount(taken.item, taken.hidden), truth.sum(axis=1))
    assert taken.weight.sum() == pytest.approx(unsaid.sum(), rel=0.15)
    assert (np.diff(taken.item) >= 0).all()
    assert len(taken.X) == unsaid.sum() if count == 10**6 else len(taken.X) < unsaid.sum()


def fitted(seed=0, items=600):
    X, W, G = collection(items, 12, seed)
    linear = Linear(X, np.arange(items), W)

    def call(visible):
        return Witnesses(W, visible, lass.solve(W, visible, 0.5, tol=1e-3).Z, linear)

    return call, G, learn(call, call(G), G, np.arange(items))


def test_scores_are_likely_where_tags_are_and_say_how_likely():
    call, G, weights = fitted()
    # a fifth of the items lose their tags, as if nobody had come by
    rng = np.random.default_rng(5)
    away = rng.random(G.shape[0]) < 0.2
    visible = sp.csr_array(sp.diags_array((~away).astype(float)) @ G)
    visible.eliminate_zeros()
    weights = learn(call, call(visible), visible, np.arange(G.shape[0]))
    scores = score(call(visible), visible, weights)
    judged = np.flatnonzero(away & (np.diff(G.indptr) > 0))
    truth, values = G[judged].toarray() > 0, scores.values[judged]
    assert values[truth].mean() > 3 * values[~truth].mean()
    # calibrated: in every band of scores with enough pairs the share that is right is about the score
    for low, high in ((0.0, 0.1), (0.1, 0.4), (0.4, 1.01)):
        band = (values >= low) & (values < high)
        assert band.sum() > 30
        assert abs(values[band].mean() - truth[band].mean()) < 0.12


def test_company_speaks_for_a_tag_that_always_comes_with_another():
    call, G, weights = fitted()
    some = np.flatnonzero(G[:, [0]].toarray().ravel() > 0)[:6]
    less = G.tolil()
    for n in some:
        less[n, 1] = 0
    visible = sp.csr_array(less)
    scores = score(call(visible), visible, weights)
    assert np.mean(scores.best[some, 0] == 1) > 0.8
    company = list(WITNESSES).index("company")
    place = (scores.best[some] == 1).argmax(axis=1)
    assert (scores.parts[some, place, company] > 1.0).all()


def test_parts_add_up_to_the_evidence_and_the_best_are_unsaid():
    call, G, weights = fitted()
    witnesses = call(G)
    scores = score(witnesses, G, weights, count=4)
    evidence = np.log((1.0 - scores.values.astype(float)) ** -2 - 1.0) - np.log(2.0)
    tagged = np.diff(G.indptr) > 0
    usual = np.array(weights.usual)
    for n in (0, 17, 301):
        slope = np.array(weights.tagged if tagged[n] else weights.untagged)
        base = slope[-1] + slope[:-1] @ usual
        for place, k in enumerate(scores.best[n]):
            assert G[n, k] == 0
            np.testing.assert_allclose(base + scores.parts[n, place].sum(), evidence[n, k], atol=2e-3)
        unsaid = np.flatnonzero(G[[n]].toarray().ravel() == 0)
        assert scores.values[n, scores.best[n, 0]] == scores.values[n, unsaid].max()


def test_weights_survive_a_file_and_damage_is_told():
    _, _, weights = fitted()
    assert Weights.from_json(weights.to_json()) == weights
    spoilt = json.loads(weights.to_json())
    spoilt["tagged"] = spoilt["tagged"][:-1]
    for text in (json.dumps(spoilt), json.dumps({"tagged": []}), "[]", "{", '"a"', "3"):
        with pytest.raises(ValueError, match=r"weights|JSON|Expecting"):
            Weights.from_json(text)
    earlier = json.loads(weights.to_json())
    del earlier["version"]  # there was none at first, and the same numbers meant another curve
    with pytest.raises(
        ValueError, match=r"another version of lass \(number 1, 2 expected\); run lass fit again"
    ):
        Weights.from_json(json.dumps(earlier))


def test_nothing_is_learnt_from_next_to_nothing():
    _, W, G = collection(60, 4)
    few = G.tolil()
    few[8:] = 0
    few = sp.csr_array(few)
    everybody = witnesses_of(W, few)
    assert learn(lambda visible: witnesses_of(W, visible), everybody, few, np.arange(60)) is None
