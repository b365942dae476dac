"""The paper's illustrative example: fourteen items, four categories that overlap, three printed tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from lass.baselines import harmonic, labels_from_affinities
from lass.model.quadratic_program import Array
from lass.solvers.solving import solve

LETTERS = "abcdefg"
CATEGORIES = ("C1", "C2", "C3", "C4")
POSITIVE = {"a": [1], "b": [2], "c": [1], "d": [4], "e": [1, 3], "f": [3], "g": [3, 4]}
NEGATIVE = {"a": [2], "d": [3]}
#: the paper shows its graph in a picture alone; these edges of weight one give its tables back
EDGES = ("ab", "ad", "de", "ec", "cf", "eg")
SSL, FROM_POSITIVE, FROM_BOTH = "SSL", "LASS, positive affinities", "LASS, positive and negative affinities"
#: assignments of the items a' to g' as the paper prints them
PRINTED: dict[str, list[list[float]]] = {
    SSL: [
        [1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0.5, 0, 0.5, 0], [0, 0, 1, 0],
        [0, 0, 0.5, 0.5],
    ],
    FROM_POSITIVE: [
        [0.57, 0.28, 0.10, 0.05], [0.40, 0.60, 0, 0], [0.30, 0, 0.70, 0], [0.36, 0.08, 0.33, 0.23],
        [0.29, 0, 0.68, 0.03], [0.05, 0, 0.95, 0], [0, 0, 0.82, 0.18],
    ],
    FROM_BOTH: [
        [0.90, 0, 0, 0.10], [0.70, 0.30, 0, 0], [0.60, 0, 0.40, 0], [0.70, 0, 0, 0.30],
        [0.57, 0, 0.37, 0.07], [0.35, 0, 0.65, 0], [0.24, 0, 0.53, 0.23],
    ],
}  # fmt: skip
#: the most that print may differ: half of its last digit, and what its stopping rule leaves
ALLOWED = 0.0075


def toy_problem(negative: bool) -> tuple[Array, Array]:
    """The graph and the affinities: items a-g, then a'-g', each of these with one edge to its letter.

    Examples
    --------
    >>> from lass.report.paper_toy import toy_problem
    >>> W, G = toy_problem(negative=True)
    >>> W.shape, G[:2].tolist()
    ((14, 14), [[1.0, -1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    """
    W, G = np.zeros((14, 14)), np.zeros((14, 4))
    pairs = [[LETTERS.index(letter) for letter in edge] for edge in EDGES] + [[n, n + 7] for n in range(7)]
    rows, columns = np.array(pairs).T
    W[rows, columns] = W[columns, rows] = 1.0
    for given, sign in ((POSITIVE, 1.0), (NEGATIVE if negative else {}, -1.0)):
        for letter, categories in given.items():
            G[LETTERS.index(letter), np.array(categories) - 1] = sign
    return W, G


def toy_assignments() -> tuple[dict[str, Array], dict[str, Any]]:
    """Assignments of all fourteen items by the name of the printed table, and the solutions of LASS."""
    both = {FROM_POSITIVE: False, FROM_BOTH: True}
    solutions = {name: solve(*toy_problem(negative), 1.0, tol=1e-12) for name, negative in both.items()}
    W, G = toy_problem(negative=False)
    found = {SSL: harmonic(W, labels_from_affinities(G))}
    return found | {name: solution.Z for name, solution in solutions.items()}, solutions


def toy_differences(found: dict[str, Array]) -> dict[str, Array]:
    """How far the primed items are from print, entry by entry."""
    return {name: np.abs(Z[7:] - PRINTED[name]) for name, Z in found.items()}


def toy_text(found: dict[str, Array]) -> str:
    """The three tables as text: what was found, with print in brackets."""
    lines = []
    for name, Z in found.items():
        lines.append(f"{name}: found (printed)")
        for letter, row, printed in zip(LETTERS, Z[7:], PRINTED[name], strict=True):
            cells = (f"{value:.3f} ({print_:.2f})" for value, print_ in zip(row, printed, strict=True))
            lines.append(f"  {letter}'  " + "  ".join(cells))
    return "\n".join(lines)
