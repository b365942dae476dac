"""Annotations hidden to see which of them are found again.

Items of one group (packages of one source, for example) may be near copies. What is hidden in one of
them is never left visible in another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.draws import drawn_order, keyed_draws


class Split(NamedTuple):
    """Visible annotations, hidden tags, and the items to evaluate on.

    ``visible`` is signed as the annotations are, ``hidden`` holds ones, both are (N, K); ``rows`` are the
    items with something hidden; ``groups`` numbers the group of each of the N items.
    """

    visible: sp.csr_array
    hidden: sp.csr_array
    rows: NDArray[np.intp]
    groups: NDArray[np.intp]


def group_codes(values: Sequence[object]) -> NDArray[np.intp]:
    """Number the groups; an item whose value is empty or None is a group of its own.

    Examples
    --------
    >>> from lass.learning.predictors.holdout import group_codes
    >>> group_codes(["mail", "", "mail", ""]).tolist()
    [0, 1, 0, 2]
    """
    codes: dict[object, int] = {}
    return np.array(
        [codes.setdefault((n,) if value in ("", None) else str(value), len(codes))
         for n, value in enumerate(values)], np.intp,
    )  # fmt: skip


def scattered(G: sp.csr_array, groups: NDArray[np.intp], share: float, seed: int) -> Split:
    """Hide a share of the tags of every group: all stay tagged, but not completely.

    A tag is hidden in all items of a group or in none. A group keeps one tag and loses one at
    least; those with a single tag lose nothing. ``rows`` are items that keep a tag and lost one.
    """
    item, tag = (G > 0).nonzero()
    pairs, inverse = np.unique(np.stack([groups[item], tag], axis=1), axis=0, return_inverse=True)
    group = pairs[:, 0]
    order = np.lexsort((keyed_draws("scattered", seed, group, pairs[:, 1]), group))
    sizes = np.bincount(group)
    place = np.arange(len(pairs)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    lost = np.clip(np.rint(share * sizes).astype(int), 1, np.maximum(sizes - 1, 0))
    taken = np.zeros(len(pairs), bool)
    taken[order] = place < np.repeat(lost, sizes)
    hidden = _marks(item[taken[inverse]], tag[taken[inverse]], G.shape)
    visible = sp.csr_array(G - G.multiply(hidden))
    visible.eliminate_zeros()
    keeps = np.bincount((visible > 0).nonzero()[0], minlength=G.shape[0]) > 0
    return Split(visible, hidden, np.flatnonzero(keeps & (np.diff(hidden.indptr) > 0)), groups)


def items(G: sp.csr_array, groups: NDArray[np.intp], share: float, seed: int) -> Split:
    """Hide all annotations of a share of the tagged groups: those items look untagged."""
    item, tag = (G > 0).nonzero()
    tagged = np.unique(groups[item])
    count = min(max(1, round(share * len(tagged))), len(tagged) - 1)
    away = np.isin(groups, drawn_order(tagged, "items", seed)[: max(count, 0)])
    hidden = _marks(item[away[item]], tag[away[item]], G.shape)
    return Split(only_rows(G, ~away), hidden, np.flatnonzero(np.diff(hidden.indptr) > 0), groups)


#: ways to hide annotations, by name
SITUATIONS: dict[str, Callable[[sp.csr_array, NDArray[np.intp], float, int], Split]] = {
    "scattered": scattered, "items": items
}  # fmt: skip


def split(G: sp.csr_array, groups: NDArray[np.intp], situation: str, share: float, seed: int) -> Split:
    """Hide annotations in one of :data:`SITUATIONS`; the same seed hides the same.

    One more annotation changes little of it: draws follow from the numbers of groups and tags.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from lass.learning.predictors.holdout import split
    >>> G = sp.csr_array(np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]]))
    >>> parts = split(G, np.array([0, 0, 1]), "scattered", 0.5, seed=0)
    >>> parts.hidden.toarray()  # the first two are of one group and lose the same tag
    array([[1., 0., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    if situation not in SITUATIONS:
        raise ValueError(f"situation must be one of {', '.join(map(repr, SITUATIONS))}; found {situation!r}")
    if not 0.0 < share < 1.0:
        raise ValueError(f"hide must be a share between 0 and 1; found {share!r}")
    result = SITUATIONS[situation](G, groups, share, seed)
    if not len(result.rows):
        raise ValueError(
            f"nothing can be hidden in the situation {situation!r}: it needs "
            + ("an item with two tags" if situation == "scattered" else "tagged items in two groups")
            + ". Tag more, or choose another situation (--situation, situations=)"
        )
    return result


def only_rows(matrix: sp.csr_array, kept: NDArray[np.bool_]) -> sp.csr_array:
    """The matrix with zeros in all other rows."""
    result = sp.csr_array(sp.diags_array(kept.astype(float)) @ matrix)
    result.eliminate_zeros()
    return result


def _marks(item: NDArray[np.intp], tag: NDArray[np.intp], shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((np.ones(len(item)), (item, tag)), shape=shape)
