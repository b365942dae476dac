"""Whether a graph can carry information from labelled items to unlabelled ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_weights, components


@dataclass(frozen=True)
class Health:
    """What :func:`health` found; ``print`` it to read it."""

    n_items: int
    n_edges: int
    n_components: int
    #: share of the items in the largest component
    largest_component: float
    n_isolated: int
    #: least, lower quartile, median, upper quartile and largest degree (sum of weights)
    degrees: tuple[float, float, float, float, float]
    #: largest number of edges of one item
    max_edges: int
    #: components without a labelled item, and the items in them; None if labelled items are not given
    n_unlabelled_components: int | None = None
    n_unlabelled_items: int | None = None
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        least, _, median, _, largest = self.degrees
        lines = [
            f"{_count(self.n_items, 'item')}, {_count(self.n_edges, 'edge')}",
            f"{_count(self.n_components, 'component')}, "
            f"the largest with {self.largest_component:.1%} of the items",
            f"{_count(self.n_isolated, 'isolated item')}",
            f"degrees {least:.3g} to {largest:.3g}, median {median:.3g}; "
            f"at most {_count(self.max_edges, 'edge')} of one item",
        ]
        if self.n_unlabelled_components is not None and self.n_unlabelled_items is not None:
            items, parts = self.n_unlabelled_items, self.n_unlabelled_components
            lines.append(f"{_count(items, 'item')} in {_count(parts, 'component')} without a labelled item")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


def health(W: Any, labelled: Any = None) -> Health:
    """Components, degrees and weights of a graph, with warnings; O(nnz).

    Parameters
    ----------
    W : array or sparse matrix of shape (N, N)
        Symmetric, >= 0.
    labelled : array of N bools, optional
        Which items have labels.

    Returns
    -------
    Health
        Its ``warnings`` are sentences: why labels will not reach every item.

    Examples
    --------
    >>> import lass
    >>> W = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    >>> print(lass.graph.health(W, labelled=[True, False, False, False]))
    4 items, 2 edges
    2 components, the largest with 50.0% of the items
    0 isolated items
    degrees 1 to 1, median 1; at most 1 edge of one item
    2 items in 1 component without a labelled item
    warning: the graph falls into 2 components of several items, the largest with 50.0% of all: ...
    warning: 2 items in 1 component have no labelled item: ...
    """
    W = as_weights(W)
    size = W.shape[0]
    count, member = components(W)
    sizes = np.bincount(member, minlength=count)
    edges = np.diff(W.indptr)
    degrees = np.quantile(np.asarray(W.sum(axis=1)).ravel(), [0, 0.25, 0.5, 0.75, 1])
    isolated = int((edges == 0).sum())
    largest = sizes.max() / size
    warnings = _warnings(W, count, largest, edges, isolated)
    parts = items = None
    if labelled is not None:
        mask, unlabelled = np.asarray(labelled), np.ones(count, bool)
        if mask.shape != (size,) or mask.dtype != bool:
            raise ValueError(
                f"labelled must be {size} bools, one an item; found {mask.dtype} of shape {mask.shape}"
            )
        unlabelled[member[mask]] = False
        parts, items = int(unlabelled.sum()), int(sizes[unlabelled].sum())
        if parts:
            warnings.append(
                f"{_count(items, 'item')} in {_count(parts, 'component')} have no labelled item: "
                "they get the prior. Label one item in each, or ask for more neighbours"
            )
    return Health(
        size, W.nnz // 2, count, float(largest), isolated, tuple(degrees.tolist()), int(edges.max()),
        parts, items, warnings,
    )  # fmt: skip


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _warnings(W: sp.csr_array, count: int, largest: float, edges: NDArray[Any], isolated: int) -> list[str]:
    """Parts that information cannot pass between, hubs, and weights that have all but vanished."""
    found = []
    if isolated:
        found.append(
            f"{_count(isolated, 'item')} without any edge: nothing is passed on there. Drop or connect them"
        )
    whole = count - isolated
    if whole > 1 and (largest < 0.9 or whole > W.shape[0] / 100):
        found.append(
            f"the graph falls into {whole:,} components of several items, the largest with "
            f"{largest:.1%} of all: nothing passes between them. More edges would join them; in a graph of "
            "neighbours, more neighbours"
        )
    if not W.nnz:
        return found
    hub, typical = int(edges.argmax()), float(np.median(edges[edges > 0]))
    if edges[hub] > max(50 * typical, 100):
        found.append(
            f"one item (row {hub}) has {edges[hub]:,} edges, where {typical:.0f} are usual: unlike items may "
            "be joined. In a graph of neighbours metric='cosine' or symmetric='mutual' prevents that"
        )
    top, middle = float(W.data.max()), float(np.median(W.data))
    if top < 1e-8 or middle < 1e-8 * top:
        found.append(
            f"weights have all but vanished: the largest is {top:.1e}, the median {middle:.1e}. "
            "Use weights='self-tuning' or a larger bandwidth"
        )
    return found
