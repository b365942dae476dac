"""New items: their assignments from neighbours whose assignments are known.

With everything else held fixed, the best row for an item with weights w and
affinities g is ``z = Proj(zbar + gamma g)``, where ``zbar = Z'w / (1'w)`` is the mean
of its neighbours, ``gamma = 1 / (2 lam 1'w)``, and Proj is the projection onto the
simplex. Ridge and normalisation belong to the graph of the known items and
play no part here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.graph.laplacians import as_sparse, well_formed
from lass.kernels.threads import kernels, over_rows
from lass.model.checks import number, numbers
from lass.model.facets import WITHOUT_FACETS, Facets
from lass.model.quadratic_program import Array
from lass.newitems.paths import FacetPath, Path, follow
from lass.solvers.assignments import is_sparse
from lass.solvers.facets import FacetAssignments, FacetSolution
from lass.solvers.solution import Solution
from lass.solvers.sparse import SparseAssignments, mapped


def assign(
    W_new: Any,
    Z: Any,
    G_new: Any = None,
    lam: float = 1.0,
    *,
    shift: ArrayLike | None = None,
    facets: ArrayLike | None = None,
    none: bool = False,
) -> Any:
    """Assign new items, each by itself: the out-of-sample map.

    Each row is the projection of ``zbar + g / (2 lam d) + shift`` onto the simplex:
    zbar the weighted mean of the neighbours' assignments, d the sum of the weights.

    * ``lam = inf``, or an item without affinities: zbar.
    * ``lam = 0``, or an item without neighbours: all to its largest affinity, ties
      shared equally. If all its affinities are equal too: zbar,
      or the even assignment without neighbours.

    Parameters
    ----------
    W_new : array or sparse matrix of shape (M, N)
        Weights >= 0 of the new items with the N known ones. CSR of float64 is
        taken as it is and checked on the way; anything else is converted.
    Z : array of shape (N, K), SparseAssignments, Solution or FacetSolution
        Assignments of the known items.
    G_new : array or sparse matrix of shape (M, K), optional
        Affinities of the new items. After a solve with a prior, the multipliers
        ``solution.shift`` can be added to every row.
    lam : float
        Weight of the crowd against the expert, from 0 to infinity.
    shift : array of shape (K,), optional
        Added before the projection: the slide that was chosen for the known
        items, ``Proj(Z + 1 p')``. It does not count where affinities alone decide.
    facets : array of shape (K,), optional
        The facet of each category, as in :func:`lass.solve`: each facet is assigned by itself. A
        FacetSolution knows its own.
    none : bool
        With facets: each has a category "none of these", which has what its categories leave in Z.

    Returns
    -------
    array of shape (M, K), or SparseAssignments (with facets: FacetAssignments) where Z is stored sparsely
        Rows >= 0 that sum to one. O(nnz(W_new) K), threaded, no further memory; in sparse form,
        O(what the neighbours store).

    Examples
    --------
    >>> import lass
    >>> from lass.newitems.out_of_sample import assign
    >>> assign([[1.0, 1.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]])
    array([[0.5  , 0.5  ],
           [0.125, 0.875]])
    """
    if (parts := _by_facet(Z, facets, none)) is not None:
        return _assign_facets(W_new, *parts, G_new, lam, shift)
    Z = _known(Z)
    lam = number(lam, "lam", infinite=True)
    if is_sparse(Z):
        return _assign_sparse(W_new, Z, G_new, lam, shift)
    as_it_is = sp.issparse(W_new) and W_new.format == "csr" and W_new.dtype == np.float64 and W_new.ndim == 2
    if as_it_is and not _has_its_rows(W_new):
        well_formed(W_new, "W_new")  # says what is wrong
    weights = W_new if as_it_is else as_sparse(W_new, "W_new")
    M, K = weights.shape[0], Z.shape[1]
    out = _affinities(G_new, (M, K))
    _check_shapes(weights, len(Z), out, K)
    p = _slide(shift, K)
    half = math.inf if lam == 0 else 0.5 / lam
    work, kernel = (weights.nnz + M) * K, kernels("out_of_sample").assign
    odd = over_rows(kernel, M, work, *_arrays(weights, len(Z)), Z, half, np.ascontiguousarray(p), out)
    if any(odd):
        _raise_error(weights, Z, G_new, *odd)
    return out


def _by_facet(Z: Any, facets: Any, none: bool) -> tuple[Facets, Sequence[Any]] | None:
    """Facets and the assignments within each, where there are any."""
    if isinstance(Z, FacetSolution | FacetAssignments):
        if facets is not None or none:
            raise ValueError("facets and none are known from Z; leave them out")
        parts = [part.Z for part in Z.parts] if isinstance(Z, FacetSolution) else Z.parts
        return Z.facets, parts
    if facets is None:
        if none:
            raise ValueError(WITHOUT_FACETS)
        return None
    given = _known(Z)
    if is_sparse(given):
        raise ValueError(
            "facets do not go with sparse assignments of one problem; pass a FacetSolution or Z.to_dense()"
        )
    chosen = Facets.of(facets, given.shape[1], none)
    return chosen, chosen.rows(given)


def _assign_facets(
    W_new: Any, facets: Facets, parts: Sequence[Any], G_new: Any, lam: float, shift: Any
) -> Array | FacetAssignments:
    """New items, each facet by itself."""
    weights = as_sparse(W_new, "W_new")
    M, K = weights.shape[0], facets.K
    G = sp.csr_array((M, K)) if G_new is None else as_sparse(G_new, "G_new")
    _check_shapes(weights, len(parts[0]), G, K)
    slides: Sequence[Array | None] = [None] * len(parts)
    if shift is not None:
        slides = facets.vectors(_slide(shift, K))
    found = [
        assign(weights, Z, g, lam, shift=p)
        for Z, g, p in zip(parts, facets.affinities(G), slides, strict=True)
    ]
    if any(is_sparse(part) for part in found):
        return FacetAssignments(facets, found)
    return facets.joined(found)


def _slide(shift: Any, K: int) -> Array:
    """What is added before the projection, checked."""
    p = np.zeros(K) if shift is None else numbers(shift, "shift")
    if p.shape != (K,) or not np.isfinite(p).all():
        raise ValueError(f"shift must be {K} finite numbers, one a category; found shape {p.shape}: {p!r}")
    return p


def _assign_sparse(W_new: Any, Z: SparseAssignments, G_new: Any, lam: float, shift: Any) -> SparseAssignments:
    """New items whose neighbours are stored sparsely."""
    if shift is not None:
        raise ValueError("shift does not go with sparse assignments; leave it out, or pass Z.to_dense()")
    weights, K = as_sparse(W_new, "W_new"), Z.shape[1]
    affinities = sp.csr_array((weights.shape[0], K)) if G_new is None else as_sparse(G_new, "G_new")
    _check_shapes(weights, len(Z), affinities, K)
    if weights.nnz and weights.data.min() < 0:
        raise ValueError(f"W_new must hold weights >= 0; found {weights.data.min():g}. Drop it")
    return mapped(weights, Z, affinities, lam)


class NewItem:
    """One new item, for "what if": the mean of its neighbours is computed once, affinities can change.

    Parameters
    ----------
    w : array or sparse matrix of shape (N,) or (1, N)
        Weights >= 0 with the known items.
    Z : array of shape (N, K), SparseAssignments or Solution
        Their assignments; not used again.

    Attributes
    ----------
    w : csr_array of shape (1, N)
        The weights.
    zbar : array of shape (K,)
        The weighted mean of the neighbours (the even assignment without any).
    degree : float
        The sum of the weights.

    Examples
    --------
    >>> from lass.newitems.out_of_sample import NewItem
    >>> item = NewItem([1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]])
    >>> item.zbar
    array([0.5, 0.5])
    >>> item.at([1.0, 0.0], lam=1.0), item.at([0.0, 1.0], lam=0.25)
    (array([0.625, 0.375]), array([0., 1.]))
    """

    def __init__(self, w: Any, Z: Any) -> None:
        well_formed(w, "w")
        row = as_sparse(w.reshape(1, -1) if sp.issparse(w) else np.atleast_2d(numbers(w, "w")), "w")
        if row.shape[0] != 1:
            raise ValueError(f"w must be the weights of one item; found shape {row.shape}. See assign()")
        self.w = row
        self.zbar: Array = assign(row, Z, lam=math.inf)[0]
        self.degree = float(row.sum())

    def at(self, g: Any = None, lam: float = 1.0, *, shift: ArrayLike | None = None) -> Array:
        """The assignment for affinities ``g`` of shape (K,), by the rules of :func:`assign`; O(K)."""
        # all neighbours are as good as a single one with their mean and all their weight
        crowd = sp.csr_array([[self.degree]])
        affinities = None if g is None else self.affinities(g)[None]
        return assign(crowd, self.zbar[None], affinities, lam, shift=shift)[0]

    def path(self, g: Any) -> Path:
        """The assignments for affinities ``g`` at every lam; see :func:`path`."""
        affinities = self.affinities(g)
        if self.degree == 0.0:
            return follow(kernels("out_of_sample").trace, self.at(affinities), np.zeros_like(affinities), 0.0)
        return follow(kernels("out_of_sample").trace, self.zbar, affinities, self.degree)

    def affinities(self, g: Any) -> Array:
        """Affinities, checked, as an array of shape (K,)."""
        return _affinities_of_one(g, len(self.zbar))


@overload
def path(w: Any, Z: FacetSolution | FacetAssignments, g: Any) -> FacetPath: ...
@overload
def path(w: Any, Z: Any, g: Any) -> Path: ...
@overload
def path(w: Any, Z: Any, g: Any, *, facets: ArrayLike, none: bool = False) -> FacetPath: ...
def path(w: Any, Z: Any, g: Any, *, facets: ArrayLike | None = None, none: bool = False) -> Path | FacetPath:
    """The assignments of one new item at every lam, exactly.

    ``z = Proj(zbar + gamma g)`` is piecewise linear in ``gamma = 1 / (2 lam d)``:
    from zbar at lam = inf to the largest affinity as lam goes to 0.
    A category can become positive only at lam = inf; once it is at zero again it stays
    there, so that there are at most K breakpoints.

    Parameters
    ----------
    w : array or sparse matrix of shape (N,) or (1, N)
        Weights >= 0 of the item with the known ones.
    Z : array of shape (N, K), Solution or FacetSolution
    g : array of shape (K,)
        Affinities of the item.
    facets, none
        As in :func:`assign`.

    Returns
    -------
    Path, or FacetPath with facets
        ``.lams``, ``.assignments``, ``.tops``; callable at any lam. O(K log K) as a rule.
        At lam = 0 it is the limit, in which the crowd decides between categories
        with the same largest affinity (:func:`assign` lets them share equally).

    Examples
    --------
    >>> from lass.newitems.out_of_sample import path
    >>> way = path([1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    >>> way.lams
    array([ inf, 0.25])
    >>> way.assignments
    array([[0.5, 0.5],
           [1. , 0. ]])
    >>> way([1.0, 0.5, 0.0])
    array([[0.625, 0.375],
           [0.75 , 0.25 ],
           [1.   , 0.   ]])
    """
    if (by := _by_facet(Z, facets, none)) is None:
        return NewItem(w, Z).path(g)
    known, parts = by
    rows = known.vectors(_affinities_of_one(g, known.K))
    return FacetPath(known, [NewItem(w, Z).path(row) for Z, row in zip(parts, rows, strict=True)])


def _affinities_of_one(g: Any, K: int) -> Array:
    """Affinities of one item, checked, as an array of shape (K,)."""
    well_formed(g, "g")
    row = g.toarray().ravel() if sp.issparse(g) else numbers(g, "g").ravel()
    if row.shape != (K,) or not np.isfinite(row).all():
        raise ValueError(f"g must be {K} finite numbers, one a category; found {g!r}")
    return row.astype(float)


def _known(Z: Any) -> Any:
    """Assignments of the known items: sparse as they are, or a C-contiguous array; nothing is copied."""
    if isinstance(Z, Solution):
        if Z.problem.category_laplacian is not None:
            raise ValueError(
                "Z was solved with a category_graph, which the map of new items does not know; "
                "pass solution.Z to leave it out"
            )
        Z = Z.Z
    if is_sparse(Z):
        return Z
    given = np.ascontiguousarray(numbers(Z, "Z"))
    if given.ndim != 2 or not given.shape[1]:
        raise ValueError(f"Z must be a Solution or an array of shape (N, K); found shape {given.shape}")
    return given


def _has_its_rows(weights: sp.csr_array) -> bool:
    """Whether rows lie within the arrays; the kernel checks columns and weights where it reads them. O(M)."""
    starts = weights.indptr
    stored = min(len(weights.indices), len(weights.data))
    fits = len(starts) == weights.shape[0] + 1 and starts[0] == 0 and starts[-1] <= stored
    return bool(fits and (starts[1:] >= starts[:-1]).all())


def _arrays(weights: sp.csr_array, known: int) -> tuple[NDArray[Any], ...]:
    """The three arrays of weights for the kernel, which checks entries where it reads them."""
    columns = weights.indices
    if columns.dtype != np.int32:
        if weights.nnz and not 0 <= columns.min() <= columns.max() < known:
            raise ValueError(f"W_new must name known items 0 to {known - 1}; found other column numbers")
        columns = columns.astype(np.int32)
    return weights.indptr.astype(np.int64), columns, np.ascontiguousarray(weights.data)


def _check_shapes(weights: sp.csr_array, known: int, affinities: Any, K: int) -> None:
    if weights.shape[1] != known:
        raise ValueError(
            f"W_new must have one column a known item, {known}; found shape {weights.shape}. "
            "Is it transposed?"
        )
    if affinities.shape != (M := weights.shape[0], K):
        raise ValueError(f"G_new must have shape {(M, K)}, one row a new item; found {affinities.shape}")


def _affinities(G_new: Any, shape: tuple[int, int]) -> Array:
    """A dense copy of G_new, which the kernel turns into assignments."""
    if G_new is None:
        return np.zeros(shape)
    well_formed(G_new, "G_new")
    if sp.issparse(G_new) and G_new.dtype.kind != "c":
        return np.ascontiguousarray(G_new.toarray(order="C"), dtype=np.float64)
    return np.array(numbers(G_new, "G_new"), order="C")


def _raise_error(
    weights: sp.csr_array, Z: Array, G_new: Any, odd_weights: int, odd_affinities: int, _: int
) -> None:
    """Name the input that is wrong, and where first."""
    if odd_weights:
        data, columns = weights.data, weights.indices
        bad = np.flatnonzero(~((data >= 0) & np.isfinite(data) & (columns >= 0) & (columns < len(Z))))
        if not len(bad):
            raise ValueError("W_new has a row whose weights sum beyond double precision; scale it down")
        row = int(np.searchsorted(weights.indptr, bad[0], side="right")) - 1
        raise ValueError(
            f"W_new must hold finite weights >= 0 with known items 0 to {len(Z) - 1}; "
            f"found {data[bad[0]]:g} at row {row}, column {columns[bad[0]]}. Drop it"
        )
    if odd_affinities:
        given = G_new.toarray() if sp.issparse(G_new) else numbers(G_new, "G_new")
        row, column = np.argwhere(~np.isfinite(given))[0]
        raise ValueError(
            f"G_new must be finite; found {given[row, column]} at row {row}, column {column}. "
            "Replace or drop it"
        )
    raise ValueError(
        "Z must hold rows >= 0 that sum to one; found others among the neighbours. See project_simplex"
    )
