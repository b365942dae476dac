"""Nearest neighbours on a device: all pairs, block by block."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from lass.graph.laplacians import as_sparse
from lass.graph.search import as_items
from lass.graph.weights import symmetrised, weigh
from lass.solvers.gpu.placement import checked_device, free_bytes, on_host

METRICS = ("euclidean", "cosine")
#: what rounding leaves between duplicates by the cosine
SAME = 1e-14
#: columns whose least product stands for all of them in a first selection
TOGETHER = 64
#: products of one block at most
BLOCK = 2**29
#: bytes that one of them takes: the product and what selecting needs
EACH = 12


def knn_graph(
    X: Any, n_neighbors: int = 10, *, metric: str = "euclidean", device: str | torch.device = "cuda"
) -> sp.csr_array:
    """The graph of :func:`lass.knn_graph` with its defaults, searched for on a device.

    ``metric`` is "euclidean" or "cosine"; by the latter a row of zeros is at distance one from all others.
    Rows are compared in single precision. The nearest candidates are measured in double precision, and
    rows for which these distances prove nothing are searched again in double precision. O(N^2 D) time.

    Examples
    --------
    >>> import lass.solvers.gpu
    >>> lass.solvers.gpu.knn_graph([[0.0], [1.0], [3.0]], n_neighbors=2, device="cpu").toarray().round(2)
    array([[0.  , 0.5 , 0.02],
           [0.5 , 0.  , 0.09],
           [0.02, 0.09, 0.  ]])
    """
    place = checked_device(device)
    if metric not in METRICS:
        raise ValueError(f"metric must be 'euclidean' or 'cosine' on a device; found {metric!r}")
    items = as_items(on_host(X), metric)
    if sp.issparse(items):
        raise ValueError("X must be dense on a device; found a sparse matrix. Use lass.knn_graph")
    size = items.shape[0]
    if not (isinstance(n_neighbors, Integral) and 1 <= n_neighbors < size):
        raise ValueError(
            f"n_neighbors must be at least 1 and less than the number of rows, {size}; found {n_neighbors!r}"
        )
    rows = torch.from_numpy(np.ascontiguousarray(items, dtype=np.float64)).to(place)
    distances, which = _Search(_unit(rows) if metric == "cosine" else rows, int(n_neighbors)).all()
    if metric == "cosine":
        distances = distances.square() / 2.0
        distances[distances < SAME] = 0.0
    values = weigh(distances.cpu().numpy(), "self-tuning", 1.0, 1.0)
    pointers = np.arange(0, values.size + 1, values.shape[1])
    directed = sp.csr_array((values.ravel(), which.cpu().numpy().ravel(), pointers), shape=(size, size))
    return symmetrised(as_sparse(directed, "graph"), "mean")


def _unit(X: torch.Tensor) -> torch.Tensor:
    """Rows of length one; those of zeros get a column of their own, at right angles to all others."""
    lengths = torch.linalg.vector_norm(X, dim=1, keepdim=True)
    empty = (lengths == 0.0).to(X.dtype)
    X = X / (lengths + empty)
    return torch.cat([X, empty], dim=1) if bool(empty.any()) else X


class _Search:
    """Rows around their middle, in both precisions."""

    def __init__(self, X: torch.Tensor, k: int) -> None:
        self.X, self.k = X - X.median(dim=0).values, k
        self.unit = self.X.abs().max().clamp(min=1e-300)
        self.X /= self.unit  # squares of anything finite stay finite
        self.squares = (self.X * self.X).sum(dim=1)
        #: relative error of a squared distance in single precision, at most
        self.rounding = (X.shape[1] + 10) * torch.finfo(torch.float32).eps

    def all(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Distances to the nearest rows and their numbers, nearest first; of equals the first."""
        size = len(self.X)
        free = free_bytes(self.X.device)
        products = BLOCK if free is None else min(BLOCK, free // EACH)
        step = max(1, min(size, products // size))
        half = max(1, step // 2)  # rows at a time in double precision
        distances = torch.empty((size, self.k), dtype=torch.float64, device=self.X.device)
        which = torch.empty((size, self.k), dtype=torch.int64, device=self.X.device)
        double = torch.cat([self.X, self.squares[:, None]], dim=1)
        single = double.float()
        for low in range(0, size, step):
            rows = torch.arange(low, min(size, low + step), device=self.X.device)
            found = self._block(rows, single, self.rounding)
            unproven = found[2].nonzero().ravel()
            for first in range(0, len(unproven), half):
                few = unproven[first : first + half]
                again = self._block(rows[few], double, 0.0)
                found[0][few], found[1][few] = again[0], again[1]
            distances[rows], which[rows] = found[0], found[1]
        return distances * self.unit, which

    def _block(
        self, rows: torch.Tensor, X: torch.Tensor, rounding: float
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Distances, numbers, and which rows may have nearer ones that were passed over.

        The last column of X holds the squares of the rows: one product gives |x|^2 - 2 <q, x>.
        """
        asking = -2.0 * X[rows]
        asking[:, -1] = 1.0
        products = asking @ X.T
        products[torch.arange(len(rows), device=rows.device), rows] = float("inf")
        asked = min(4 * self.k + 10, len(X) - 1)
        rough, near = _least(products, asked)
        near = near.sort(dim=1).values  # of equal distances the first row counts
        exact = (self.X[near] - self.X[rows][:, None, :]).square().sum(dim=2)
        order = exact.sort(dim=1, stable=True)
        chosen_ones = order.indices[:, : self.k]
        furthest = order.values[:, self.k - 1]
        error = rounding * (self.squares[rows] + self.squares.max())
        bound = rough.double().amax(dim=1) + self.squares[rows] - error
        unproven = (furthest > bound) & (asked < len(X) - 1) & (rounding > 0)
        return order.values[:, : self.k].sqrt(), near.gather(1, chosen_ones), unproven


def _least(products: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The least entries of each row and their columns, in no order.

    Those lie in the groups of columns with the least minima, so few columns are selected from.
    """
    rows, columns = products.shape
    groups = columns // TOGETHER
    if groups <= 2 * count:
        return products.topk(count, dim=1, largest=False, sorted=False)
    whole = products[:, : groups * TOGETHER].view(rows, TOGETHER, groups)
    best = whole.amin(dim=1).topk(count, dim=1, largest=False, sorted=False).indices
    inner = groups * torch.arange(TOGETHER, device=products.device)
    named = (best[:, :, None] + inner).view(rows, -1)
    rest = torch.arange(groups * TOGETHER, columns, device=products.device).expand(rows, -1)
    named = torch.cat([named, rest], dim=1)
    least, which = products.gather(1, named).topk(count, dim=1, largest=False, sorted=False)
    return least, named.gather(1, which)
