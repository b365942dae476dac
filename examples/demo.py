"""What LASS does, in two pictures: the toy example of the paper, and two moons with two labels.

Run with ``make demo``, or ``python examples/demo.py [folder for the pictures]``.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import lass
from lass.report.paper_toy import LETTERS, toy_problem

COLOURS = np.array([[0.12, 0.47, 0.71], [1.0, 0.5, 0.05], [0.17, 0.63, 0.17], [0.84, 0.15, 0.16]])


def print_table(title: str, sol: lass.Solution) -> None:
    print(f"\n{title}\n      C1    C2    C3    C4")
    for letter, row in zip(LETTERS, sol.Z[7:], strict=True):
        print(f"  {letter}' " + " ".join(f"{value:5.2f}" for value in row))
    print(f"  objective {sol.objective:.6f}, certified to {sol.gap:.1e} in {1e3 * sol.seconds:.1f} ms")


def draw_toy(solutions: dict[str, lass.Solution], path: Path) -> None:
    """Assignments as one bar an item: from positive affinities alone (left), and with two denials."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for axis, (title, sol) in zip(axes, solutions.items(), strict=True):
        bottom = np.zeros(7)
        for k in range(4):
            axis.bar(range(7), sol.Z[7:, k], bottom=bottom, color=COLOURS[k], label=f"C{k + 1}", width=0.75)
            bottom += sol.Z[7:, k]
        axis.set_xticks(range(7), [f"{letter}'" for letter in LETTERS])
        axis.set_title(title, fontsize=11)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("assignment")
    axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.suptitle("Seven unlabelled items of the paper's example", fontsize=12)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def draw_moons(X: np.ndarray, G: np.ndarray, sol: lass.Solution, path: Path) -> None:
    """The labels, and the assignments that follow."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True, sharey=True)
    axes[0].scatter(*X.T, s=2, color="0.75")
    labelled = np.flatnonzero(G.any(axis=1))
    axes[0].scatter(*X[labelled].T, s=90, c=G[labelled, 1], cmap="coolwarm", edgecolor="black", zorder=3)
    axes[0].set_title("given: 4,000 items, 2 labels", fontsize=11)
    points = axes[1].scatter(*X.T, s=3, c=sol.Z[:, 1], cmap="coolwarm", vmin=0, vmax=1)
    axes[1].set_title(
        f"found: relative gap {sol.relative_gap:.0e} in {1e3 * sol.seconds:.0f} ms", fontsize=11
    )
    figure.colorbar(points, ax=axes, label="assignment to the second category", shrink=0.9)
    for axis in axes:
        axis.set_xticks([])
        axis.set_yticks([])
    figure.savefig(path, dpi=150, bbox_inches="tight")


def main(folder: Path) -> None:
    logging.basicConfig(format="%(message)s")
    folder.mkdir(parents=True, exist_ok=True)
    titles = {"positive affinities only": False, "with two denials: a is not C2, d is not C3": True}
    solutions = {
        title: lass.solve(*toy_problem(negative), lam=1.0, tol=1e-9) for title, negative in titles.items()
    }
    print("The toy example of the paper: 14 items, 4 categories, lam = 1")
    for title, sol in solutions.items():
        print_table(title, sol)
    draw_toy(solutions, folder / "toy.png")

    X, moon = make_moons(4000, noise=0.1, random_state=0)
    G = np.zeros((4000, 2))
    for k in (0, 1):
        G[np.flatnonzero(moon == k)[0], k] = 1
    sol = lass.solve(lass.knn_graph(X, n_neighbors=5, weights="binary"), G, lam=1.0)
    right = np.mean(sol.Z.argmax(axis=1) == moon)
    print(f"\nTwo moons: 4,000 items, 2 labels; {100 * right:.1f} % right")
    print(f"  {sol.method}")
    print(f"  relative gap {sol.relative_gap:.1e} in {1e3 * sol.seconds:.0f} ms")
    draw_moons(X, G, sol, folder / "moons.png")
    print(f"\nPictures: {folder / 'toy.png'}  {folder / 'moons.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo"))
