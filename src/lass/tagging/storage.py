"""The model of a collection on disk: saved, and loaded for the tags of today."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import scipy.sparse as sp

from lass.collection import AnnotationMatrix, CollectionStore
from lass.learning.predictors import linear
from lass.model.problem import Problem
from lass.solvers.assignments import extended, is_feasible, is_sparse
from lass.solvers.solution import Solution
from lass.tagging.completion import TagModel
from lass.tagging.preparation import features_of
from lass.tagging.state import FitRecord, SavedModel


def reduced_features(collection: CollectionStore, record: FitRecord, former: FitRecord | None) -> FitRecord:
    """The record with features in few columns: those of the former fit, if its features are still the same.

    Without any where the graph was given.
    """
    if collection.settings.metric == "precomputed":
        return record
    features = features_of(collection)
    saved = collection.saved_array("features")
    token = "" if saved is None else saved.stamp.token
    if former is not None and former.reduced_features is not None and former.reduced_from == token:
        compact = former.reduced_features
    else:
        compact = linear.reduced(features).astype(np.float32)
    return replace(record, reduced_features=compact, reduced_from=token)


def save_model(
    collection: CollectionStore, model: TagModel, annotations: AnnotationMatrix, record: FitRecord
) -> None:
    """Save assignments, weights and scores for these annotations, with what the next fit may reuse."""
    solution = model.solution
    kept = {one.name: getattr(record, one.name) for one in fields(FitRecord)}
    state = SavedModel(
        lam=model.lam, gaps=np.array([solution.gap, solution.relative_gap]),
        **SavedModel.score_fields(model.weights, model.scores), **kept,
    )  # fmt: skip
    Z = solution.Z if model.is_sparse else solution.Z.astype(np.float32)
    collection.save_assignments(Z, annotations.number, **state.to_arrays())


def saved_model(collection: CollectionStore) -> SavedModel | None:
    """What was saved with the assignments; None before the first fit."""
    saved = collection.saved_array("assignments")
    return None if saved is None else SavedModel.from_arrays(saved.extras)


def load_model(collection: CollectionStore) -> tuple[TagModel, AnnotationMatrix]:
    """The saved assignments and scores for the items they know and all tags, with the present annotations."""
    saved, graph = collection.saved_array("assignments"), collection.saved_array("graph")
    state = None if saved is None else SavedModel.from_arrays(saved.extras)
    if saved is None or state is None or graph is None:
        raise ValueError(f"{collection.path} has no assignments yet; make them: lass fit {collection.path}")
    annotations = collection.annotation_matrix()
    W, Z = graph.matrix, saved.matrix
    if saved.stamp.items != W.shape[0] or saved.stamp.items > len(annotations.ids):
        raise ValueError(f"the graph of {collection.path} is newer than its assignments; run lass fit again")
    if sp.issparse(Z) or not is_feasible(Z, tol=1e-3):
        raise ValueError(f"the assignments of {collection.path} are damaged; run lass fit again")
    problem = Problem(W, annotations.G[: W.shape[0]], state.lam)
    Z = extended(Z, W, annotations.G.shape[1])
    if not is_sparse(Z):
        Z /= Z.sum(axis=1, keepdims=True)  # they are in single precision on the disk
    solution = Solution(problem, Z, tol=1e-3, method="saved", n_iter=0, seconds=0.0, history=[])
    model = TagModel(solution, problem.lam)
    scored = None if model.is_sparse else state.read_scores(*Z.shape)
    return model if scored is None else replace(model, weights=scored[0], scores=scored[1]), annotations
