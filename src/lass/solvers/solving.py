"""`solve`: from what people pass to a solution."""

from __future__ import annotations

import time
from typing import Any, overload

from numpy.typing import ArrayLike

from lass.model.facets import WITHOUT_FACETS, Facets
from lass.model.problem import Problem
from lass.solvers.base import Solver
from lass.solvers.facets import FacetSolution, solve_facets
from lass.solvers.monitor import Callback
from lass.solvers.plan import Engine, Output
from lass.solvers.solution import Solution


@overload
def solve(W: Any, G: Any = None, lam: float = 1.0, *, facets: None = None, **how: Any) -> Solution: ...
@overload
def solve(W: Any, G: Any, lam: float = 1.0, *, facets: ArrayLike | Facets, **how: Any) -> FacetSolution: ...
@overload
def solve(
    W: Any, G: Any, lam: float = 1.0, *, facets: ArrayLike | Facets | None, **how: Any
) -> Solution | FacetSolution: ...
def solve(
    W: Any,
    G: Any = None,
    lam: float = 1.0,
    *,
    fixed: Any = None,
    prior: ArrayLike | None = None,
    method: str | Solver = "auto",
    tol: float = 1e-5,
    max_iter: int | None = None,
    start: Solution | ArrayLike | None = None,
    callback: Callback | None = None,
    output: Output = "auto",
    device: str | None = None,
    engine: Engine | None = None,
    facets: ArrayLike | Facets | None = None,
    none: bool = False,
    **options: Any,
) -> Solution | FacetSolution:
    """Find the assignments, with a proof of how close they are to the optimum.

    Where optima are many (:meth:`Solution.uniqueness` tells), the centred one is taken: of all
    ``Z + 1 p'`` in a connected component the one with the least ``sum_n |z_n + p - 1/K|^2``. So neither
    ``start`` nor what was solved before decides between them. Not covered: several components
    under a prior, ``laplacian="normalized"`` and negative weights, where the optimum that is found is kept.

    Parameters
    ----------
    W : array, sparse matrix, torch tensor or Problem
        The graph of items, or a :class:`lass.Problem` that holds everything.
    G : array, sparse matrix or torch tensor of shape (N, K)
        Affinities of items to categories.
    lam, fixed, prior
        As in :class:`lass.Problem`, which also takes the ``options`` ``ridge``,
        ``laplacian``, ``category_graph`` and ``negative_weights``.
    method : str or solver
        ``"auto"``, one of :data:`lass.solvers.METHODS` such as ``"face"``, or a
        solver with its own settings such as ``lass.solvers.ADMM(rho=0.1)``.
    tol : float
        Relative gap to stop at. Up to 1e-4, ``"auto"``, ``"face"``, ``"local"`` and ``"reduced"`` go on until
        no row is far from its best either: at the default, entries are then within about 1e-4 of
        the optimum from any start, often much closer. Other methods, devices and engines stop at the gap.
    max_iter : int, optional
        Iterations at most; running out gives the best answer so far, a warning and ``converged=False``.
    start : Solution or array of shape (N, K), optional
        Where to start; an earlier solution of a similar problem saves most of the work.
    callback : callable, optional
        Called with a :class:`lass.solvers.Step` (iteration, seconds, gap); return True to stop.
    output : {"auto", "dense", "sparse"}
        ``"sparse"`` is for very many categories: ``Z`` is then
        :class:`~lass.solvers.sparse.SparseAssignments`, explicit entries and one background value a row,
        and memory goes with what is stored. ``"auto"`` takes it where N x K numbers would not fit into
        memory (half of the machine's, or ``LASS_MEMORY_GIB``), or where ``start`` has that form.
    device : str, optional
        ``"cuda"`` solves on a GPU by a method of its own, see :mod:`lass.solvers.gpu`. Tensors that are on
        one are solved there unless something else is asked for.
    engine : {"ray"} or backend, optional
        ``"ray"`` solves on Ray workers, one a processor of this machine. For a cluster, or to survive the
        loss of workers: ``lass.solvers.distributed.Partitions(8, transport="ray", address="auto",
        checkpoint=folder)``, see :class:`lass.solvers.distributed.Partitions`.
    facets : array of shape (K,), optional
        The facet of each category, a whole number: rows are then distributions *within each facet*. The
        problem separates into one a facet, which share what is known of the graph. ``max_iter`` counts for
        each, ``tol`` for each and hence for all. In ``fixed``, a category fixes its own facet alone,
        and a row of K numbers has NaN throughout facets that are not known; so has ``prior``. Not with
        ``category_graph``.
    none : bool
        With facets: each has one more category, "none of these", with affinity 0. A facet of one category
        has it in any case, since that category would else have everything. Where all
        that is known is that tags apply, it gets nothing. ``Z`` holds the categories that
        were given, in their order, and ``solution.none`` of shape (N, F) the rest, by facet in
        the order of their numbers. In ``fixed``, ``prior`` and ``start``, what a facet's categories leave is
        that of "none of these".

    Returns
    -------
    Solution, or FacetSolution with facets
        Ctrl-C while it runs also ends in a Solution: feasible, with its honest gap.

    Examples
    --------
    Three items in a row; the first is labelled with category 0, the last with category 1.

    >>> import lass
    >>> sol = lass.solve([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], lam=0.5)
    >>> sol.Z.round(3)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    >>> sol.converged, sol.relative_gap < 1e-5
    (True, True)

    Two facets, of two tags and of one: the first item has a tag of each, the last one the other of the first.

    >>> G = [[1, 0, 1], [0, 0, 0], [0, 1, -1]]
    >>> sol = lass.solve([[0, 1, 0], [1, 0, 1], [0, 1, 0]], G, lam=0.5, facets=[0, 0, 1])
    >>> sol.Z.round(3)
    array([[1. , 0. , 1. ],
           [0.5, 0.5, 0.5],
           [0. , 1. , 0. ]])
    >>> sol.none[:, 1].round(3)
    array([0. , 0.5, 1. ])
    """
    began = time.perf_counter()
    if hasattr(W, "is_cuda") or hasattr(G, "is_cuda"):
        W, G, device = _from_tensors(W, G, device)
    if facets is None and none:
        raise ValueError(WITHOUT_FACETS)
    if facets is None and isinstance(start, FacetSolution):
        raise ValueError("start is a FacetSolution; give its facets, too, or start from start.Z")
    if isinstance(W, Problem):
        given = (G, fixed, prior, facets)
        if any(value is not None for value in given) or options or lam != 1.0:
            raise ValueError("a Problem holds everything; pass nothing beside it but how to solve it")
        problem = W
    elif G is None:
        raise ValueError("G must be given: one row an item, one column a category")
    elif facets is not None:
        return solve_facets(
            W, G, lam, facets, none, fixed=fixed, prior=prior, method=method, tol=tol, max_iter=max_iter,
            start=start, callback=callback, output=output, device=device, engine=engine, began=began,
            options=options,
        )  # fmt: skip
    else:
        problem = Problem(W, G, lam, fixed=fixed, prior=prior, **options)
    return Solution.find(
        problem, method=method, tol=tol, max_iter=max_iter, start=start, callback=callback, output=output,
        device=device, engine=engine, began=began,
    )  # fmt: skip


def _from_tensors(W: Any, G: Any, device: str | None) -> tuple[Any, Any, str | None]:
    """Both on the host, and the device they come from unless another one is asked for."""
    from lass.solvers.gpu.placement import on_host  # whoever has tensors has torch

    there = [str(given.device) for given in (W, G) if getattr(given, "is_cuda", False)]
    return on_host(W), on_host(G), device or (there[0] if there else None)
