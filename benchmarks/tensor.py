"""Tensors: seconds of `solve_tensor` beside `solve` on the explicit product graph, and their growth.

    python -m benchmarks.tensor                       items x 12 periods x 50 categories, up to 20,000 items
    python -m benchmarks.tensor --items 2000 4000     other sizes

Items are drawn from clusters, with 15 neighbours each; periods are a path; one cell in fifty is labelled.
Both solve to the same certified relative gap, 1e-5. The matrix has the same number of rows and edges; making
its graph is not charged.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import lass
from benchmarks.common import results
from benchmarks.common.measuring import fastest, growth
from benchmarks.common.options import parser, run


def tensor(items: int, periods: int, categories: int, seed: int = 0) -> tuple[Any, Any, sp.csr_array]:
    """Graphs of items and periods, and labels of some cells."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(categories, 8)) * 1.5
    truth = rng.integers(categories, size=items)
    W = lass.knn_graph(centres[truth] + rng.normal(size=(items, 8)), 15)
    path = sp.csr_array(sp.diags_array([np.ones(periods - 1)] * 2, offsets=[-1, 1]))
    cells = np.flatnonzero(rng.random(items * periods) < 0.02)
    labels = (np.ones(len(cells)), (cells, truth[cells // periods]))
    return W, path, sp.csr_array(labels, shape=(items * periods, categories))


def compare(
    items: int, periods: int, categories: int, lams: tuple[float, float], repeat: int
) -> dict[str, Any]:
    """Seconds and iterations of both."""
    W, path, G = tensor(items, periods, categories)
    shape = (items, periods, categories)
    ours = fastest(partial(lass.solve_tensor, [W, path], G, lams, shape=shape), repeat, warm=False)
    product = ours.result.problem.operator.formed()
    matrix = fastest(partial(lass.solve, product, G, 1.0), repeat, warm=False)
    return {
        "items": items, "periods": periods, "categories": categories, "lams": list(lams),
        "cells": items * periods, "edges": product.nnz // 2,
        "tensor": ours.seconds, "tensor_processor": ours.processor, "tensor_iterations": ours.result.n_iter,
        "tensor_gap": ours.result.relative_gap,
        "matrix": matrix.seconds, "matrix_processor": matrix.processor,
        "matrix_iterations": matrix.result.n_iter, "matrix_gap": matrix.result.relative_gap,
    }  # fmt: skip


def main() -> None:
    """Measure, print the table and write the numbers."""
    options = parser(__doc__)
    options.add_argument("--items", type=int, nargs="+", default=[2500, 5000, 10_000, 20_000])
    options.add_argument("--periods", type=int, default=12)
    options.add_argument("--categories", type=int, default=50)
    options.add_argument("--repeat", type=int, default=2)
    arguments = options.parse_args()
    warnings.simplefilter("error", lass.ConvergenceWarning)
    compare(100, 3, 5, (1.0, 1.0), 1)  # kernels are compiled at their first call
    path = arguments.out / "tensor.json"
    rows = [row for row in results.read(path).get("rows", []) if row["items"] not in arguments.items]
    for items in arguments.items:
        for lams in ((1.0, 1.0), (1.0, 10.0)):
            row = compare(items, arguments.periods, arguments.categories, lams, arguments.repeat)
            rows.append(row)
            print(
                f"{items:7,} items, lams {lams}: {row['tensor']:7.2f} s, {row['tensor_iterations']} "
                f"iterations; matrix {row['matrix']:7.2f} s, {row['matrix_iterations']} iterations; "
                f"ratio {row['tensor_processor'] / row['matrix_processor']:.2f}",
                flush=True,
            )
    rows.sort(key=lambda row: (row["items"], row["lams"]))
    cells = [row["cells"] for row in rows]
    exponent = growth(cells, [row["tensor_processor"] / row["tensor_iterations"] for row in rows])
    results.add(path, {"tolerance": 1e-5, "rows": rows, "exponent": exponent})


if __name__ == "__main__":
    run(main)
