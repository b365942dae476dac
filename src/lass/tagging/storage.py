"""The model of a collection on disk: typed objects saved with its arrays; only this module knows the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import AnnotationMatrix, CollectionStore
from lass.collection.arrays import SavedArray, in_32_bits, relevant
from lass.collection.records import command_line
from lass.learning.predictors import PREDICTORS, LinearPredictor, PredictorFeatures, Scores, Weights
from lass.learning.predictors.linear import Models
from lass.learning.predictors.propagation import STATE, Propagation
from lass.learning.predictors.tag_facets import FacetedProblem, FacetedSolution, shares_of, stored_shares
from lass.model.mapped_arrays import CsrPieces, Pieces, release
from lass.model.problem import Problem
from lass.solvers.assignments import extended, is_feasible, is_sparse, to_sparse
from lass.solvers.solution import Solution
from lass.solvers.sparse import SparseAssignments
from lass.tagging.canonical import fingerprint
from lass.tagging.completion import TagModel
from lass.tagging.facet_choice import facets_of

#: version of the keys; files of lass 0.1.0 hold none, and are read by the names in ``V0_KEYS``
VERSION = 1
#: how many predictors earlier versions had: the first of those of now
FORMER_PREDICTORS = (6,)
SCALARS = {"int": int, "float": float, "str": str}


@dataclass(frozen=True, kw_only=True)
class SavedState:
    """Base: a dataclass whose fields are stored as arrays by name; what is None or "" is left out."""

    #: key in files of lass 0.1.0 -> field
    V0_KEYS: ClassVar[dict[str, str]] = {}

    def to_arrays(self) -> dict[str, Any]:
        """Arrays by key, to be saved with an array of a collection."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {"version": np.asarray(VERSION)} | {
            name: value if sp.issparse(value) or isinstance(value, Pieces | CsrPieces) else np.asarray(value)
            for name, value in values.items()
            if not (value is None or (isinstance(value, str) and not value))
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self | None:
        """What :meth:`to_arrays` gave, or lass 0.1.0 wrote; None where a required field is missing.

        An array that somebody saved by itself, such as a given graph, has none of the fields.
        """
        found = cls._fields(arrays)
        values = {}
        for one in fields(cls):
            if one.name in found:
                values[one.name] = SCALARS.get(str(one.type), lambda value: value)(found[one.name])
            elif one.default is MISSING and one.default_factory is MISSING:
                return None
        return cls(**values)

    @classmethod
    def _fields(cls, arrays: Mapping[str, Any]) -> dict[str, Any]:
        version = int(arrays.get("version", 0))
        if version > VERSION:
            raise ValueError(
                f"it was saved by a newer version of lass (format {version}, this one reads {VERSION}); "
                "update lass, or run lass fit again"
            )
        return {cls.V0_KEYS.get(key, key) if version == 0 else key: value for key, value in arrays.items()}


@dataclass(frozen=True, kw_only=True)
class SavedFeatures(SavedState):
    """How features were computed, and from how many items."""

    V0_KEYS: ClassVar = {"fitted": "n_fitted", "grown_from": "extended_from"}

    #: items that the extractor was fitted to
    n_fitted: int
    #: state of the extractor, see :class:`lass.collection.features.TextFeatures`; each array has its own key
    extractor: dict[str, Any] = field(default_factory=dict)
    #: "id" where the order in which items came does not matter; older versions saved no such thing
    sorted_by: str = ""
    #: how items are compared, see :func:`lass.tagging.feature_choice.way_of`
    way: str = ""

    def to_arrays(self) -> dict[str, Any]:  # noqa: D102
        arrays = super().to_arrays()
        del arrays["extractor"]
        return arrays | {f"extractor_{name}": value for name, value in self.extractor.items()}

    @classmethod
    def _fields(cls, arrays: Mapping[str, Any]) -> dict[str, Any]:
        found = super()._fields(arrays)
        others = found.keys() - {"version", "n_fitted", "extended_from", "sorted_by", "way"}
        return found | {"extractor": {key.removeprefix("extractor_"): found[key] for key in others}}


@dataclass(frozen=True, kw_only=True)
class SavedGraph(SavedState):
    """How a graph was built."""

    V0_KEYS: ClassVar = {"fitted": "n_fitted"}

    #: items in the first of the graphs that were built one after the other because a few items were added;
    #: the map keeps its points that long
    n_fitted: int
    #: as in :class:`SavedFeatures`
    sorted_by: str = ""
    #: where edges are given beside features: neighbours by features alone, and what the graph is made of
    #: (:data:`lass.learning.features_and_edges.GRAPHS`)
    neighbours: sp.csr_array | None = None
    made_of: str = ""


@dataclass(frozen=True, kw_only=True)
class SavedMap(SavedState):
    """What a map was drawn from."""

    V0_KEYS: ClassVar = {"drawn": "n_drawn", "fitted": "n_fitted"}

    #: items on the map when all of it was drawn together
    n_drawn: int
    #: ``n_fitted`` of the graph then, -1 if unknown
    n_fitted: int = -1
    #: group of each item, -1 for none, and the terms of each group as JSON, see :mod:`lass.tagging.topics`
    groups: NDArray[np.int32] | None = None
    group_terms: str = ""


@dataclass(frozen=True, kw_only=True)
class FitRecord(SavedState):
    """How a model was trained, and what the next training of the same items need not compute again."""

    lam_reason: str = ""
    #: how items are compared, and why, a sentence a line; and that on edges beside features among them
    comparisons: str = ""
    edges_reason: str = ""
    #: :func:`lass.tagging.canonical.fingerprint` of the annotations that the model was trained with; empty
    #: where they have changed since and only the assignments follow them
    trained_on: str = ""
    #: why assignments are, or are not, distributions within facets; empty without a choice
    facets_reason: str = ""
    #: seconds of the training
    seconds: float = 0.0
    #: features in few columns for the linear predictor, and the token of the features they were made from
    reduced_features: NDArray[np.float32] | None = None
    reduced_from: str = ""


@dataclass(frozen=True, kw_only=True)
class SavedModel(FitRecord):
    """Lam, certificate, weights and scores that belong to saved assignments."""

    V0_KEYS: ClassVar = {
        "reason": "lam_reason", "reduced": "reduced_features", "gap": "gaps", "best": "top_tags",
        "parts": "contributions",
    }  # fmt: skip

    lam: float
    #: absolute and relative gap, and the objective, which earlier versions did not save
    gaps: NDArray[np.float64]
    #: where assignments are distributions within facets: the sums of the shares of each item, by which the
    #: rows in the file were divided
    facet_sums: NDArray[np.float64] | None = None
    #: the weights as JSON, see :class:`lass.learning.predictors.Weights`
    weights: str = ""
    #: fields of :class:`lass.learning.predictors.Scores`: scores as CSR (lass 0.1.0 saved all of them, in
    #: half precision), contributions with two axes, in half precision
    scores: Any = None
    top_tags: Any = None
    contributions: Any = None

    @property
    def relative_gap(self) -> float:
        """The gap over the stake."""
        return float(self.gaps[1])

    def with_scores(self, model: TagModel) -> TagModel:
        """The model with the saved weights and scores, if any; a tag that is new since then scores zero."""
        saved, top, parts = self.scores, self.top_tags, self.contributions
        if saved is None or top is None or parts is None or not self.weights:
            return model
        weights = Weights.from_json(self.weights)
        items, tags = model.solution.Z.shape
        values = sp.csr_array(saved.astype(np.float32, copy=False))
        if (
            len({items, values.shape[0], len(top), len(parts)}) > 1
            or values.shape[1] > tags
            or parts.shape[1] not in [top.shape[1] * count for count in (len(PREDICTORS), *FORMER_PREDICTORS)]
            or not (values.data.min(initial=0) >= 0 and values.data.max(initial=0) <= 1)
            or top.max(initial=-1) >= tags
        ):
            raise ValueError("the saved scores are damaged; run lass fit again")
        values = sp.csr_array((values.data, values.indices, values.indptr), shape=(items, tags))
        contributions = parts.reshape(items, top.shape[1], parts.shape[1] // top.shape[1])
        if missing := len(PREDICTORS) - contributions.shape[2]:
            contributions = np.pad(contributions, ((0, 0), (0, 0), (0, missing)))
        return replace(model, weights=weights, scores=Scores(values, top, contributions))

    @property
    def record(self) -> FitRecord:
        """How the model was trained, without the model itself."""
        return FitRecord(**{one.name: getattr(self, one.name) for one in fields(FitRecord)})


@dataclass(frozen=True, kw_only=True)
class SavedPredictors(SavedState):
    """What predictors computed over all items, in canonical order: with it an update need not begin anew."""

    #: the tags that count, in canonical order
    counted_tags: NDArray[np.intp]
    #: see :class:`lass.learning.predictors.propagation.Propagation`
    stepped: Any
    walked: Any
    harmonic: Any
    visits: NDArray[np.float64]
    returns: NDArray[np.float64]
    smoothing: float
    #: median weight of the edges; zero: not known
    typical_weight: float = 0.0
    #: see :class:`lass.learning.predictors.linear.LinearPredictor`; None without features
    near_features: NDArray[np.float32] | None = None
    fold: NDArray[np.int8] | None = None
    linear_weights: NDArray[np.float32] | None = None
    linear_place: NDArray[np.int32] | None = None
    linear_tags: NDArray[np.int32] | None = None
    #: see :func:`lass.learning.predictors.trees.tree_shares`; None without trees
    tree_shares: Any = None

    @classmethod
    def of(cls, features: PredictorFeatures, columns: NDArray[np.intp]) -> SavedPredictors:
        """Those of predictors whose tags are these of the collection."""
        linear, models = features.linear, features.models
        found = cls(
            counted_tags=columns, tree_shares=features.trees, typical_weight=features.typical_weight,
            **features.propagation.state(),
        )  # fmt: skip
        if linear is None or models is None:
            return found
        return replace(
            found, near_features=linear.near, fold=linear.fold.astype(np.int8),
            linear_weights=np.stack(models.weights), linear_place=models.place, linear_tags=models.tags,
        )  # fmt: skip

    def restored(
        self, W: sp.csr_array, G: sp.csr_array, Z: SparseAssignments, features: NDArray[np.float32] | None
    ) -> PredictorFeatures | None:
        """The predictors; None where they do not fit the graph and the features."""
        if self.walked.shape != G.shape or (features is None) != (self.near_features is None):
            return None
        propagation = Propagation.restored(W, {name: getattr(self, name) for name in STATE})
        linear, models = None, None
        near, fold = self.near_features, self.fold
        weights, place, tags = self.linear_weights, self.linear_place, self.linear_tags
        if features is not None:
            if near is None or fold is None or weights is None or place is None or tags is None:
                return None
            if features.shape != near.shape:
                return None
            linear = LinearPredictor.restored(features, near, fold)
            models = Models(list(weights), place, tags)
        return PredictorFeatures(
            W, G, Z, linear, propagation, models=models, trees=self.tree_shares,
            typical_weight=self.typical_weight,
        )  # fmt: skip


def save_model(
    collection: CollectionStore, model: TagModel, annotations: AnnotationMatrix, record: FitRecord,
    predictors: SavedPredictors | None = None,
) -> None:  # fmt: skip
    """Save assignments, weights and scores for these annotations, with how they were found."""
    solution, weights, scores = model.solution, model.weights, model.scores
    kept = {one.name: getattr(record, one.name) for one in fields(FitRecord)}
    gaps = np.array([solution.gap, solution.relative_gap, solution.objective])
    state, Z = SavedModel(lam=model.lam, gaps=gaps, **kept), to_sparse(solution.Z)
    if isinstance(solution.problem, FacetedProblem):
        Z, sums = stored_shares(Z)
        state = replace(state, facet_sums=sums)
    if weights is not None and scores is not None:
        values, top, parts = scores.pieces()
        state = replace(state, weights=weights.to_json(), scores=values, top_tags=top, contributions=parts)
    extras = state.to_arrays() | ({} if predictors is None else predictors.to_arrays())
    extras = {name: _in_pieces(value) for name, value in extras.items()}
    number, last = annotations.number, collection.revision()

    def yields_to(standing: SavedArray) -> bool:
        """Whether it is of later annotations, and no mere update that a training would give way to."""
        former, graph = standing.stamp, collection.saved_stamp("graph")
        same = former.settings == relevant("assignments", collection.settings)
        same = same and graph is not None and former.source == graph.token
        known = SavedModel.from_arrays(standing.extras)
        newer = known is not None and (bool(known.trained_on) or not record.trained_on)
        return same and newer and number < former.changes <= last

    collection.save_assignments(Z, number, yields_to, **extras)


def _in_pieces(value: Any) -> Any:
    """An array or CSR matrix, which nobody changes, as what is read without a copy."""
    if sp.issparse(value):
        value = in_32_bits(value)
        return CsrPieces(Pieces([value.data]), Pieces([value.indices]), value.indptr, value.shape)
    return Pieces([value]) if isinstance(value, np.ndarray) and value.ndim else value


def saved_model(collection: CollectionStore) -> SavedModel | None:
    """What was saved with the assignments; None before the first fit."""
    saved = collection.saved_array("assignments")
    return None if saved is None else SavedModel.from_arrays(saved.extras)


def saved_shares(collection: CollectionStore) -> Any:
    """The saved assignments; within facets, rows sum to one at most in each. None if there are none."""
    saved = collection.saved_array("assignments")
    if saved is None:
        return None
    state = SavedModel.from_arrays(saved.extras)
    if state is None or state.facet_sums is None:
        return saved.matrix
    return shares_of(to_sparse(saved.matrix), state.facet_sums)


class StoredModel(NamedTuple):
    """A model as it lies on the disk, for the items it knows and all tags, with the present annotations."""

    state: SavedModel
    problem: Problem
    Z: SparseAssignments
    annotations: AnnotationMatrix
    #: whether these are the annotations that it was trained with
    trained: bool
    predictors: SavedPredictors | None

    @property
    def certificate(self) -> tuple[float, float] | None:
        """Objective and gap; None where annotations have changed since they were saved."""
        gaps = self.state.gaps
        return (float(gaps[2]), float(gaps[0])) if self.trained and len(gaps) > 2 else None

    def model(self, certificate: tuple[float, float] | None) -> TagModel:
        """The model with its scores; objective and gap are computed unless they are known."""
        kind = FacetedSolution if isinstance(self.problem, FacetedProblem) else Solution
        solution = kind(
            self.problem, self.Z, tol=1e-3, method="saved", n_iter=0, seconds=0.0, history=[],
            certificate=certificate,
        )  # fmt: skip
        return self.state.with_scores(TagModel(solution, self.problem.lam, retrained=self.trained))

    def release(self) -> None:
        """Take out of the memory what was only looked through, as long as nobody has changed it."""
        W = self.problem.W
        release(W.data, W.indices, *self.Z.arrays[2:4])
        if self.state.scores is not None and sp.issparse(self.state.scores):
            release(self.state.scores.data)
        if self.predictors is not None:
            release(self.predictors.harmonic.data, self.predictors.harmonic.indices)


def load_model(collection: CollectionStore) -> tuple[TagModel, AnnotationMatrix]:
    """The saved assignments and scores for the items they know and all tags, with the present annotations.

    ``TagModel.retrained`` says whether these are the annotations that it was trained with.
    """
    stored = read_model(collection)
    model = stored.model(stored.certificate)
    if stored.certificate is not None:
        model.solution.relative_gap = stored.state.relative_gap  # over the stake of the tags that count
    return model, stored.annotations


def read_model(collection: CollectionStore) -> StoredModel:
    """What :func:`load_model` makes a model of; large arrays stay in the file until they are used."""
    saved, graph = collection.saved_array("assignments"), collection.saved_array("graph")
    state = None if saved is None else SavedModel.from_arrays(saved.extras)
    annotations = collection.annotation_matrix()
    if saved is None or state is None or graph is None or not annotations.G[: saved.stamp.items].nnz:
        raise ValueError(_nothing_yet(collection, annotations))
    W, Z = graph.matrix, saved.matrix
    if saved.stamp.items != W.shape[0] or saved.stamp.items > len(annotations.ids):
        raise ValueError(f"the graph of {collection.path} is newer than its assignments; run lass fit again")
    if sp.issparse(Z) or not is_feasible(Z, tol=1e-3):
        raise ValueError(f"the assignments of {collection.path} are damaged; run lass fit again")
    G = annotations.G[: W.shape[0]]
    problem = Problem(W, G, state.lam)
    release(W.data, W.indices)  # looked through by the checks
    if not is_sparse(Z):  # lass 0.1.0 saved all numbers, in single precision
        Z = to_sparse(Z / Z.sum(axis=1, keepdims=True))
    Z = extended(Z, W, annotations.G.shape[1])
    if state.facet_sums is not None:
        if state.facet_sums.shape != (len(Z),) or not (state.facet_sums >= 0).all():
            raise ValueError(f"the assignments of {collection.path} are damaged; run lass fit again")
        facets = facets_of(annotations.names, collection.settings)
        problem, Z = FacetedProblem(problem.quadratic, G, state.lam, facets), shares_of(Z, state.facet_sums)
    trained = saved.stamp.source == graph.stamp.token and state.trained_on == fingerprint(
        annotations, collection.settings
    )
    return StoredModel(state, problem, Z, annotations, trained, SavedPredictors.from_arrays(saved.extras))


def _nothing_yet(collection: CollectionStore, annotations: AnnotationMatrix) -> str:
    if annotations.G.nnz:
        return f"{collection.path} has no assignments yet; make them: {command_line('fit', collection.path)}"
    return (
        f"{collection.path} has no annotations yet, so there is nothing to suggest from; tag a few items: "
        f"{command_line('tag', collection.path, 'ITEM', '+tag', '--new')}, then "
        f"{command_line('fit', collection.path)}"
    )
