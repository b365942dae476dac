"""Principal components: the few directions that suffice to compare neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lass.graph.dense_pairs import Points, Points32, Space
from lass.graph.sklearn_search import Found, Rows
from lass.kernels.threads import one_blas_thread

#: fewer rows than this do not pay for finding components
MIN_ROWS = 15_000
#: numbers of components that are tried
COUNTS = (32, 64, 128, 256)


def principal_directions(space: Space, rng: np.random.Generator) -> Points32:
    """An orthonormal basis of principal components of a sample, the strongest first."""
    sample = np.sort(rng.choice(space.size, min(space.size, 8192), replace=False))
    count = min(COUNTS[-1], space.columns // 2)
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


def project_points(
    space: Space, k: int, rng: np.random.Generator, sample: Rows, min_rows: int,
    radius: NDArray[np.float64] | None = None,
) -> tuple[Points32 | None, Points | None]:  # fmt: skip
    """The fewest components that suffice on a sample of rows, and all rows as points in them.

    They suffice for an exact search when they prove 95 % of the answers; for an approximate
    one, which knows the radius that holds a row's neighbours, when 99 % of what they
    find lies within. Variance alone does not decide: within tight clusters neighbours
    differ in what the leading components leave out. None, if no number of ``COUNTS`` suffices.
    O(N D count) for each number that is tried, whose points alone are held.
    """
    if space.size < min_rows or space.columns < 2 * COUNTS[0]:
        return None, None
    V = principal_directions(space, rng)
    for count in COUNTS:
        if count > V.shape[1]:
            break
        points = None  # frees those before
        basis = np.ascontiguousarray(V[:, :count])
        points = space.points(space.X, basis)
        found, sure = space.near(space.X[sample], sample, k, basis, points)
        if sure.mean() >= 0.95 if radius is None else share_within(found, radius) >= 0.99:
            return basis, points
    return None, None


def share_within(found: Found, radius: NDArray[np.float64]) -> float:
    """Recall: the share of what was found that lies within the radius of the true neighbours."""
    return float((found[0] <= (1.0 + 1e-9) * radius[:, None]).mean())
