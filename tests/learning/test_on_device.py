"""Predictors in torch on a processor, against the compiled loops."""

import numpy as np
import pytest
import scipy.sparse as sp

torch = pytest.importorskip("torch")

import lass  # noqa: E402
import lass.learning.predictors.on_device as on_device  # noqa: E402
import lass.learning.predictors.tag_assignments as tag_assignments  # noqa: E402
from lass.learning.predictors import TREES, LinearPredictor, PredictorFeatures  # noqa: E402
from lass.learning.predictors.on_device import DeviceFeatures, DeviceLinear, DeviceSums  # noqa: E402
from lass.learning.predictors.propagation import Propagation  # noqa: E402
from lass.learning.predictors.scoring import LEAST_SCORE, score_tags  # noqa: E402
from lass.learning.predictors.tag_assignments import assign_tags  # noqa: E402
from lass.learning.predictors.tag_lists import NeighbourSums, TagLists  # noqa: E402
from lass.learning.predictors.trees import tree_shares  # noqa: E402

torch.set_num_threads(1)


def tagged_clouds(items=900, tags=100, seed=0):
    """Features, graph and annotations of items in clouds; half of them have tags, some a tag too many."""
    rng = np.random.default_rng(seed)
    clouds = 30
    cloud = rng.integers(clouds, size=items)
    X = rng.normal(size=(clouds, 12))[cloud] + 0.8 * rng.normal(size=(items, 12))
    frequency = 1.0 / np.arange(1, tags + 1)
    usual = np.array(
        [rng.choice(tags, 8, replace=False, p=frequency / frequency.sum()) for _ in range(clouds)]
    )
    G = sp.lil_array((items, tags))
    for n in range(0, items, 2):
        G[n, rng.choice(usual[cloud[n]], 4, replace=False)] = 1.0
        G[n, rng.integers(tags)] = rng.choice([-1.0, 1.0])
    W = lass.knn_graph(X, 9).tolil()
    W[-2:], W[:, -2:] = 0, 0  # without neighbours
    return X, sp.csr_array(W), sp.csr_array(G)


def differences(ours, theirs):
    """Differences of two scores; one that is not kept is as large as the least that is."""
    first, second = (np.maximum(one.toarray(), LEAST_SCORE) for one in (ours, theirs))
    return np.abs(first - second)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(on_device, "BLOCK", 20_000)


@pytest.fixture(scope="module")
def collection():
    return tagged_clouds()


def test_sums_over_neighbours_are_the_same(collection):
    _, W, G = collection
    T = sp.csr_array((G > 0).astype(np.float32))
    here, there = NeighbourSums(W), DeviceSums(W, "cpu")
    rows = np.random.default_rng(0).permutation(W.shape[0])[:400]
    lists = TagLists.of(rows, sp.csr_array(here.best(T, rows, 20)))
    np.testing.assert_allclose(there.at(T, lists), here.at(T, lists), atol=1e-6)
    ours, theirs = there.best(T, rows, 5), here.best(T, rows, 5)
    assert ours.has_sorted_indices
    assert (np.diff(ours.indptr) == np.diff(theirs.indptr)).all()
    largest = [np.sort(one.toarray(), axis=1)[:, -5:] for one in (ours, theirs)]
    np.testing.assert_allclose(*largest, atol=1e-6)
    every = NeighbourSums(W).best(T, np.arange(W.shape[0]), 5)
    np.testing.assert_allclose(
        there.relaxed(every, rows, 3).toarray(), here.relaxed(every, rows, 3).toarray(), atol=1e-6
    )


def test_of_equal_sums_the_first_tags_are_kept():
    W, T = sp.csr_array([[0.0, 1], [1, 0]]), sp.csr_array(np.ones((2, 7), np.float32))
    assert DeviceSums(W, "cpu").best(T, np.array([1]), 3).indices.tolist() == [0, 1, 2]


def test_features_of_pairs_are_the_same(collection):
    X, W, G = collection
    Z = assign_tags(lass.Problem(W, G, 0.5), 1e-4).Z
    groups = np.arange(len(X)) // 2
    carried = Propagation(W, G)
    trees = tree_shares(X, sp.csr_array(G > 0), groups)
    here = PredictorFeatures(W, G, Z, LinearPredictor(X, groups, W), carried, trees=trees)
    carried.sums = DeviceSums(W, "cpu")
    there = DeviceFeatures(W, G, Z, DeviceLinear(X, groups, W, "cpu"), carried, trees=trees)
    rows = np.arange(0, len(X), 3)
    ours, theirs = there.candidates(rows), here.candidates(rows)
    marks = [one.matrix(np.ones(len(one.tags)), G.shape[1]).toarray() for one in (ours, theirs)]
    assert (marks[0] != marks[1]).mean() < 0.01  # equal ones are chosen in another order
    np.testing.assert_allclose(there.compute(theirs), here.compute(theirs), atol=2e-4)


@pytest.mark.parametrize("tags", [20, 100])
@pytest.mark.parametrize("with_features", [False, True])
def test_scores_are_the_same(tags, with_features):
    X, W, G = tagged_clouds(tags=tags)
    features = X if with_features else None
    solution = assign_tags(lass.Problem(W, G, 0.5), 1e-4)
    theirs = score_tags(solution, features=features, trees=with_features)
    ours = score_tags(solution, features=features, weights=theirs.weights, trees=with_features, device="cpu")
    assert theirs.weights.uses(TREES) == with_features
    assert differences(ours.scores.values, theirs.scores.values).max() < 0.001
    assert (ours.scores.top_tags == theirs.scores.top_tags).mean() > 0.98
    same = (ours.scores.top_tags == theirs.scores.top_tags).all(axis=1)
    np.testing.assert_allclose(
        ours.scores.contributions[same], theirs.scores.contributions[same], atol=0.3, rtol=0.05
    )
    retrained = score_tags(solution, features=features, trees=with_features, device="cpu")
    found = differences(retrained.scores.values, theirs.scores.values)
    assert np.mean(found < 0.005) > 0.999  # equal candidates may be others
    assert found.max() < 0.02


def test_matrices_are_uploaded_once_for_all_blocks(monkeypatch, collection):
    X, W, G = collection
    solution = assign_tags(lass.Problem(W, G, 0.5), 1e-4)
    weights = score_tags(solution, features=X).weights
    uploaded, blocks = [], []
    csr, block = on_device.Uploads.csr, DeviceFeatures._scored_block
    monkeypatch.setattr(on_device.Uploads, "csr", lambda *parts: uploaded.append(1) or csr(*parts))
    monkeypatch.setattr(DeviceFeatures, "_scored_block", lambda *parts: blocks.append(1) or block(*parts))
    counts = []
    for size in (300_000, 20_000):
        monkeypatch.setattr(on_device, "BLOCK", size)
        del uploaded[:], blocks[:]
        score_tags(solution, features=X, weights=weights, device="cpu")
        counts.append((len(blocks), len(uploaded)))
    assert counts[1][0] > 2 * counts[0][0]
    assert counts[1][1] == counts[0][1]


def test_assignments_of_a_large_problem_are_solved_on_the_device(monkeypatch, collection):
    _, W, G = collection
    monkeypatch.setattr(tag_assignments, "DENSE", 100)
    problem = lass.Problem(W, G, 0.5)
    ours = assign_tags(problem, 1e-4, device="cpu")
    assert "gpu, in sparse form" in ours.method
    assert ours.converged
    monkeypatch.setattr(tag_assignments, "_fits", lambda problem, device: False)
    assert "sweeps" in assign_tags(problem, 1e-3, device="cpu").method
