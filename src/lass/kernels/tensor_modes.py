"""Products with the Laplacian of one mode of a tensor."""

from __future__ import annotations

from lass.kernels.compilation import compiled


@compiled("void(i8, i8, i8, csr, vector, f8, b1, matrix, matrix)")
def apply_mode(low, high, size, pointers, columns, weights, a, scale, add, Z, out):  # type: ignore[no-untyped-def]
    """out_r (+)= scale (a_n z_r - sum_m w_nm z_(r - n + m)), n the place of row r in its fibre.

    Rows of one fibre follow each other, ``size`` of them.
    """
    width = Z.shape[1]
    for r in range(low, high):
        n = r % size
        first = r - n
        factor = scale * a[n]
        if add:
            for k in range(width):
                out[r, k] += factor * Z[r, k]
        else:
            for k in range(width):
                out[r, k] = factor * Z[r, k]
        for j in range(pointers[n], pointers[n + 1]):
            m, weight = first + columns[j], scale * weights[j]
            for k in range(width):
                out[r, k] -= weight * Z[m, k]
