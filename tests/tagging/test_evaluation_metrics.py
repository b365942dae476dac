import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as oracle

from lass.learning.predictors.holdout import Split
from lass.tagging.evaluation.metrics import METRICS, compute_metrics, rank_tags


def problem(seed, items=30, tags=9, *, ties=False):
    """Evaluated items with stated and hidden tags, and scores without (or with many) ties."""
    rng = np.random.default_rng(seed)
    state = rng.choice([0, 1, 2, -1], p=[0.5, 0.2, 0.2, 0.1], size=(items, tags))
    state[:, 0] = 1  # hidden
    state[:, 1] = 0  # and one that is not
    visible = sp.csr_array(np.where(state == 2, 1.0, np.where(state == -1, -1.0, 0.0)))
    hidden = sp.csr_array((state == 1).astype(float))
    scores = rng.integers(3, size=state.shape) / 2.0 if ties else rng.random(state.shape)
    return scores, Split(visible, hidden, np.arange(items), np.arange(items))


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), top=st.integers(1, 12))
def test_metrics_are_those_of_scikit_learn_on_lists_made_by_hand(seed, top):
    scores, split = problem(seed)
    stated, truth = split.visible.toarray() != 0, split.hidden.toarray().astype(int)
    chosen = np.zeros_like(truth)
    for n in range(len(truth)):  # a list item by item, as a person would make it
        offered = [k for k in range(truth.shape[1]) if not stated[n, k]]
        chosen[n, sorted(offered, key=lambda k: -scores[n, k])[:top]] = 1
    named = np.flatnonzero(truth.any(axis=0))
    unstated = np.where(stated, -1.0, scores)
    expected = {
        "precision": oracle.precision_score(truth, chosen, average="samples", zero_division=0),
        "recall": oracle.recall_score(truth, chosen, average="samples", zero_division=0),
        "f1": oracle.f1_score(truth, chosen, average="samples", zero_division=0),
        "micro_f1": oracle.f1_score(truth, chosen, average="micro", zero_division=0),
        "macro_f1": np.mean([oracle.f1_score(truth[:, k], chosen[:, k], zero_division=0) for k in named]),
        "average_precision": oracle.label_ranking_average_precision_score(truth, unstated),
        "ndcg": oracle.ndcg_score(truth, unstated),
        "coverage": np.mean([(truth[:, k] & chosen[:, k]).any() for k in named]),
        "reciprocal_rank": np.mean(
            [max(1.0 / (1 + (unstated[n] > unstated[n, k]).sum()) for k in np.flatnonzero(truth[n]))
             for n in range(len(truth))]
        ),
    }  # fmt: skip
    found = compute_metrics(scores, split, top, seed=0)
    assert set(found) == set(METRICS)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


def test_a_perfect_and_a_wrong_list():
    _, split = problem(1)
    truth = split.hidden.toarray()
    best, worst = compute_metrics(truth, split, 5, 0), compute_metrics(-truth, split, 1, 0)
    assert best["recall"] > 0.9
    for name in ("reciprocal_rank", "average_precision", "ndcg", "coverage"):
        assert best[name] == pytest.approx(1.0)
    assert worst["precision"] == worst["f1"] == worst["coverage"] == 0.0


def test_stated_tags_are_never_in_the_lists():
    scores, split = problem(2)
    scores[split.visible.toarray() != 0] = 100.0
    rank = rank_tags(scores, split.visible, np.random.default_rng(0))
    stated = split.visible.toarray() != 0
    free = (~stated).sum(axis=1)[:, None]
    assert (rank[~stated] < np.broadcast_to(free, rank.shape)[~stated]).all()
    assert (np.sort(rank, axis=1) == np.arange(rank.shape[1])).all()


def test_what_a_method_never_suggests_still_comes_before_what_is_stated():
    stated = sp.csr_array(np.tile([1.0, 0.0, 0.0], (50, 1)))
    scores = np.tile([9.0, -np.inf, -np.inf], (50, 1))
    assert (rank_tags(scores, stated, np.random.default_rng(0))[:, 0] == 2).all()
    assert np.isposinf(scores[:, 1:] * -1).all()  # and the scores are left as they were


def test_ties_are_broken_at_random_and_not_by_the_order_of_the_columns():
    scores, split = problem(3, items=4000, ties=True)
    found = compute_metrics(np.zeros_like(scores), split, 1, 0)["precision"]
    turned = split._replace(
        visible=sp.csr_array(split.visible[:, ::-1]), hidden=sp.csr_array(split.hidden[:, ::-1])
    )
    again = compute_metrics(np.zeros_like(scores), turned, 1, 0)["precision"]
    stated, truth = split.visible.toarray() != 0, split.hidden.toarray()
    expected = (truth.sum(axis=1) / (~stated).sum(axis=1)).mean()
    assert found == pytest.approx(expected, abs=0.03)
    assert again == pytest.approx(expected, abs=0.03)
    assert compute_metrics(scores, split, 1, 0) == compute_metrics(scores, split, 1, 0)
