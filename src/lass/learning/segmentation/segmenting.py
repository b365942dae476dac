"""Segments of an image from strokes, with valid probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.graph.laplacians import components
from lass.learning.segmentation.inputs import (
    NegativeStrokes,
    check_contradictions,
    place,
    read_forbidden,
    read_image,
    read_markers,
    read_negative,
    read_neighbors,
    read_prior,
)
from lass.learning.segmentation.pixels import colour_affinities, grid_graph
from lass.model.checks import number, numbers
from lass.model.harmonic import HarmonicSystem
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex
from lass.solvers.solution import Solution
from lass.solvers.solving import solve

#: a negative affinity of 4 lam d_n leaves no share of a segment, whatever the neighbours
NEGATIVE = 4.0
#: the relative gap of a solve, as a multiple of the harmonic residual
GAP = 0.1


def segment(
    image: Any, markers: Any, lam: float = 1.0, *, negative: Any = None, prior: Any = None,
    beta: float = 130.0, neighbors: int | None = None, spacing: ArrayLike | None = None,
    channel_axis: int | None = None, tol: float = 1e-4,
) -> Segmentation:  # fmt: skip
    """Divide an image into segments from a few strokes.

        minimise over Z   lam tr(Z'LZ) - tr(G'Z),     rows of Z on the simplex, marked pixels fixed

    L is the Laplacian of the grid of pixels, whose weights fall with contrast; G holds the region
    model (``prior``) and negative strokes. With markers alone G = 0, lam plays no part and the
    solution is that of scikit-image's ``random_walker``, but with rows that are probabilities.

    Parameters
    ----------
    image : array of two or three axes, and one more with ``channel_axis``
        A grey or multi-channel picture or volume.
    markers : array of whole numbers, one a pixel
        As ``random_walker`` takes them: labels > 0, 0 for pixels to find out, < 0 for pixels left out.
    lam : float
        Smoothness against the region model; at 0 that alone decides.
    negative : array of labels or mapping {label: mask}, optional
        Pixels that are *not* of a segment: their share of it is zero, the others are found.
    prior : None, "colour" or array of shape (..., K), optional
        A region model: histograms of the colours under the strokes, or affinities of pixels to labels
        1 to K of your own (any numbers; probabilities do well).
    beta : float
        How much contrast separates neighbours.
    neighbors : {4, 8} in pictures, {6, 26} in volumes, optional
        By default those that share a side.
    spacing : array, optional
        Size of a pixel along each axis.
    channel_axis : int, optional
        The axis of ``image`` that holds channels.
    tol : float
        Relative residual of harmonic pixels where they are iterated on (volumes, large pictures); where
        there are affinities, a tenth of it is the relative gap.

    Returns
    -------
    Segmentation

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.segmentation import segment
    >>> image = np.array([[0.0, 0.1, 0.9, 1.0]])
    >>> segment(image, [[1, 0, 0, 2]]).labels
    array([[1, 1, 2, 2]])
    """
    picture = read_image(image, channel_axis)
    shape = picture.shape[:-1]
    marks = read_markers(markers, shape)
    active = marks >= 0
    bad = active & ~np.isfinite(picture).all(axis=-1)
    if bad.any():
        raise ValueError(
            f"image must be finite; found {picture[place(bad)]} at pixel {place(bad)} ({bad.sum()} in all). "
            "Mark such pixels -1 to leave them out"
        )
    picture = np.where(active[..., None], picture, 0.0)
    scaled = np.ones(len(shape)) if spacing is None else numbers(spacing, "spacing")
    if scaled.shape != (len(shape),) or not (np.isfinite(scaled).all() and (scaled > 0).all()):
        raise ValueError(f"spacing must be {len(shape)} numbers > 0, one an axis; found {spacing!r}")
    W = grid_graph(picture, scaled, number(beta, "beta"), read_neighbors(neighbors, len(shape)), active)
    region = None if prior is None else read_prior(prior, shape)
    result = Segmentation(picture, W, marks, number(lam, "lam"), region, number(tol, "tol"))
    return result._take(marks, read_negative(negative, shape))


class Segmentation:
    """The segments of an image, which more strokes can change.

    Attributes
    ----------
    labels : array of int, one a pixel
        The likeliest label; 0 where no path leads to a stroke, -1 where a pixel was left out.
    probabilities : array of shape (..., K)
        Rows >= 0 that sum to one, in the order of ``names``; even where nothing is known.
    names : array of shape (K,)
        The labels.
    solution : Solution or None
        The certified solution where there is a region model or a negative stroke.
    graph : csr_array
        Weights between pixels, numbered row by row.
    """

    def __init__(
        self, picture: Array, W: sp.csr_array, marks: NDArray[np.int64], lam: float,
        region: Array | str | None, tol: float,
    ) -> None:  # fmt: skip
        self.graph, self.lam, self.tol = W, lam, tol
        self.solution: Solution | None = None
        self._picture, self._region = picture, region
        self._active = marks >= 0
        self._system: HarmonicSystem | None = None
        self._negatives: NegativeStrokes = {}
        self.names = np.zeros(0, np.int64)

    def add(self, markers: Any = None, negative: Any = None) -> Segmentation:
        """More strokes, as :func:`segment` takes them; solves again from here and returns itself.

        Where a new stroke covers another one, the new one counts. Zeros and
        pixels that were left out change nothing.

        Examples
        --------
        >>> from lass.learning.segmentation import segment
        >>> found = segment([[0.0, 0.0, 0.0, 0.0, 0.0]], [[1, 0, 0, 0, 2]])
        >>> found.add(negative=[[0, 1, 0, 0, 0]]).labels
        array([[1, 2, 2, 2, 2]])
        """
        shape = self._marks.shape
        marks = np.zeros_like(self._marks) if markers is None else read_markers(markers, shape)
        negatives = read_negative(negative, shape)
        check_contradictions(marks, negatives)
        painted = (marks > 0) & self._active
        merged = np.where(painted, marks, self._marks)
        kept = {label: mask & ~painted for label, mask in self._negatives.items()}
        for label, mask in negatives.items():
            merged[mask & (merged == label)] = 0
            kept[label] = kept.get(label, np.zeros(shape, bool)) | mask
        return self._take(merged, {label: mask for label, mask in kept.items() if mask.any()})

    def _take(self, marks: NDArray[np.int64], negatives: NegativeStrokes) -> Segmentation:
        """Solve for these strokes, from what is there."""
        painted = np.unique(marks[marks > 0])
        names = painted
        if isinstance(self._region, np.ndarray):
            names = np.arange(1, self._region.shape[-1] + 1)
            if len(painted) and painted[-1] > len(names):
                raise ValueError(
                    f"prior has {len(names)} labels, but markers hold label {painted[-1]}. Give it a column"
                )
        elif not len(painted):
            raise ValueError("markers must hold a seed of every label; found no number > 0")
        if len(names) < 2:
            raise ValueError(
                f"markers must hold two labels at least; found only {names[0]}. Mark the rest too"
            )
        forbidden = read_forbidden(negatives, names, marks.size)
        check_contradictions(marks, negatives)
        codes = np.where(marks > 0, np.searchsorted(names, marks), -1).ravel()
        start = self._start(names)
        seeded = codes >= 0
        start[seeded] = np.eye(len(names))[codes[seeded]]
        if self._region is None and not negatives:
            Z, self.solution = self._between(seeded, start), None
        else:
            Z = _without(forbidden, self._certified(self._affinities(codes, forbidden), codes, start))
        self._marks, self._negatives, self.names, self._Z = marks, negatives, names, Z
        self.probabilities = Z.reshape((*marks.shape, len(names)))
        decided = Z.max(axis=1) - Z.min(axis=1) > 1e-9
        labels = np.where(decided, names[Z.argmax(axis=1)], 0).reshape(marks.shape)
        self.labels = np.where(self._active, labels, -1)
        return self

    def _start(self, names: NDArray[np.int64]) -> Array:
        """The probabilities at hand in the columns of these labels, even ones where there are none."""
        start = np.full((self.graph.shape[0], len(names)), 1.0 / len(names))
        if len(self.names) and np.isin(self.names, names).all():
            start[:] = 0.0
            start[:, np.searchsorted(names, self.names)] = self._Z
        return start

    def _affinities(self, codes: NDArray[np.int64], forbidden: NDArray[np.bool_]) -> sp.csr_array:
        """Affinities of pixels to labels, from the region model and negative strokes."""
        active = self._active.ravel()
        G: Array = np.zeros(forbidden.shape)
        if isinstance(self._region, str):
            colours = self._picture.reshape(len(codes), -1)
            G[active] = colour_affinities(colours[active], codes[active], G.shape[1])
        elif self._region is not None:
            G = self._region.reshape(G.shape)
        lowest = G.min(axis=1) - NEGATIVE * self.lam * self.graph.sum(axis=1) - 1.0
        G = np.where(forbidden, lowest[:, None], G)
        G[~active] = 0.0
        return sp.csr_array(G)

    def _between(self, seeded: NDArray[np.bool_], start: Array) -> Array:
        """Harmonic probabilities; the last column is what the others leave."""
        unreached = ~self._active.ravel()
        if unreached.any():
            part = components(self.graph)[1]
            unreached = ~np.isin(part, part[seeded])
        Z, rows = start.copy(), np.flatnonzero(~(seeded | unreached))
        # the factor or the coarser graphs of the first strokes are kept
        self._system = HarmonicSystem(self.graph, rows, tol=self.tol, former=self._system)
        given = self.graph[rows][:, seeded] @ start[seeded, :-1]
        Z[rows, :-1] = self._system.solve(given, start[rows, :-1])
        Z[:, -1] = 1.0 - Z[:, :-1].sum(axis=1)
        Z = np.asarray(project_simplex(Z), dtype=float)
        Z[unreached] = 1.0 / Z.shape[1]
        return Z

    def _certified(self, affinities: sp.csr_array, codes: NDArray[np.int64], start: Array) -> Array:
        """Probabilities by :func:`lass.solve`, from where the harmonic ones are."""
        rows = np.flatnonzero(codes >= 0)
        fixed = (rows, codes[rows]) if len(rows) else None
        if self.solution is None and fixed is not None and self._region is None:
            start = self._between(codes >= 0, start)
        gap = GAP * self.tol
        if self.solution is not None and self.solution.Z.shape == affinities.shape:
            problem = self.solution.problem.changed(G=affinities, fixed=fixed)
            self.solution = solve(problem, start=start, tol=gap)
        else:
            self.solution = solve(self.graph, affinities, self.lam, fixed=fixed, start=start, tol=gap)
        return self.solution.Z


def _without(forbidden: NDArray[np.bool_], Z: Array) -> Array:
    """Z with exact zeros where strokes are negative; a gap leaves small numbers there."""
    rows, Z = np.flatnonzero(forbidden.any(axis=1)), Z.copy()
    left, allowed = np.where(forbidden[rows], 0.0, Z[rows]), ~forbidden[rows]
    totals = left.sum(axis=1, keepdims=True)
    even = allowed / allowed.sum(axis=1, keepdims=True)
    Z[rows] = np.divide(left, totals, out=even, where=totals > 0)
    return Z
