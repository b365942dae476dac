"""Whether a graph can carry information from the items with a word to those without."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacian import as_weights, components


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
    #: most ties of one item
    most_ties: int
    #: components without an informed item, and the items in them; None if nobody said who is informed
    n_uninformed_components: int | None = None
    n_uninformed_items: int | None = None
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        least, _, median, _, largest = self.degrees
        lines = [
            f"{_count(self.n_items, 'item')}, {_count(self.n_edges, 'tie')}",
            f"{_count(self.n_components, 'component')}, "
            f"the largest with {self.largest_component:.1%} of the items",
            f"{_count(self.n_isolated, 'isolated item')}",
            f"degrees {least:.3g} to {largest:.3g}, median {median:.3g}; "
            f"at most {_count(self.most_ties, 'tie')} of one item",
        ]
        if self.n_uninformed_components is not None and self.n_uninformed_items is not None:
            items, parts = self.n_uninformed_items, self.n_uninformed_components
            lines.append(f"{_count(items, 'item')} in {_count(parts, 'component')} without an informed item")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


def health(W: Any, informed: Any = None) -> Health:
    """Look at a graph before relying on it; O(nnz).

    Parameters
    ----------
    W : array or sparse matrix of shape (N, N)
        Symmetric, >= 0.
    informed : array of N bools, optional
        Which items have an expert word.

    Returns
    -------
    Health
        Its ``warnings`` say in words why information will not get everywhere.

    Examples
    --------
    >>> import lass
    >>> W = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    >>> print(lass.graph.health(W, informed=[True, False, False, False]))
    4 items, 2 ties
    2 components, the largest with 50.0% of the items
    0 isolated items
    degrees 1 to 1, median 1; at most 1 tie of one item
    2 items in 1 component without an informed item
    warning: the graph falls into 2 components of several items, the largest with 50.0% of all: ...
    warning: 2 items in 1 component have no informed item to learn from: ...
    """
    W = as_weights(W)
    size = W.shape[0]
    count, member = components(W)
    sizes = np.bincount(member, minlength=count)
    ties = np.diff(W.indptr)
    degrees = np.quantile(np.asarray(W.sum(axis=1)).ravel(), [0, 0.25, 0.5, 0.75, 1])
    isolated = int((ties == 0).sum())
    largest = sizes.max() / size
    warnings = [*_torn(size, count, largest, isolated), *_uneven(W, ties)]
    dark = dark_items = None
    if informed is not None:
        lit = np.zeros(count, bool)
        lit[member[_mask(informed, size)]] = True
        dark, dark_items = int((~lit).sum()), int(sizes[~lit].sum())
        if dark:
            warnings.append(
                f"{_count(dark_items, 'item')} in {_count(dark, 'component')} have no informed item to learn "
                "from: they get the prior. Inform one item in each, or ask for more neighbours"
            )
    return Health(
        size, W.nnz // 2, count, float(largest), isolated, tuple(degrees.tolist()), int(ties.max()),
        dark, dark_items, warnings,
    )  # fmt: skip


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _mask(informed: Any, size: int) -> NDArray[np.bool_]:
    mask = np.asarray(informed)
    if mask.shape != (size,) or mask.dtype != bool:
        raise ValueError(
            f"informed must be {size} bools, one an item; found {mask.dtype} of shape {mask.shape}"
        )
    return mask


def _torn(size: int, count: int, largest: float, isolated: int) -> list[str]:
    """Warnings about parts that information cannot pass between."""
    found = []
    if isolated:
        found.append(
            f"{_count(isolated, 'item')} without any tie: nothing is passed on there. Drop or tie them"
        )
    whole = count - isolated
    if whole > 1 and (largest < 0.9 or whole > size / 100):
        found.append(
            f"the graph falls into {whole:,} components of several items, the largest with "
            f"{largest:.1%} of all: nothing passes between them. More neighbours would join them"
        )
    return found


def _uneven(W: sp.csr_array, ties: NDArray[Any]) -> list[str]:
    """Warnings about hubs and about weights that have all but vanished."""
    if not W.nnz:
        return []
    found = []
    hub, typical = int(ties.argmax()), float(np.median(ties[ties > 0]))
    if ties[hub] > max(50 * typical, 100):
        found.append(
            f"item {hub} has {ties[hub]:,} ties, where {typical:.0f} are usual: unlike items meet there. "
            "Try metric='cosine' or symmetric='mutual'"
        )
    top, middle = float(W.data.max()), float(np.median(W.data))
    if top < 1e-8 or middle < 1e-8 * top:
        found.append(
            f"weights have all but vanished: the largest is {top:.1e}, the median {middle:.1e}. "
            "Use weights='self-tuning' or a larger bandwidth"
        )
    return found
