"""Which items to label next: those whose label would change most.

Hold the labelled items where they are and set item n to category k. The unlabelled items follow
linearly, ``dZ = (A_n / A_nn) (e_k - z_n)'`` with A the inverse of the Laplacian of the
unlabelled items (its Green's function) and A_n its column. The entries A_mn / A_nn >= 0 are
probabilities: a random walk from m over the edges visits n before any labelled item. Their
sum is the *coverage* of n, the number of items that its label decides. An outlier covers itself
alone; the middle of an unlabelled group covers all of the group.

In a Gaussian field with covariance A the label of n explains a share ``r_mn^2 = A_mn^2 / (A_nn A_mm)`` of the
variance of m: the walk from m visits n, and the one from n visits m. Their sum over m is the number of
items that n *tells*. It is V-optimality (Ji and Han 2012) with shares in place of variances, which
small groups with weak edges would dominate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.graph.laplacians import as_sparse, csr_of
from lass.model.linear_systems import ConjugateGradients
from lass.model.problem import Problem
from lass.model.quadratic_program import Array, GraphOperator
from lass.model.uniqueness import TOLERANCE
from lass.solvers.assignments import AnyAssignments, is_sparse
from lass.solvers.solution import check_single

#: excess of the diagonal, as a share of the degree, in components without any label
EXCESS = 1e-3
#: residual of the systems, against the right-hand side; samples need less than columns
EXACT, ROUGH = 1e-8, 1e-3
#: margins closer than this share of the largest are the same
STEP = 1e-6
#: candidates with the largest estimates that are computed exactly before one is taken into a batch
SHORTLIST = 8
#: entries of right-hand sides or of Z that are computed together, columns of the former at least, and rows
#: whose edges are looked at together
ENTRIES, LEAST_COLUMNS, ROWS = 2**21, 4, 65_536


#: unlabelled items up to which all are in the systems
MOST = 100_000


class Ranking(NamedTuple):
    """Items, the most worth labelling first, and their scores."""

    items: NDArray[np.intp]
    scores: Array


def rank(
    model: Any, *, by: str = "margin", among: ArrayLike | None = None, top: int | None = None,
    probes: int = 64, seed: int = 0, pause: Callable[[], object] = int,
) -> Ranking:  # fmt: skip
    """Rank the unlabelled items by what a label of theirs would change.

    Parameters
    ----------
    model : LASS or Solution
        Fitted, at 0 < lam < inf. A model's decisions count with their slide. Assignments may be sparse.
    by : {"margin", "change"}
        What an item is worth (see the notes).

        "margin": what it tells, times the square of how undecided it is: the share of
        unlabelled items that are decided at least as clearly, by the difference of their two largest
        assignments. It depends on the order of the margins alone, so it works where assignments are
        nearly even (few labels, a large lam).

        "change": its coverage times ``1 - sum_k z_nk^2``: the assignment expected to move in the
        collection, ``sum_k z_nk |dZ|_1 / 2`` if the label is k with probability z_nk.
    among : array of item numbers, optional
        Only these, for example ``solution.uniqueness().flippable``, whose largest category
        is another one in an equally good solution.
    top : int, optional
        So many items to be labelled as one batch: each is taken as known before the next is
        chosen, so that no two cover the same items. By default all, each as if it were labelled
        alone.
    probes : int
        Linear systems behind the scores. With at most so many unlabelled items they are exact, coverage
        also with so many candidates; otherwise A_nn is estimated from this many samples, with a
        relative error below ``sqrt(2 / probes)``, and what an item tells from as many again.
    seed : int
        Of the samples.
    pause : callable
        Called before each linear system; an error it raises ends the work.

    Returns
    -------
    Ranking
        ``items`` and ``scores``. In a batch scores are those at the time of choosing.

    Notes
    -----
    The coverage of item n is ``sum_m A_mn / A_nn``; all numerators come from one system, ``A 1``. What n
    tells is ``sum_m v_m A_mn^2 / A_nn`` with ``v_m = 1 / A_mm``, of before the batch; the numerator is the
    mean square of ``A sqrt(v) x`` at n, x random signs.
    The denominators come from Gaussian fields with covariance A: random numbers on the edges,
    weighted so that their sums at the items have the Laplacian as covariance, times A.
    Conjugate gradients, O(nnz(W) probes) a step, some columns at a time; each item of a
    batch costs one system more. Of more than 100,000 unlabelled items only those around the candidates
    are in the systems, as if all others were known. In a component without any label the diagonal is raised
    a little, which prefers the middle.

    Examples
    --------
    Two groups, each around its first item; only the first group has labels.

    >>> import lass
    >>> from lass.learning.active import rank
    >>> W = [[0, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0],
    ...      [1, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0]]
    >>> solution = lass.solve(W, [[0.5, 0.5], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]], lam=0.1)
    >>> rank(solution, top=1).items
    array([3])
    """
    solution = model if hasattr(model, "relative_gap") else getattr(model, "solution_", None)
    if solution is None:
        raise ValueError(f"model must be a Solution or a fitted LASS; found {type(model).__name__}. Fit it")
    check_single(solution, "model" if solution is model else "model.solution_")
    problem, Z = solution.problem, getattr(model, "assignments_", solution.Z)
    _check(problem, by, top, probes)
    unlabelled = problem.free & (np.diff(problem.G.indptr) == 0)
    rows = np.flatnonzero(unlabelled)
    candidates = np.flatnonzero(unlabelled if among is None else unlabelled & _chosen(among, problem.N))
    if not len(candidates):
        return Ranking(candidates, np.zeros(0))
    undecided = _uncertainty(Z, rows if by == "margin" else candidates, by)
    uncertainty = undecided[np.searchsorted(rows, candidates)] if by == "margin" else undecided
    if len(rows) > MOST:
        rows = _around(problem.W, candidates, unlabelled)
    places = np.searchsorted(rows, candidates)
    field = GaussianField(problem, rows, places, probes, seed, by == "margin", pause)
    worth = field.explained if by == "margin" else field.coverage
    scores = uncertainty * worth()
    if top is None:
        order = np.argsort(-scores, kind="stable")
        return Ranking(candidates[order], scores[order])
    chosen: list[int] = []
    values = []
    for turn in range(min(int(top), len(candidates))):
        if turn:
            scores = uncertainty * worth()
            scores[chosen] = -np.inf
        best = int(scores.argmax())
        if field.samples is not None:
            # of many estimates the largest are too large: these are computed exactly
            short = np.argsort(-scores, kind="stable")[: min(SHORTLIST, len(scores) - turn)]
            exact = uncertainty[short] * field.exactly(short, explains=by == "margin")
            best = int(short[exact.argmax()])
            scores[best] = exact.max()
        chosen.append(best)
        values.append(scores[best])
        field.condition_on(int(places[best]))
    return Ranking(candidates[chosen], np.array(values))


def _check(problem: Problem, by: str, top: int | None, probes: int) -> None:
    if by not in ("margin", "change"):
        raise ValueError(f"by must be 'margin' or 'change'; found {by!r}")
    if top is not None and not (isinstance(top, Integral) and top >= 1):
        raise ValueError(f"top must be a whole number >= 1 or None; found {top!r}")
    if not (isinstance(probes, Integral) and probes >= 1):
        raise ValueError(f"probes must be a whole number >= 1; found {probes!r}")
    if problem.lam == 0 or math.isinf(problem.lam):
        raise ValueError(f"rank() needs 0 < lam < inf; at lam = {problem.lam:g} a label moves no other item")
    if not problem.convex or not problem.dominant or problem.category_laplacian is not None:
        raise ValueError(
            "rank() needs weights >= 0, a Laplacian with row sums >= 0 and no category_graph: "
            "else unlabelled items are not means of their neighbours"
        )


def _chosen(among: ArrayLike, N: int) -> NDArray[np.bool_]:
    numbers = np.asarray(among)
    if numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= N):
        raise ValueError(f"among must hold item numbers from 0 to {N - 1}; found {among!r}")
    mask = np.zeros(N, bool)
    mask[numbers.astype(np.intp)] = True
    return mask


def _uncertainty(Z: AnyAssignments, rows: NDArray[np.intp], by: str) -> Array:
    """How undecided each of the rows is, from 0 to 1."""
    if by == "change":
        return np.asarray(1.0 - _sums_of_squares(Z, rows))
    if Z.shape[1] == 1:
        return np.zeros(len(rows))
    margins = _margins(Z, rows)
    # without steps, rounding would put items in order that are equally undecided
    steps = np.round(margins / max(STEP * float(margins.max()), TOLERANCE))
    return np.asarray(np.searchsorted(np.sort(-steps), -steps, side="right") / len(rows), float) ** 2


def _margins(Z: AnyAssignments, rows: NDArray[np.intp]) -> Array:
    """The difference of the two largest shares of each row."""
    if is_sparse(Z):
        shares = Z.top(2)[1][rows]
        return np.asarray(shares[:, 0] - shares[:, 1])
    step = max(1, ENTRIES // Z.shape[1])
    blocks = (Z[rows[low : low + step]] for low in range(0, len(rows), step))
    return np.concatenate([np.diff(np.partition(block, -2, axis=1)[:, -2:])[:, 0] for block in blocks])


def _sums_of_squares(Z: AnyAssignments, rows: NDArray[np.intp]) -> Array:
    """The sum of the squares of the shares of each row."""
    if not is_sparse(Z):
        return np.asarray(np.square(Z[rows]).sum(axis=1))
    some = Z.taken(rows)
    stored = some.to_csr(copy=False)
    squares = csr_of(stored.data**2, stored.indices, stored.indptr, stored.shape).sum(axis=1)
    return np.asarray(squares + (Z.shape[1] - some.lengths) * some.background**2)


def _around(W: sp.csr_array, candidates: NDArray[np.intp], unlabelled: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The candidates and unlabelled items around them, as many steps away as :data:`MOST` allows."""
    taken, border = np.zeros(W.shape[0], bool), candidates
    taken[candidates] = True
    count = len(candidates)
    while len(border) and count < MOST:
        parts = [W[border[low : low + ROWS]].indices for low in range(0, len(border), ROWS)]
        reached = np.unique(np.concatenate(parts))
        border = reached[unlabelled[reached] & ~taken[reached]]
        if count + len(border) > MOST:
            break
        taken[border], count = True, count + len(border)
    return np.flatnonzero(taken)


def _signs(rng: np.random.Generator, rows: int, columns: int) -> Array:
    return 2.0 * rng.integers(0, 2, (rows, columns), dtype=np.int8).astype(float) - 1.0


def _within(W: sp.csr_array, rows: NDArray[np.intp]) -> sp.csr_array:
    """The edges among some rows, a part at a time: W may lie in a file."""
    parts = [W[rows[low : low + ROWS]][:, rows] for low in range(0, len(rows), ROWS)]
    return as_sparse(parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr"), "W")


class GaussianField:
    """The field with covariance A, the Green's function of the unlabelled items.

    ``places`` are the candidates among ``rows``; :meth:`coverage` and, with ``explains``, :meth:`explained`
    are theirs.
    """

    def __init__(
        self, problem: Problem, rows: NDArray[np.intp], places: NDArray[np.intp], probes: int, seed: int,
        explains: bool = False, pause: Callable[[], object] = int,
    ) -> None:  # fmt: skip
        self.places, self._pause = places, pause
        self.W = _within(problem.W, rows)
        degree = np.asarray(self.W.sum(axis=1)).ravel()
        excess = np.maximum(problem.diagonal[rows] - degree, 0.0)
        operator = GraphOperator(self.W, problem.diagonal[rows])
        count, part = operator.components
        excess[excess <= 1e-12 * operator.diagonal] = 0.0
        alone = np.bincount(part, excess, minlength=count)[part] == 0
        excess[alone] = EXCESS * operator.diagonal[alone]
        excess[operator.diagonal == 0] = 1.0
        self.excess, self.diagonal = excess, operator.sums + excess
        self.operator = GraphOperator(self.W, self.diagonal)
        self.known: list[tuple[int, Array]] = []  # items that are known, and their columns then
        self.sums = self._solve(np.ones((len(rows), 1)), EXACT)[:, 0]
        rng = np.random.default_rng(seed)
        self.samples: Array | None = None
        self.variances = np.empty(len(places))
        #: of each row one over its variance; the squares of the means of its neighbours, summed over samples
        self.precision, self._squares = np.empty(0), np.zeros(len(rows) if explains else 0)
        #: columns of A at the candidates; or samples whose variances are sums of squares of columns, with
        #: the precisions as weights
        self.columns: Array | None = None
        self.reach: Array | None = None
        if len(places) > probes:
            near = self.W[places]
            #: samples are kept at the candidates and their neighbours, since nothing else is asked of them
            self.kept = np.union1d(places, near.indices).astype(np.intp)
            self.own = np.searchsorted(self.kept, places)
            self.near = sp.csr_array(
                (near.data, np.searchsorted(self.kept, near.indices), near.indptr),
                shape=(len(places), len(self.kept)),
            )
            self.samples = self._sampled(self._noise, probes, rng, self.kept)
        else:
            columns = self._solve(self._unit(places), EXACT)
            self.variances = columns[places, np.arange(len(places))]
            self.columns = columns if explains else None
        if explains:
            if len(rows) <= probes:
                every = np.arange(len(rows))
                self.precision = 1.0 / np.diag(self._solve(self._unit(every), EXACT))
            else:
                if self.samples is None:
                    self._sampled(self._noise, probes, rng, places)
                # of the neighbours' means; given its neighbours an item varies by 1 / a
                self.precision = 1.0 / (1.0 / self.diagonal + self._squares / probes)
            if self.samples is not None:
                self.reach = self._sampled(self._scaled_signs, probes, rng, places)

    def _unit(self, places: NDArray[np.intp]) -> Array:
        unit = np.zeros((len(self.diagonal), len(places)))
        unit[places, np.arange(len(places))] = 1.0
        return unit

    def _solve(self, B: Array, tol: float) -> Array:
        self._pause()
        return ConjugateGradients(self.operator.apply, self.diagonal, tol=tol).solve(B)

    def _sampled(
        self, draw: Callable[[int, np.random.Generator], Array], probes: int, rng: np.random.Generator,
        kept: NDArray[np.intp],
    ) -> Array:  # fmt: skip
        """A times random columns, at some rows; so many together that the memory stays small."""
        samples = np.empty((len(kept), probes))
        columns = int(np.clip(ENTRIES // len(self.diagonal), LEAST_COLUMNS, probes))
        for first in range(0, probes, columns):
            some = slice(first, min(first + columns, probes))
            drawn = self._solve(draw(some.stop - first, rng), ROUGH)
            samples[:, some] = drawn[kept]
            if len(self._squares) and not len(self.precision):
                means = self.diagonal[:, None] * drawn
                means -= self.operator.apply(drawn, np.empty_like(drawn))
                means /= self.diagonal[:, None]
                self._squares += np.einsum("np,np->n", means, means)
        return samples

    def _scaled_signs(self, columns: int, rng: np.random.Generator) -> Array:
        """Random columns with the precisions as covariance."""
        return np.sqrt(self.precision)[:, None] * _signs(rng, len(self.diagonal), columns)

    def _noise(self, columns: int, rng: np.random.Generator) -> Array:
        """Random columns whose covariance is the Laplacian: a sign on every edge, and on every excess."""
        B = np.sqrt(self.excess)[:, None] * _signs(rng, len(self.excess), columns)
        for low in range(0, len(B), ROWS):
            edges = self.W[low : low + ROWS]
            left = np.repeat(np.arange(low, low + edges.shape[0]), np.diff(edges.indptr))
            right = edges.indices
            once = left < right
            ends, root = np.stack([left[once], right[once]], axis=1), np.sqrt(edges.data[once])
            incidence = sp.csc_array(
                (np.stack([root, -root], axis=1).ravel(), ends.ravel(), 2 * np.arange(len(root) + 1)),
                shape=(len(B), len(root)),
            )
            B += incidence @ _signs(rng, len(root), columns)
        return B

    def _shares(self, columns: Array, variances: Array) -> Array:
        """The sum of the shares of all variances that columns of A explain."""
        shares = columns**2 * self.precision[:, None] / variances
        # a precision from samples can be too large by far where weak edges alone lead to a label
        return np.asarray(np.minimum(shares, 1.0).sum(axis=0))

    def _variances(self) -> Array:
        """A_nn of each candidate, given the items that are known."""
        if self.samples is None:
            return self.variances
        # given its neighbours an item varies by 1 / a; only the rest needs samples
        own = 1.0 / self.diagonal[self.places]
        means = own[:, None] * (self.near @ self.samples)
        return np.asarray(own + np.einsum("np,np->n", means, means) / means.shape[1])

    def coverage(self) -> Array:
        """The number of items that each candidate covers."""
        return np.maximum(self.sums[self.places] / self._variances(), 1.0)

    def explained(self) -> Array:
        """The number of items that the label of each candidate explains: sums of shares of variance."""
        variances = self._variances()
        if self.columns is not None:
            return self._shares(self.columns, variances)
        assert self.reach is not None
        squares = np.einsum("np,np->n", self.reach, self.reach) / self.reach.shape[1]
        # at least what it tells of itself
        return np.maximum(squares / variances, self.precision[self.places] * variances)

    def _columns_at(self, places: NDArray[np.intp]) -> Array:
        """Columns of A at some rows, given the items that are known."""
        columns = self._solve(self._unit(places), EXACT)
        for item, earlier in self.known:
            columns -= np.outer(earlier, earlier[places] / earlier[item])
        return columns

    def exactly(self, some: NDArray[np.intp], explains: bool) -> Array:
        """What some of the candidates tell, or cover, without samples (but for the precision)."""
        places = self.places[some]
        columns = self._columns_at(places)
        variances = columns[places, np.arange(len(places))]
        if explains:
            return self._shares(columns, variances)
        return np.asarray(columns.sum(axis=0) / variances)

    def condition_on(self, place: int) -> None:
        """Take one item as known: the field given its value there."""
        column = self._columns_at(np.array([place]))[:, 0]
        self.known.append((place, column))
        share = column / column[place]
        self.sums -= share * self.sums[place]
        if self.columns is not None:
            self.columns -= np.outer(share, self.columns[place])
        if self.reach is not None:
            self.reach -= np.outer(share[self.places], self.reach[np.searchsorted(self.places, place)])
        if self.samples is not None:
            at = int(np.searchsorted(self.kept, place))
            self.samples -= np.outer(share[self.kept], self.samples[at])
        else:
            self.variances -= share[self.places] * column[self.places]
            self.variances[self.places == place] = np.inf
