"""Assignments as they are on the disk, brought to the items and tags of today."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from lass.collection import Annotations, Collection
from lass.collection.arrays import Stored
from lass.learning.predictors import WITNESSES, Scores, Weights
from lass.learning.predictors.linear import reduced
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution
from lass.solvers.sparse import Assignments, mapped
from lass.tagging.completion import Completed
from lass.tagging.memory import fits
from lass.tagging.stages import features_of


def grown(Z: Array | Assignments, W: sp.csr_array, tags: int) -> Any:
    """Former assignments for more items and tags: new items get the mean of their neighbours, if any.

    An array where so many items x tags fit into the memory, sparse where not, whatever they were. A new
    tag has a share of zero; in sparse form, that of all other tags that nothing is known of.
    """
    if not fits(W.shape[0], tags):
        return _grown_sparsely(Z if isinstance(Z, Assignments) else Assignments.of(Z), W, tags)
    if isinstance(Z, Assignments):
        Z = Z.to_dense()
    rows, columns = Z.shape
    start = np.zeros((W.shape[0], tags))
    start[:rows, :columns] = Z
    if W.shape[0] > rows:
        new = W[rows:]
        degree = np.asarray(new[:, :rows].sum(axis=1)).ravel()[:, None]
        start[rows:] = np.divide(
            new @ start, degree, out=np.full((W.shape[0] - rows, tags), 1 / tags), where=degree > 0
        )
    return start


def _grown_sparsely(Z: Assignments, W: sp.csr_array, tags: int) -> Assignments:
    Z, rows = Z.widened(tags), len(Z)
    if W.shape[0] == rows:
        return Z
    new = W.shape[0] - rows
    return Z.joined(mapped(sp.csr_array(W[rows:, :rows]), Z, sp.csr_array((new, tags)), math.inf))


def compact_features(collection: Collection, former: Stored | None) -> dict[str, Any]:
    """Features with few columns, as they were saved with the assignments or made anew, to be saved again.

    Empty where items are compared by given ties.
    """
    if collection.settings.metric == "precomputed":
        return {}
    features = features_of(collection)
    made = collection.stored("features")
    token = "" if made is None else made.stamp.token
    if former is not None and str(former.beside.get("reduced_from", "")) == token:
        return {name: former.beside[name] for name in ("reduced", "reduced_from")}
    return {"reduced": reduced(features).astype(np.float32), "reduced_from": np.asarray(token)}


def keep(collection: Collection, completed: Completed, words: Annotations, beside: dict[str, Any]) -> None:
    """Save assignments and scores for these words, with what else there is to know of them."""
    scores = {}
    if completed.scores is not None and completed.weights is not None:
        scores = {
            "scores": completed.scores.values.astype(np.float16),
            "best": completed.scores.best,
            "parts": completed.scores.parts.reshape(len(completed.scores.parts), -1).astype(np.float16),
            "weights": np.asarray(completed.weights.to_json()),
        }
    solution = completed.solution
    Z = solution.Z if completed.is_sparse else solution.Z.astype(np.float32)
    collection.save_assignments(
        Z, words.number, lam=np.asarray(completed.lam),
        gap=np.asarray([solution.gap, solution.relative_gap]), **scores, **beside,
    )  # fmt: skip


def restored(collection: Collection) -> tuple[Completed, Annotations]:
    """The assignments as they were saved, for the items and tags they know, with the words of today."""
    former, graph = collection.stored("assignments"), collection.stored("graph")
    if former is None or graph is None or "lam" not in former.beside:
        raise ValueError(f"{collection.path} has no assignments yet; make them: lass fit {collection.path}")
    words = collection.annotations()
    W = graph.matrix
    rows = W.shape[0]
    if former.stamp.items != rows or former.stamp.items > len(words.ids):
        raise ValueError(f"the graph of {collection.path} is newer than its assignments; run lass fit again")
    saved = former.matrix
    if not isinstance(saved, Assignments) and (  # those were checked when they were read
        saved.min() < 0 or np.abs(saved.sum(axis=1) - 1).max() > 1e-3
    ):
        raise ValueError(f"the assignments of {collection.path} are damaged; run lass fit again")
    problem = Problem(W, words.G[:rows], float(former.beside["lam"]))
    Z = grown(saved, W, words.G.shape[1])
    if not isinstance(Z, Assignments):
        Z /= Z.sum(axis=1, keepdims=True)  # they are in single precision on the disk
    solution = Solution(problem, Z, tol=1e-3, method="saved", n_iter=0, seconds=0.0, history=[])
    completed = Completed(solution, problem.lam)
    return completed if completed.is_sparse else _with_scores(completed, former), words


def _with_scores(completed: Completed, former: Stored) -> Completed:
    """The scores as they were saved; a tag that is new since then has none yet."""
    if not {"scores", "best", "parts", "weights"} <= former.beside.keys():
        return completed
    saved, best, parts = (former.beside[name] for name in ("scores", "best", "parts"))
    rows, columns = completed.solution.Z.shape
    weights = Weights.from_json(str(former.beside["weights"]))
    if (
        len({rows, len(saved), len(best), len(parts)}) > 1
        or saved.shape[1] > columns
        or parts.shape[1] != best.shape[1] * len(WITNESSES)
        or not (saved.min(initial=0) >= 0 and saved.max(initial=0) <= 1 and np.isfinite(parts).all())
    ):
        raise ValueError("the scores of the collection are damaged; run lass fit again")
    values = np.zeros((rows, columns), np.float32)
    values[:, : saved.shape[1]] = saved
    shape = (rows, best.shape[1], len(WITNESSES))
    scores = Scores(values, best.astype(np.int32), parts.astype(np.float32).reshape(shape))
    return replace(completed, weights=weights, scores=scores)
