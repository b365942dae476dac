"""Category totals Z'1 = m: projection, exact repair, and the two linear programs at lam = 0 and inf."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lass.kernels.threads import kernels
from lass.model.quadratic_program import Array


def category_total_multipliers(V: Array, scale: Array, category_totals: Array, tol: float = 1e-11) -> Array:
    """The b with which ``sum_n Proj(v_n + b / scale_n)`` are the totals, by a semismooth Newton method.

    So those rows are the projection of V onto {rows on the simplex, column sums = totals} in the metric of
    ``scale``, and b holds the multipliers of the totals. A step costs O(N (K + |support|^2) + K^3).
    """
    V, size = np.ascontiguousarray(V), len(category_totals)
    b, out = np.zeros(size), np.empty_like(V)

    def evaluate(b: Array) -> tuple[float, Array, Array]:
        sums, slope = np.zeros(size), np.zeros((size, size))
        value = kernels().shift(0, len(V), b, scale, V, out, sums, slope)
        return value + float(b @ category_totals), category_totals - sums, slope

    value, short, slope = evaluate(b)
    for _ in range(200):
        if np.abs(short).sum() <= tol * len(V):
            break
        damping = 1e-12 * np.trace(slope) / size + 1e-10 / scale.max()
        direction = np.linalg.solve(slope + damping * np.eye(size), short)
        step = 1.0
        while step > 1e-10:
            trial = evaluate(b + step * direction)
            if trial[0] >= value + 1e-4 * step * float(direction @ short) - 1e-13 * abs(value):
                break
            step /= 2.0
        b = b + step * direction
        value, short, slope = trial
    return b


def repair(Z: Array, category_totals: Array) -> Array:
    """Make column sums exact without leaving the simplex.

    A slide if all rows can take it (it costs no smoothness); else scale down columns that are
    too large and distribute the rest over the others.
    """
    slid = Z + (category_totals - Z.sum(axis=0)) / len(Z)
    if slid.min() >= 0.0:
        return slid / slid.sum(axis=1, keepdims=True)
    sums = Z.sum(axis=0)
    Z = Z * np.divide(category_totals, sums, out=np.ones_like(sums), where=sums > category_totals)
    missing = np.maximum(1.0 - Z.sum(axis=1), 0.0)
    wanted = np.maximum(category_totals - Z.sum(axis=0), 0.0)
    if wanted.sum() > 0.0:
        Z += missing[:, None] * (wanted / wanted.sum())
    return Z / Z.sum(axis=1, keepdims=True)


def transport(sizes: Array, affinities: Array, category_totals: Array) -> Array:
    """Rows on the simplex that maximise <affinities, Z> with sum_n sizes_n z_n = totals.

    A linear program in len(sizes) * K variables, by HiGHS.
    """
    if not len(sizes):
        return np.zeros_like(affinities)
    result = _program(sizes, affinities, category_totals)
    Z = np.maximum(result.x.reshape(affinities.shape), 0.0)
    return Z / Z.sum(axis=1, keepdims=True)


def transport_prices(affinities: Array, category_totals: Array) -> Array:
    """The multipliers of the totals in that program, rows of size one."""
    result = _program(np.ones(len(affinities)), affinities, category_totals)
    return np.asarray(result.eqlin.marginals[len(affinities) :])


def _program(sizes: Array, affinities: Array, category_totals: Array) -> Any:
    from scipy.optimize import linprog

    groups, K = affinities.shape
    rows = sp.kron(sp.eye_array(groups), np.ones((1, K)))
    columns = sp.kron(sizes[None, :], sp.eye_array(K))
    right = np.concatenate([np.ones(groups), category_totals * (sizes.sum() / category_totals.sum())])
    result = linprog(-affinities.ravel(), A_eq=sp.vstack([rows, columns]), b_eq=right, method="highs")
    if result.x is None:
        raise ValueError(f"prior cannot be met: {result.message}")
    return result
