"""The parts of benchmarks.suggestions that a wrong figure could come from."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import suggestions_report as report
from benchmarks.suggestions_baselines import BaselineScores
from lass.learning.predictors import Scores
from lass.learning.predictors.holdout import split
from lass.tagging.evaluation.baselines import Task


@pytest.fixture
def collection() -> tuple[sp.csr_array, sp.csr_array, np.ndarray]:
    generator = np.random.default_rng(3)
    G = sp.csr_array((generator.random((40, 6)) < 0.4).astype(float))
    half = np.triu((generator.random((40, 40)) < 0.2) * generator.random((40, 40)), 1)
    return sp.csr_array(half + half.T), G, generator.normal(size=(40, 5))


def test_calibration_is_that_of_the_tags_shown(collection):
    _, G, _ = collection
    parts = split(G, np.arange(40), "items", 0.5, 0)
    values = np.random.default_rng(1).random(G.shape).astype(np.float32)
    best = np.argsort(-values, axis=1).astype(np.int32)
    found = report.calibration_error(
        Scores(sp.csr_array(values), best, np.zeros((40, 6, 6), np.float32)), parts
    )
    bins: dict[int, list[tuple[float, float]]] = {}
    for n in parts.rows:
        for k in best[n, :5]:
            bins.setdefault(min(int(10 * values[n, k]), 9), []).append((values[n, k], parts.hidden[n, k]))
    gaps = [len(pairs) * abs(np.mean(pairs, axis=0) @ [1, -1]) for pairs in bins.values()]
    assert found == pytest.approx(sum(gaps) / (5 * len(parts.rows)), abs=1e-6)


def test_planted_tags_are_new_and_found_by_an_oracle(collection):
    _, G, _ = collection
    G = sp.csr_array(sp.vstack([G] * 5))
    annotations, wrong = report.plant(G, 0)
    assert 0 < wrong.nnz <= round(0.05 * G.nnz)
    assert not wrong.multiply(G).nnz
    assert (annotations - wrong != G).nnz == 0
    assert report.doubts_found(G, annotations, wrong) == {"doubts": 1.0, "doubts_by_score": 1.0}
    assert report.doubts_found(wrong, annotations, wrong)["doubts_by_score"] == 0.0


@pytest.mark.parametrize("with_features", [True, False])
def test_the_nearest_tagged_vote_and_no_item_votes_on_itself(collection, with_features):
    W, G, X = collection
    parts = split(G, np.arange(40), "scattered", 0.5, 0)
    features = X if with_features else None
    scores = BaselineScores(Task(W, features, parts, 0))
    if with_features:
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        near = np.maximum(unit @ unit.T, 0)
    else:
        P = W.toarray() / W.toarray().sum(axis=1, keepdims=True)
        near = sum(0.5**step * np.linalg.matrix_power(P, step + 1) for step in range(4))
    tags = (parts.visible > 0).toarray().astype(float)
    np.fill_diagonal(near, 0)
    near[:, tags.sum(axis=1) == 0] = 0
    for place, n in enumerate(parts.rows):
        some = np.argsort(-near[n])[:10]
        vote = near[n, some] @ tags[some] / near[n, some].sum()
        np.testing.assert_allclose(scores.nearest(10)[place], vote, atol=2e-6)


def test_an_item_like_no_other_gets_popular_tags(collection):
    W, G, X = collection
    parts = split(G, np.arange(40), "items", 0.5, 0)
    X = X.astype(np.float32)
    X[parts.rows[0]] = 0.0
    scores = BaselineScores(Task(W, X, parts, 0))
    found = scores.nearest(10)[0]
    assert (np.argsort(-found) == np.argsort(-np.asarray(scores.tags.sum(axis=0)))).all()
    assert np.isfinite(scores.logistic_and_vote()).all()


def test_co_occurrence_is_the_mean_conditional_frequency(collection):
    W, G, _ = collection
    parts = split(G, np.arange(40), "scattered", 0.5, 0)
    found = BaselineScores(Task(W, None, parts, 0)).co_occurrence()
    T = (parts.visible > 0).toarray()
    for place, n in enumerate(parts.rows):
        wanted = np.mean([T[T[:, j]].mean(axis=0) for j in np.flatnonzero(T[n])], axis=0)
        np.testing.assert_allclose(found[place], wanted, atol=2e-6)


def test_what_was_kept_is_read_again(tmp_path):
    path = tmp_path / "suggestions.json"
    report.save(path, "debian", "a", "LASS", 0, {"map": 0.5})
    report.save(path, "debian", "a", "LASS", 1, {"map": 0.25})
    assert report.load(path) == {("debian", "a", "LASS"): {0: {"map": 0.5}, 1: {"map": 0.25}}}
