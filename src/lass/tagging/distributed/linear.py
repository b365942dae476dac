"""Linear models of tags on parts: mean features around items in rounds, inner products summed over parts.

Tables: ``near`` (mean features around each item), ``fold``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lass.kernels.threads import one_blas_thread
from lass.learning.predictors.linear import (
    CONTINUE,
    PENALTIES,
    STEPS,
    LinearPredictor,
    Models,
    folds_of,
    modelled,
    ridge_weights,
    transitions,
    unit_rows,
)
from lass.tagging.distributed.cluster import Cluster
from lass.tagging.distributed.features import REDUCED
from lass.tagging.distributed.local_graph import LocalGraph
from lass.tagging.distributed.propagation import tags_at
from lass.tagging.distributed.workspace import Rows, Workspace

NEAR, FOLD = "near", "fold"


def prepare(cluster: Cluster, space: Workspace, groups: NDArray[np.intp]) -> None:
    """What all models share: the features around each item, and the folds of the groups."""
    fold = folds_of(groups)
    for part in space.parts:
        space.write(FOLD, part, fold=fold[space.rows(part)])
    cluster.map("linear models", start_near, [(space, part) for part in space.parts])
    for step in range(STEPS):
        cluster.map("linear models", near_step, [(space, part, step) for part in space.parts])
        space.remove(*([f"{NEAR}-{step}"] if step else []))
    space.remove(f"{NEAR}-0")
    space.path(f"{NEAR}-{STEPS}").rename(space.path(NEAR))


def start_near(space: Workspace, part: int) -> None:
    """The items' own features, as rows of length one."""
    space.write(f"{NEAR}-0", part, rows=unit_rows(np.array(space.read(REDUCED, part)["rows"])))


def near_step(space: Workspace, part: int, step: int) -> None:
    """Each row plus the mean of those around it; rows of length one after the last step."""
    found = []
    for rows in space.blocks(part):
        local = LocalGraph.load(space, rows)
        before = space.take(f"{NEAR}-{step}", local.known)["rows"]
        P = transitions(local.W).astype(np.float32)
        own = space.take(f"{NEAR}-0", rows)["rows"]
        found.append(own + np.float32(CONTINUE) * (P @ before)[local.own])
    result = np.concatenate(found)
    space.write(f"{NEAR}-{step + 1}", part, rows=unit_rows(result) if step + 1 == STEPS else result)


def predictor(space: Workspace, rows: Rows) -> LinearPredictor:
    """The features of some rows, in the order of these."""
    own, near = (space.take(name, rows)["rows"] for name in (REDUCED, NEAR))
    return LinearPredictor.restored(own, near, space.take(FOLD, rows)["fold"])


def fit_models(cluster: Cluster, space: Workspace, run: str, counts: NDArray[np.intp]) -> Models:
    """Models of the tags of a run, whose items each have so many; solved by the driver."""
    tags, weights = modelled(counts), []
    for view in range(2):
        calls = [(space, run, part, view, tags, len(counts)) for part in space.parts]
        cluster.map("linear models", products_part, calls)
        parts = [space.read(f"{run}/products", part) for part in space.parts]
        grams, sums = (np.sum([one[name] for one in parts], axis=0) for name in ("grams", "sums"))
        with one_blas_thread():
            weights += ridge_weights(grams, sums, PENALTIES)
    space.remove(f"{run}/products")
    return Models.of(weights, tags, len(counts))


def products_part(
    space: Workspace, run: str, part: int, view: int, tags: NDArray[np.int32], count: int
) -> None:
    """Inner products over the tagged items of a part."""
    rows = space.rows(part)
    with one_blas_thread():
        grams, sums = predictor(space, rows).products(view, tags_at(space, run, rows, count), tags)
    space.write(f"{run}/products", part, grams=grams, sums=sums)
