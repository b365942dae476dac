"""Metrics of predicted tags against hidden ones, from one ranked list of tags an item.

Only tags without a visible annotation are in the lists. Tags with the same score are ordered at random, by
the same seed for every method, so that no method gains from the order of the columns. :func:`compute_metrics`
gives all of :data:`METRICS` for a split of :mod:`lass.learning.predictors.holdout`; the functions it is
made of take ranks and ones for the hidden tags, and serve any other comparison.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.holdout import Split
from lass.model.quadratic_program import Array

#: name -> description, in the order of the table
METRICS = {
    "precision": "share of the suggestions that were hidden tags, mean over items",
    "recall": "share of an item's hidden tags among its suggestions, mean over items",
    "f1": "harmonic mean of the two for each item, mean over items",
    "reciprocal_rank": "one over the rank of the first hidden tag, mean over items",
    "average_precision": "label ranking average precision of the whole list",
    "ndcg": "normalised discounted cumulative gain of the whole list",
    "micro_f1": "F1 of all suggestions taken together",
    "macro_f1": "F1 of each tag that was hidden, mean over tags",
    "coverage": "share of the hidden tags that are suggested rightly to an item at least",
}


def rank_tags(scores: Array, stated: sp.csr_array, generator: np.random.Generator) -> NDArray[np.intp]:
    """The rank of every tag in the list of its item, from 0; stated tags come last.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from lass.tagging.evaluation.metrics import rank_tags
    >>> stated = sp.csr_array(np.array([[0, 1, 0]]))
    >>> rank_tags(np.array([[0.2, 0.9, 0.4]]), stated, np.random.default_rng(0))
    array([[1, 2, 0]])
    """
    # a score may be -inf; stated tags come after even that
    scores = np.maximum(scores, np.finfo(float).min)
    rows, columns = stated.nonzero()
    scores[rows, columns] = -np.inf
    # shuffled, then sorted stably: half the time of sorting by two keys
    shuffle = np.argsort(generator.random(scores.shape, dtype=np.float32), axis=1)
    by_score = np.argsort(-np.take_along_axis(scores, shuffle, 1), axis=1, kind="stable")
    order = np.take_along_axis(shuffle, by_score, 1)
    result = np.empty(order.shape, np.intp)
    np.put_along_axis(result, order, np.arange(order.shape[1])[None, :], axis=1)
    return result


def compute_metrics(scores: Array, split: Split, top: int, seed: int) -> dict[str, float]:
    """All :data:`METRICS` for scores of the evaluated items, (len(split.rows), K), at ``top`` suggestions."""
    from sklearn.metrics import ndcg_score

    stated = sp.csr_array(split.visible[split.rows])
    truth = split.hidden[split.rows].toarray().astype(np.int8)
    rank = rank_tags(scores, stated, np.random.default_rng(seed))
    chosen = rank < np.minimum(top, truth.shape[1] - np.diff(stated.indptr))[:, None]
    return {
        **precision_recall_f1(truth, chosen),
        "reciprocal_rank": reciprocal_rank(truth, rank),
        "average_precision": average_precision(truth, rank),
        "ndcg": float(ndcg_score(truth, -rank.astype(float), ignore_ties=True)),
        "coverage": coverage(truth, chosen),
    }


#: ranges of scores that are counted by themselves
RANGES = ((0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))


def count_right(scores: Array, split: Split) -> Array:
    """For each of :data:`RANGES` how many tags that were not visible, the sum of their scores, and the right.

    Of shape (ranges, 3); scores are probabilities of the tags of the evaluated items.
    """
    truth = split.hidden[split.rows].toarray() > 0
    unseen = split.visible[split.rows].toarray() == 0
    found = np.zeros((len(RANGES), 3))
    for at, (low, high) in enumerate(RANGES):
        within = unseen & (scores >= low) & (scores < high)
        found[at] = np.count_nonzero(within), scores[within].sum(), np.count_nonzero(truth & within)
    return found


def precision_recall_f1(truth: NDArray[np.int8], chosen: NDArray[np.bool_]) -> dict[str, float]:
    """Precision, recall and F1 over items, and micro and macro F1, by scikit-learn.

    ``truth`` and ``chosen`` are (items, tags): ones for hidden tags, and whether a tag is suggested.
    """
    from sklearn.metrics import precision_recall_fscore_support

    both = sp.csr_matrix(truth), sp.csr_matrix(chosen.astype(np.int8))
    score = partial(precision_recall_fscore_support, *both, zero_division=0.0)
    precision, recall, f1, _ = score(average="samples")
    micro_f1 = score(average="micro")[2]
    macro_f1 = score(average="macro", labels=np.flatnonzero(truth.any(axis=0)))[2]
    return {
        "precision": float(precision), "recall": float(recall), "f1": float(f1),
        "micro_f1": float(micro_f1), "macro_f1": float(macro_f1),
    }  # fmt: skip


def average_precision(truth: NDArray[np.int8], rank: NDArray[np.intp]) -> float:
    """Label ranking average precision: for each hidden tag the share of hidden ones from the top down to it.

    What scikit-learn's ``label_ranking_average_precision_score`` gives, for all items at once
    instead of one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.tagging.evaluation.metrics import average_precision
    >>> average_precision(np.array([[0, 1, 1]]), np.array([[0, 2, 1]]))
    0.5833333333333333
    """
    return float(average_precisions(truth, rank).mean())


def average_precisions(truth: NDArray[np.int8], rank: NDArray[np.intp]) -> Array:
    """That of each item; every item has a hidden tag."""
    item, tag = truth.nonzero()
    ranks = rank[item, tag]
    order = np.lexsort((ranks, item))
    item, ranks = item[order], ranks[order]
    counts = np.bincount(item, minlength=len(truth))
    before = np.arange(len(item)) - np.repeat(np.cumsum(counts) - counts, counts)
    shares = np.bincount(item, (before + 1.0) / (ranks + 1.0), minlength=len(truth))
    return np.asarray(shares / counts)


def reciprocal_rank(truth: NDArray[np.int8], rank: NDArray[np.intp]) -> float:
    """Mean over items of ``1 / (1 + rank)`` of the first hidden tag, ranks from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.tagging.evaluation.metrics import reciprocal_rank
    >>> reciprocal_rank(np.array([[0, 1, 1], [1, 0, 0]]), np.array([[0, 2, 1], [0, 1, 2]]))
    0.75
    """
    first = np.where(truth > 0, rank, truth.shape[1]).min(axis=1)
    return float((1.0 / (1.0 + first)).mean())


def coverage(truth: NDArray[np.int8], chosen: NDArray[np.bool_]) -> float:
    """Share of the hidden tags that are suggested rightly to one item at least.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.tagging.evaluation.metrics import coverage
    >>> coverage(np.array([[1, 1, 0], [1, 0, 0]]), np.array([[True, False, True], [False, True, False]]))
    0.5
    """
    back = np.asarray(((truth > 0) & chosen).any(axis=0))
    return float(back[truth.any(axis=0)].mean())
