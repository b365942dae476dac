"""The compiled loops that every solver calls, for dense rows on a CPU.

Each kernel works on the rows ``low <= n < high`` and touches no other row of
what it writes, so :func:`lass.kernels.threads.over_rows` can give slices to
threads (the kernels release the GIL). Signatures are spelled out: a
kernel is compiled once on a machine, at its first call; later programs read Numba's cache.

Letters: ``A = diag(a) - W`` (CSR arrays ``pointers, columns, weights``), ``H``
the linear term (CSR arrays ``starts, where, values``), ``b`` one number a
category that is added to every row of ``H``.
"""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled, compiled_with_caller


@compiled_with_caller
def to_simplex(V, n):  # type: ignore[no-untyped-def]
    """Replace row ``n`` of ``V`` by its Euclidean projection onto the simplex.

    Only entries within one of the largest can stay positive, so the values
    summed lie in (-1, 0] whatever the scale of the input. Michelot's passes
    stop as soon as the count does not shrink: at most K of them, ties included.
    """
    size = V.shape[1]
    top = V[n, 0]
    for k in range(1, size):
        top = max(top, V[n, k])
    total, count = 0.0, 0.0
    for k in range(size):
        V[n, k] -= top
        kept = 1.0 if V[n, k] > -1.0 else 0.0
        total += kept * max(V[n, k], -1.0)
        count += kept
    threshold = (total - 1.0) / count
    while True:
        total, left = 0.0, 0.0
        for k in range(size):
            kept = 1.0 if V[n, k] > threshold else 0.0
            total += kept * max(V[n, k], -1.0)
            left += kept
        if left >= count:
            break
        count = left
        threshold = (total - 1.0) / count
    total = 0.0
    for k in range(size):
        V[n, k] = max(V[n, k] - threshold, 0.0)
        total += V[n, k]
    scale = 1.0 / total
    for k in range(size):
        V[n, k] *= scale


@compiled("void(i8, i8, matrix)")
def project(low, high, V):  # type: ignore[no-untyped-def]
    """Each row of V becomes its projection onto the simplex."""
    for n in range(low, high):
        to_simplex(V, n)


@compiled("UniTuple(f8, 2)(csr)")
def asymmetry(pointers, columns, weights):  # type: ignore[no-untyped-def]
    """Largest |w_nm - w_mn| of a CSR matrix with sorted columns, and the position of such an entry.

    Rows are read in order, so the mirror images in any one row come up in order
    too: one cursor a row finds them all in O(nnz), without building the transpose.
    """
    rows = pointers.shape[0] - 1
    cursor = pointers[:-1].copy()
    worst, at = 0.0, 0
    for n in range(rows):
        for j in range(pointers[n], pointers[n + 1]):
            m = columns[j]
            i, end = cursor[m], pointers[m + 1]
            while i < end and columns[i] < n:  # passed over: entries without a mirror image
                if abs(weights[i]) > worst:
                    worst, at = abs(weights[i]), i
                i += 1
            other = 0.0
            if i < end and columns[i] == n:
                other = weights[i]
                i += 1
            cursor[m] = i
            if abs(weights[j] - other) > worst:
                worst, at = abs(weights[j] - other), j
    return worst, float(at)


@compiled("void(i8, i8, csr, vector, matrix, matrix)")
def apply(low, high, pointers, columns, weights, a, Z, out):  # type: ignore[no-untyped-def]
    """out_n = a_n z_n - sum_m w_nm z_m, two neighbours at a time.

    Indices are unsigned: Numba then need not test each for counting from the end.
    """
    size = np.uint64(Z.shape[1])
    one, two = np.uint64(1), np.uint64(2)
    for n in range(np.uint64(low), np.uint64(high)):
        for k in range(size):
            out[n, k] = a[n] * Z[n, k]
        j, end = np.uint64(pointers[n]), np.uint64(pointers[n + one])
        if (end - j) % two == one:
            m, weight = np.uint64(columns[j]), weights[j]
            for k in range(size):
                out[n, k] -= weight * Z[m, k]
            j += one
        while j < end:
            m, weight = np.uint64(columns[j]), weights[j]
            other, more = np.uint64(columns[j + one]), weights[j + one]
            for k in range(size):
                out[n, k] -= weight * Z[m, k] + more * Z[other, k]
            j += two


@compiled("UniTuple(f8, 2)(i8, i8, csr, vector, matrix, matrix, vector, vector, vector)")
def certify(low, high, starts, where, values, b, AZ, Z, gaps, inverse, residuals):  # type: ignore[no-untyped-def]
    """gaps_n = <grad_n, z_n> - min_k grad_nk; returns the sums of <z, (AZ)> and of <h, z>.

    Where ``residuals`` is not empty: residuals_n = max_k min(z_nk, (grad_nk - min_j grad_nj) inverse_n).
    """
    size, one = np.uint64(Z.shape[1]), np.uint64(1)
    gradient = np.empty(size)
    quadratic, linear = 0.0, 0.0
    for n in range(np.uint64(low), np.uint64(high)):
        for k in range(size):
            gradient[k] = AZ[n, k] - b[k]
            quadratic += AZ[n, k] * Z[n, k]
        for j in range(np.uint64(starts[n]), np.uint64(starts[n + one])):
            at = np.uint64(where[j])
            gradient[at] -= values[j]
            linear += values[j] * Z[n, at]
        least = gradient[0]
        for k in range(one, size):
            least = min(least, gradient[k])
        gap = 0.0
        for k in range(size):
            gap += (gradient[k] - least) * Z[n, k]
        gaps[n] = gap
        if residuals.shape[0] > 0:
            most = 0.0
            for k in range(size):
                most = max(most, min(Z[n, k], (gradient[k] - least) * inverse[n]))
            residuals[n] = most
    return quadratic, linear


@compiled("i8(integers, csr, vector, csr, f8, f8, i8, matrix, matrix)")
def relax(todo, pointers, columns, weights, a, starts, where, values, least, close, budget, Z, AZ):  # type: ignore[no-untyped-def]
    """Put rows at their best one after the other, and then the neighbours whose gradient moved.

    Row n becomes the projection of z_n + (h_n - (A Z)_n) / a_n, and A Z is kept up with it. A row
    is taken up (again) once its gradient has moved by more than ``least``, or by as much as
    moves the row itself by ``close``. Returns how many rows were visited; more than ``budget`` are not.
    """
    size, rows = Z.shape[1], Z.shape[0]
    queue = np.empty(rows, np.int64)
    waiting = np.zeros(rows, np.bool_)
    moved = np.zeros(rows)
    old, change, place = np.empty(size), np.empty(size), np.empty(size, np.int64)
    head, length = 0, todo.shape[0]
    for i in range(length):
        queue[i] = todo[i]
        waiting[todo[i]] = True
    visits = 0
    while length > 0 and visits < budget:
        n = queue[head]
        head = (head + 1) % rows
        length -= 1
        visits += 1
        waiting[n] = False
        moved[n] = 0.0
        for k in range(size):
            old[k] = Z[n, k]
            Z[n, k] -= AZ[n, k] / a[n]
        for j in range(starts[n], starts[n + 1]):
            Z[n, where[j]] += values[j] / a[n]
        to_simplex(Z, n)
        low, high, count = 0.0, 0.0, 0
        for k in range(size):
            step = Z[n, k] - old[k]
            if step != 0.0:  # few categories change where rows hold few
                place[count] = k
                change[count] = step
                count += 1
                AZ[n, k] += a[n] * step
                low = min(low, step)
                high = max(high, step)
        if count == 0:
            continue
        for j in range(pointers[n], pointers[n + 1]):
            m, weight = columns[j], weights[j]
            if count == size:
                for k in range(size):
                    AZ[m, k] -= weight * change[k]
            else:
                for i in range(count):
                    AZ[m, place[i]] -= weight * change[i]
            moved[m] += weight * (high - low)
            if moved[m] > min(least, close * a[m]) and not waiting[m]:
                waiting[m] = True
                queue[(head + length) % rows] = m
                length += 1
    return visits


@compiled("f8(i8, i8, csr, vector, vector, f8, matrix, matrix, matrix)")
def descend(low, high, starts, where, values, b, inverse, momentum, AY, Y, Z):  # type: ignore[no-untyped-def]
    """One accelerated projected-gradient step from Y: Z and Y move on in place.

    Returns sum_n <y - z_new, z_new - z_old> / inverse_n; positive means that
    the momentum points uphill and should be dropped.
    """
    size = Z.shape[1]
    old = np.empty(size)
    uphill = 0.0
    for n in range(low, high):
        for k in range(size):
            old[k] = Z[n, k]
            Z[n, k] = Y[n, k] - inverse[n] * (AY[n, k] - b[k])
        for j in range(starts[n], starts[n + 1]):
            Z[n, where[j]] += inverse[n] * values[j]
        to_simplex(Z, n)
        score = 0.0
        for k in range(size):
            change = Z[n, k] - old[k]
            score += (Y[n, k] - Z[n, k]) * change
            Y[n, k] = Z[n, k] + momentum * change
        uphill += score / inverse[n]
    return uphill


@compiled_with_caller
def _to_face(V, i, Z, n, whole=False):  # type: ignore[no-untyped-def]
    """Project row ``i`` of ``V`` onto the directions that stay on the face of z_n, or in the simplex."""
    size = Z.shape[1]
    total, count = 0.0, 0.0
    for k in range(size):
        kept = 1.0 if whole or Z[n, k] > 0.0 else 0.0
        total += kept * V[i, k]
        count += kept
    mean = total / count
    for k in range(size):
        kept = 1.0 if whole or Z[n, k] > 0.0 else 0.0
        V[i, k] = kept * (V[i, k] - mean)


@compiled("Tuple((f8, vector))(i8, i8, csr, vector, flags, vector, matrix, matrix, matrix, matrix, matrix)")
def face_start(low, high, starts, where, values, b, free, inverse, AZ, Z, X, R, P):  # type: ignore[no-untyped-def]
    """Begin conjugate gradients on the face of Z: X = P = 0, R.

    Returns sums over rows: inverse_n |r_n|^2, and r_n.
    """
    size = Z.shape[1]
    product, force = 0.0, np.zeros(size)
    for n in range(low, high):
        for k in range(size):
            R[n, k] = b[k] - AZ[n, k]
        for j in range(starts[n], starts[n + 1]):
            R[n, where[j]] += values[j]
        if not free[n]:
            _to_face(R, n, Z, n)
        for k in range(size):
            X[n, k] = 0.0
            P[n, k] = 0.0
            product += inverse[n] * R[n, k] * R[n, k]
            force[k] += R[n, k]
    return product, force


@compiled("f8(i8, i8, flags, matrix, matrix, matrix)")
def face_curvature(low, high, free, Z, P, Q):  # type: ignore[no-untyped-def]
    """Project Q = A P onto the face of Z, in place; returns <P, Q>.

    Free rows of Q sum to zero already, because all rows of P do.
    """
    size = Z.shape[1]
    product = 0.0
    for n in range(low, high):
        if not free[n]:
            _to_face(Q, n, Z, n)
        for k in range(size):
            product += P[n, k] * Q[n, k]
    return product


@compiled("Tuple((f8, f8, f8, f8, vector))(i8, i8, f8, vector, matrix, matrix, matrix, matrix, matrix)")
def face_advance(low, high, step, inverse, P, Q, Z, X, R):  # type: ignore[no-untyped-def]
    """X += step P, R -= step Q.

    Returns sums over rows: inverse_n |r_n|^2; the range of r_n; how far z_n + x_n
    lies below zero; how far x_n moves; and r_n.
    """
    size = X.shape[1]
    product, spread, below, moved = 0.0, 0.0, 0.0, 0.0
    force = np.zeros(size)
    for n in range(low, high):
        square, least, most = 0.0, 0.0, 0.0
        for k in range(size):
            x = X[n, k] + step * P[n, k]
            X[n, k] = x
            r = R[n, k] - step * Q[n, k]
            R[n, k] = r
            force[k] += r
            square += r * r
            least = min(least, r)
            most = max(most, r)
            below += max(0.0, -x - Z[n, k])
            moved += abs(x)
        product += inverse[n] * square
        spread += most - least
    return product, spread, below, moved, force


@compiled("void(i8, i8, f8, vector, indices, matrix, vector, flags, matrix, matrix, matrix)")
def face_turn(low, high, beta, slide, group, V, inverse, free, Z, R, P):  # type: ignore[no-untyped-def]
    """P = inverse R + beta P, plus coarser corrections, projected on the face.

    These are a slide (a number a category, or none) and the row of V of each row's group (if any).
    """
    size = P.shape[1]
    sliding, grouped = slide.shape[0] == size, group.shape[0] > 0
    more = np.zeros((1, size))
    for n in range(low, high):
        for k in range(size):
            P[n, k] = inverse[n] * R[n, k] + beta * P[n, k]
        together = grouped and group[n] >= 0
        if not (sliding or together):
            continue
        for k in range(size):
            more[0, k] = slide[k] if sliding else 0.0
            if together:
                more[0, k] += V[group[n], k]
        _to_face(more, 0, Z, n, free[n])
        for k in range(size):
            P[n, k] += more[0, k]


@compiled("f8(i8, i8, vector, vector, matrix, matrix, vector, matrix)")
def shift(low, high, b, scale, V, out, category_totals, slope):  # type: ignore[no-untyped-def]
    """out_n = projection of v_n + b / scale_n; adds its column sums and their slope in b.

    ``slope`` is the generalised Jacobian sum_n (diag(s) - s s'/|s|) / scale_n, s
    the support of out_n. Returns the dual value sum_n scale_n/2 |out_n - v_n|^2 - <b, out_n>.
    Cost: O(N (K + |s|^2)). Not for several threads at once (shared sums).
    """
    size = V.shape[1]
    support = np.empty(size, np.int64)
    value = 0.0
    for n in range(low, high):
        for k in range(size):
            out[n, k] = V[n, k] + b[k] / scale[n]
        to_simplex(out, n)
        count = 0
        for k in range(size):
            if out[n, k] > 0.0:
                support[count] = k
                count += 1
                category_totals[k] += out[n, k]
            value += 0.5 * scale[n] * (out[n, k] - V[n, k]) ** 2 - b[k] * out[n, k]
        for i in range(count):
            slope[support[i], support[i]] += 1.0 / scale[n]
            for j in range(count):
                slope[support[i], support[j]] -= 1.0 / (scale[n] * count)
    return value


@compiled_with_caller
def _add_edge(weight, mine, count, theirs, other, stiffness):  # type: ignore[no-untyped-def]
    """Add weight (P - Q)^2, P and Q the projections onto two faces with ``count`` and ``other`` entries."""
    size = mine.shape[0]
    both = 0.0
    for k in range(size):
        both += mine[k] * theirs[k]
    shared = both / (count * other)
    for k in range(size):
        s, t = mine[k], theirs[k]
        stiffness[k, k] += weight * (s + t - 2.0 * s * t)
        for i in range(size):
            u, v = mine[i], theirs[i]
            cross = s * v * (shared - t / other - u / count) + u * t * (shared - v / other - s / count)
            stiffness[k, i] -= weight * (s * u / count + t * v / other + cross)


@compiled("void(integers, csr, flags, matrix, matrix)")
def face_stiffness(partial, pointers, columns, weights, free, Z, stiffness):  # type: ignore[no-untyped-def]
    """Add up 1/2 sum_nm w_nm (P_n - P_m)^2, P_n the projection onto the face of z_n.

    This K x K matrix is the stiffness of the face against slides of whole categories;
    only edges of ``partial`` rows, those with a zero, count.
    """
    size = Z.shape[1]
    mine, theirs, full = np.empty(size), np.empty(size), np.ones(size)
    for n in partial:
        count = 0.0
        for k in range(size):
            mine[k] = 1.0 if Z[n, k] > 0.0 else 0.0
            count += mine[k]
        whole = 0.0
        for j in range(pointers[n], pointers[n + 1]):
            m = columns[j]
            other = 0.0
            for k in range(size):
                theirs[k] = 1.0 if free[m] or Z[m, k] > 0.0 else 0.0
                other += theirs[k]
            if other == size:
                whole += weights[j]
            else:
                _add_edge(0.5 * weights[j], mine, count, theirs, other, stiffness)
        _add_edge(whole, mine, count, full, float(size), stiffness)
