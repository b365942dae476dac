"""Decision trees of tags on dense features; no item is scored by a tree that was grown with its tags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.draws import drawn_folds, drawn_order
from lass.learning.predictors.propagation import ALL_TAGS, WALKED

Rows = NDArray[np.intp]

#: trees, at least and at most (with 240 they take a third of a small fit), and every how many of them one is
#: grown without an item
MIN_TREES, TREES, FOLDS = 80, 200, 4
#: items that all trees together are grown with, if these are no fewer than so many trees
GROWN = 100_000
#: tagged items that a tree is grown with at most, and the columns that it tries for each branch
ROWS, COLUMNS = 2000, 40
#: share of the columns that are tried where there are fewer
SHARE = 0.3
#: items of a leaf, at least
LEAF = 2
#: numbers that trees are grown with, at most: sums of tags with random signs where there are more tags
TARGETS = 16
#: tagged groups from which on trees are a predictor, and a vote of the mixture of few tags; items at most
MIN_TAGGED, MIN_FEW, MAX_ITEMS = 40, 10, 20_000
#: share of the features that is not zero, at least: terms of texts have far less
DENSE = 0.1


def are_dense(features: Any) -> bool:
    """Whether features are numbers that say something of every item, unlike terms of texts.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors.trees import are_dense
    >>> are_dense(np.ones((3, 2))), are_dense(np.eye(30)), are_dense(sp.csr_array(np.ones((3, 2))))
    (True, False, False)
    """
    return not sp.issparse(features) and bool(np.count_nonzero(features) >= DENSE * features.size > 0)


def tree_shares(
    features: Any, T: sp.csr_array, groups: NDArray[np.intp], seed: int = 0,
    pause: Callable[[], object] = int, together: NDArray[np.float32] | None = None,
) -> sp.csr_array | None:  # fmt: skip
    """The share of each tag among the items in the same leaves, (N, K), as extremely randomised trees say it.

    Every tree is grown with the tags of three quarters of the tagged groups (Geurts, Ernst and Wehenkel
    2006). A tagged item gets the mean of the trees that were grown without its group, the others that of all
    trees. Of more than 64 tags the likeliest 48 of an item are kept. None where too few items are tagged for
    trees, or there are too many items. ``together`` are the :func:`tree_affinities` to the tagged items, if
    they are known: nothing is grown then. O(N) for the items, and no more than 2,000 of them grow a tree.

    Examples
    --------
    Neither number alone tells the tag, and no linear model does:

    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors.trees import tree_shares
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> alike = X[:, 0] * X[:, 1] > 0
    >>> T = sp.csr_array(np.column_stack([alike, ~alike]).astype(float))
    >>> found = tree_shares(X, T, np.arange(400)).toarray()
    >>> bool(np.mean((found[:, 0] > found[:, 1]) == alike) > 0.9)
    True
    """
    tagged = np.flatnonzero(np.diff(T.indptr))
    if len(np.unique(groups[tagged])) < MIN_TAGGED:
        return None
    known = sp.csr_array(T[tagged], dtype=float)
    if together is None:
        grown = _grow(features, tagged, known, groups[tagged], seed, pause)
        if grown is None:
            return None
        votes, member = grown
        found = sp.csr_array(votes @ (member @ known)).astype(np.float32)
    else:
        found = sp.csr_array(together @ known, dtype=np.float32)
    found.sort_indices()
    return _likeliest(found) if known.shape[1] > ALL_TAGS else found


def tree_affinities(
    features: Any, T: NDArray[np.float64], items: NDArray[np.intp], groups: NDArray[np.intp], seed: int = 0
) -> NDArray[np.float32] | None:
    """How often trees put each item together with each of a few annotated ones, (N, len(items)).

    ``T`` are the tags of these, ``groups`` their groups. By trees as in :func:`tree_shares`; None where there
    are too few groups.
    """
    if len(np.unique(groups)) < MIN_FEW:
        return None
    grown = _grow(features, items, sp.csr_array(T), groups, seed)
    if grown is None:
        return None
    votes, member = grown
    return np.asarray((votes @ member).toarray(), np.float32)


def _grow(
    features: Any, tagged: NDArray[np.intp], known: sp.csr_array, groups: NDArray[np.intp], seed: int,
    pause: Callable[[], object] = int,
) -> tuple[sp.csr_array, sp.csr_array] | None:  # fmt: skip
    """The leaves of each item in the trees that may score it, (N, leaves), and the items that grew each leaf.

    Rows of both sum to one; of the second, (leaves, tagged).
    """
    rows = np.ascontiguousarray(features, np.float32)
    if len(rows) > MAX_ITEMS or not np.isfinite(rows).all():
        return None
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    targets = _targets(known)
    columns = max(1, min(COLUMNS, round(SHARE * rows.shape[1])))
    size = min(ROWS, len(tagged) * (FOLDS - 1) // FOLDS)
    trees = max(MIN_TREES, min(TREES, GROWN // max(size, 1))) // FOLDS * FOLDS
    leaves, grown = np.empty((trees, len(rows)), np.int64), np.zeros((trees, len(tagged)), bool)
    count = 1  # numbers of leaves, from one on
    for tree in range(trees):
        pause()
        if tree % FOLDS == 0:
            fold = drawn_folds(groups, FOLDS, "grown without", seed, tree)
        out = fold == tree % FOLDS
        inside = np.flatnonzero(~out)
        if len(inside) > ROWS:
            chosen = drawn_order(tagged[inside], "grown with", seed, tree)[:ROWS]
            inside = np.searchsorted(tagged, np.sort(chosen))
        generator = np.random.default_rng([seed, tree])
        model = ExtraTreeRegressor(
            max_features=columns, min_samples_leaf=LEAF, random_state=int(generator.integers(2**31))
        )
        with config_context(skip_parameter_validation=True):  # which takes as long as a small tree
            model.fit(rows[tagged[inside]], targets(inside, generator), check_input=False)
        leaves[tree] = model.tree_.apply(rows) + count
        leaves[tree, tagged[~out]] *= -1  # not to be scored by this one
        grown[tree, inside] = True
        count += model.tree_.node_count
    which, place = np.nonzero(grown)
    leaf = np.abs(leaves[which, tagged[place]])
    together = np.bincount(leaf, minlength=count).astype(float)
    member = sp.csr_array((1.0 / together[leaf], (leaf, place)), shape=(count, len(tagged)))
    item, scoring = np.nonzero(leaves.T > 0)
    each = np.bincount(item, minlength=len(rows))
    votes = sp.csr_array((1.0 / each[item], (item, leaves[scoring, item])), shape=(len(rows), count))
    return votes, member


def _targets(known: sp.csr_array) -> Callable[[Rows, np.random.Generator], NDArray[np.float64]]:
    """The tags of some rows, or sums of them with random signs where there are many.

    Joly, Geurts and Wehenkel 2014.
    """
    tags = known.shape[1]
    if tags <= TARGETS:
        numbers = known.toarray()
        return lambda rows, _: np.ascontiguousarray(numbers[rows])

    def sums(rows: Rows, generator: np.random.Generator) -> NDArray[np.float64]:
        signs = generator.choice(np.array([-1.0, 1.0]), size=(tags, TARGETS))
        return np.ascontiguousarray(sp.csr_array(known[rows]) @ signs)

    return sums


def _likeliest(shares: sp.csr_array) -> sp.csr_array:
    """The largest shares of each row."""
    row = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
    order = np.lexsort((shares.indices, -shares.data, row))
    kept = np.zeros(len(row), bool)
    kept[order] = np.arange(len(row)) - shares.indptr[row[order]] < WALKED
    return sp.csr_array((shares.data[kept], (row[kept], shares.indices[kept])), shape=shares.shape)
