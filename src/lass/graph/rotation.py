"""Leading components: the few directions in which neighbours can be told apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lass.graph.dense_pairs import LADDER, MANY, Points, Points32, Space, one_blas_thread
from lass.graph.sklearn_search import Found, Rows


def components(space: Space, rng: np.random.Generator) -> Points32:
    """An orthonormal basis of leading components of a sample, the strongest first."""
    sample = np.sort(rng.choice(space.size, min(space.size, 8192), replace=False))
    count = min(LADDER[-1], space.columns // 2)
    V = rng.standard_normal((space.columns, min(count + 10, space.columns)), np.float32)

    def products(V: Points32) -> Points32:
        """R'RV with the sample as rows of R, some of them at a time."""
        total = np.zeros_like(V)
        for low in range(0, len(sample), space.chunk):
            R = space.points(space.X[sample[low : low + space.chunk]]).array
            total += R.T @ (R @ V)
        return total

    with one_blas_thread():
        for _ in range(2):
            V = np.linalg.qr(products(V))[0]
        return V @ np.linalg.eigh(V.T @ products(V))[1][:, : -count - 1 : -1]


def rotate(
    space: Space, k: int, rng: np.random.Generator, sample: Rows, radius: NDArray[np.float64] | None = None
) -> tuple[Points32 | None, Points | None]:
    """The fewest leading components that serve on a sample of rows, and all rows as points in them.

    They serve an exact search when they prove 95 % of the answers; an approximate
    one, which knows the radius that holds a row's neighbours, when 99 % of what they
    find lies within. Variance alone does not tell: within tight clusters neighbours
    differ in what the leading components leave out. Nothing, if none of the ladder serves.
    O(N D count) for each count of the ladder that is tried, whose points alone are held.
    """
    if space.size < MANY or space.columns < 2 * LADDER[0]:
        return None, None
    V = components(space, rng)
    for count in LADDER:
        if count > V.shape[1]:
            break
        points = None  # lets go of those before
        basis = np.ascontiguousarray(V[:, :count])
        points = space.points(space.X, basis)
        found, sure = space.near(space.X[sample], sample, k, basis, points)
        if sure.mean() >= 0.95 if radius is None else share_within(found, radius) >= 0.99:
            return basis, points
    return None, None


def share_within(found: Found, radius: NDArray[np.float64]) -> float:
    """Share of what was found that lies within the radius of the true neighbours: recall, with ties."""
    return float((found[0] <= (1.0 + 1e-9) * radius[:, None]).mean())
