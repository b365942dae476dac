"""What is saved with the arrays of a collection, as typed objects; only this module knows the disk keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors import PREDICTORS, Scores, Weights

#: version of the keys; files of lass 0.1.0 hold none, and are read by the names in ``V0_KEYS``
VERSION = 1
SCALARS = {"int": int, "float": float, "str": str}


@dataclass(frozen=True, kw_only=True)
class SavedState:
    """Base: a dataclass whose fields are stored as arrays by name; what is None or "" is left out."""

    #: key in files of lass 0.1.0 -> field
    V0_KEYS: ClassVar[dict[str, str]] = {}

    def to_arrays(self) -> dict[str, Any]:
        """Arrays by key, to be saved with an array of a collection."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        arrays = {
            name: value if sp.issparse(value) else np.asarray(value)
            for name, value in values.items()
            if value is not None and not (isinstance(value, str) and not value)
        }
        return {"version": np.asarray(VERSION), **arrays}

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
    """How features were computed, so that new items get the same columns."""

    V0_KEYS: ClassVar = {"fitted": "n_fitted", "grown_from": "extended_from"}

    #: items that the extractor was fitted to
    n_fitted: int
    #: state of the extractor, see :class:`lass.collection.features.TextFeatures`
    extractor: dict[str, Any] = field(default_factory=dict)
    #: token of the features to which rows were appended; empty if all rows were computed together
    extended_from: str = ""

    def to_arrays(self) -> dict[str, Any]:
        """As :meth:`SavedState.to_arrays`; each array of the extractor has a key of its own."""
        arrays = super().to_arrays()
        del arrays["extractor"]
        return arrays | {f"extractor_{name}": value for name, value in self.extractor.items()}

    @classmethod
    def _fields(cls, arrays: Mapping[str, Any]) -> dict[str, Any]:
        found = super()._fields(arrays)
        own = {"version", "n_fitted", "extended_from"}
        extractor = {key.removeprefix("extractor_"): found.pop(key) for key in list(found.keys() - own)}
        return found | {"extractor": extractor}


@dataclass(frozen=True, kw_only=True)
class SavedGraph(SavedState):
    """The nearest-neighbour search behind a graph, so that new items can be added to it."""

    V0_KEYS: ClassVar = {"fitted": "n_fitted"}

    #: items in the graph when all of it was built together
    n_fitted: int
    #: directed graph of nearest neighbours and the scale of its weights, see :class:`lass.graph.KNNGraph`
    directed: sp.csr_array
    spread: float


@dataclass(frozen=True, kw_only=True)
class SavedMap(SavedState):
    """What a map was drawn from."""

    V0_KEYS: ClassVar = {"drawn": "n_drawn", "fitted": "n_fitted"}

    #: items on the map when all of it was drawn together
    n_drawn: int
    #: ``n_fitted`` of the graph then, -1 if unknown
    n_fitted: int = -1


@dataclass(frozen=True, kw_only=True)
class FitRecord(SavedState):
    """Choices of a fit that the next one reuses while few annotations have changed."""

    lam_reason: str = ""
    #: number of annotations when lam was chosen, and when the weights were trained
    n_lam_annotations: int = 0
    n_weights_annotations: int = 0
    #: features in few columns for the linear predictor, and the token of the features they were made from
    reduced_features: NDArray[np.float32] | None = None
    reduced_from: str = ""


@dataclass(frozen=True, kw_only=True)
class SavedModel(FitRecord):
    """Lam, certificate, weights and scores that belong to saved assignments."""

    V0_KEYS: ClassVar = {
        "reason": "lam_reason", "chosen_with": "n_lam_annotations", "weighed_with": "n_weights_annotations",
        "reduced": "reduced_features", "gap": "gaps", "best": "top_tags", "parts": "contributions",
    }  # fmt: skip

    lam: float
    #: absolute and relative gap
    gaps: NDArray[np.float64]
    #: the weights as JSON, see :class:`lass.learning.predictors.Weights`
    weights: str = ""
    #: fields of :class:`lass.learning.predictors.Scores`, in half precision, contributions with two axes
    scores: NDArray[np.float16] | None = None
    top_tags: NDArray[np.int32] | None = None
    contributions: NDArray[np.float16] | None = None

    @property
    def relative_gap(self) -> float:
        """The gap over the stake."""
        return float(self.gaps[1])

    @staticmethod
    def score_fields(weights: Weights | None, scores: Scores | None) -> dict[str, Any]:
        """The fields that hold weights and scores; none where nothing was scored."""
        if weights is None or scores is None:
            return {}
        contributions = scores.contributions.reshape(len(scores.contributions), -1)
        return {
            "weights": weights.to_json(), "scores": scores.values.astype(np.float16),
            "top_tags": scores.top_tags, "contributions": contributions.astype(np.float16),
        }  # fmt: skip

    def read_scores(self, items: int, tags: int) -> tuple[Weights, Scores] | None:
        """Weights and scores for ``tags`` columns; a tag that is new since then scores zero.

        None where nothing was scored; a ``ValueError`` where the arrays do not fit each other.
        """
        saved, top, parts = self.scores, self.top_tags, self.contributions
        if saved is None or top is None or parts is None or not self.weights:
            return None
        weights = Weights.from_json(self.weights)
        if (
            len({items, len(saved), len(top), len(parts)}) > 1
            or saved.shape[1] > tags
            or parts.shape[1] != top.shape[1] * len(PREDICTORS)
            or not (saved.min(initial=0) >= 0 and saved.max(initial=0) <= 1 and np.isfinite(parts).all())
        ):
            raise ValueError("the saved scores are damaged; run lass fit again")
        values = np.zeros((items, tags), np.float32)
        values[:, : saved.shape[1]] = saved
        shape = (items, top.shape[1], len(PREDICTORS))
        return weights, Scores(values, top.astype(np.int32), parts.astype(np.float32).reshape(shape))
