import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve
from sklearn.linear_model import LogisticRegression

from lass.baselines import harmonic as harmonic_labels
from lass.learning.predictors.holdout import split
from lass.tagging.evaluation.baselines import Task, harmonic, linear, neighbours, popularity
from lass.tagging.evaluation.metrics import compute_metrics


@pytest.fixture
def task(tagged_blobs):
    X, W, G = tagged_blobs
    return Task(W, X, split(G, np.arange(G.shape[0]), "items", 0.5, 0), 0)


def test_nothing_that_is_hidden_is_seen(tagged_blobs):
    """Tags that only differ where they are hidden give the same scores."""
    X, W, G = tagged_blobs
    parts = split(G, np.arange(G.shape[0]), "items", 0.5, 0)
    for baseline in (linear, neighbours, harmonic, popularity):
        one = baseline(Task(W, X, parts, 0))
        other = baseline(Task(W, X, parts._replace(hidden=sp.csr_array(G.shape)), 0))
        np.testing.assert_array_equal(one, other)


def test_popularity_counts_and_votes_are_sums_over_neighbours(task):
    visible = task.split.visible.toarray()
    assert (popularity(task) == visible.sum(axis=0)).all()
    expected = np.array(
        [sum(task.W[n, m] * visible[m] for m in range(len(visible))) for n in task.split.rows[:20]]
    )
    np.testing.assert_allclose(neighbours(task)[:20], expected, rtol=1e-5, atol=1e-5)


def test_without_a_vote_the_popular_tag_wins():
    W = sp.csr_array((4, 4))
    G = sp.csr_array(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]))
    parts = split(G, np.arange(4), "items", 0.5, 0)._replace(visible=sp.csr_array(G * [[1], [1], [1], [0]]))
    assert (np.argmax(neighbours(Task(W, None, parts, 0)), axis=1) == 0).all()


def test_harmonic_is_the_solution_of_its_linear_system(task):
    visible = task.split.visible.toarray()
    labelled = visible.any(axis=1)
    L = sp.csc_array(sp.diags_array(task.W.sum(axis=1)) - task.W)
    Z = visible.copy()
    Z[~labelled] = spsolve(
        L[~labelled][:, ~labelled], sp.csc_array(task.W[~labelled][:, labelled] @ visible[labelled])
    ).toarray()
    expected = (task.W @ Z)[task.split.rows]
    np.testing.assert_allclose(harmonic(task), expected, atol=1e-4)


def test_harmonic_agrees_with_the_baseline_where_every_item_has_one_tag(tagged_blobs):
    _, W, _ = tagged_blobs
    G = sp.csr_array(np.eye(3)[np.arange(W.shape[0]) % 3])
    parts = split(G, np.arange(W.shape[0]), "items", 0.9, 0)
    ours = harmonic(Task(W, None, parts, 0)) / W.sum(axis=1)[parts.rows, None]
    np.testing.assert_allclose(ours, harmonic_labels(W, parts.visible.toarray())[parts.rows], atol=1e-4)


def test_components_without_labels_do_not_stop_harmonic():
    W = sp.csr_array(np.kron(np.eye(3), [[0.0, 1], [1, 0]]))
    G = sp.csr_array(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0]]))
    parts = split(G, np.array([0, 0, 1, 1, 2, 2]), "items", 0.5, 0)
    assert np.isfinite(harmonic(Task(W, None, parts, 0))).all()


def test_the_linear_model_ranks_as_a_converged_one(tagged_blobs):
    X, W, G = tagged_blobs
    found = []
    for seed in range(8):
        task = Task(W, X, split(G, np.arange(G.shape[0]), "items", 0.5, seed), 0)
        labelled = np.flatnonzero(np.diff(task.split.visible.indptr))
        targets = task.split.visible.toarray()[labelled] > 0
        expected = np.stack(
            [LogisticRegression(C=15.0).fit(X[labelled], target).decision_function(X)
             for target in targets.T], axis=1,
        )[task.split.rows]  # fmt: skip
        metrics = [compute_metrics(one, task.split, 2, 0) for one in (linear(task), expected)]
        found.append([[one["f1"], one["average_precision"]] for one in metrics])
    ours, theirs = np.mean(found, axis=0)
    assert ours == pytest.approx(theirs, abs=0.02)


def test_the_linear_model_is_not_evaluated_on_items_it_was_fitted_to(tagged_blobs):
    """A model that had seen an item could learn its hidden tags to be wrong; features here name the item."""
    _, W, G = tagged_blobs
    parts = split(G, np.arange(G.shape[0]), "scattered", 0.5, 0)
    own = linear(Task(W, np.eye(G.shape[0]), parts, 0))
    # for an item that it was not fitted to it has no evidence: one score a tag in each of the three folds
    assert all(len(np.unique(column.round(9))) <= 3 for column in own.T)
