"""Fitted models as arrays, for plain ``.npz`` files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph import KNNGraph
from lass.graph.contrast import Contrast
from lass.learning.lam_selection import Choice
from lass.model.checks import numbers
from lass.model.files import pack_matrix, unpack_matrix
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution

PREFIX = "solution_"


@dataclass(frozen=True)
class FittedState:
    """A fitted :class:`lass.LASS`: its settings, its solution, and what new items are compared with."""

    settings: dict[str, Any]
    solution: Solution
    classes: NDArray[Any]
    shift: Array
    lam: float
    choice: Choice | None
    contrast: Contrast
    #: category of each item, -1 where unknown; None where y held affinities
    codes: NDArray[np.int64] | None
    confidence: Array | None
    affinities: sp.csr_array
    graph: sp.csr_array
    #: None where the graph was given
    neighbours: KNNGraph | None
    columns: int
    feature_names: NDArray[np.object_] | None


def pack_model(state: FittedState) -> dict[str, Any]:
    """The arrays that make up a model."""
    settings = dict(state.settings)
    prior = settings.pop("prior")
    shares = (prior or "") if prior is None or isinstance(prior, str) else numbers(prior, "prior")
    arrays = {PREFIX + name: value for name, value in state.solution.to_arrays().items()}
    arrays |= {
        "settings": np.asarray(json.dumps(settings, default=lambda value: value.item())),
        "prior": np.asarray(shares),
        "lam": np.asarray(state.lam),
        "classes": _without_pickle(state.classes),
        "shift": state.shift,
        "contrast": np.asarray([state.contrast.power, state.contrast.unit]),
        "columns": np.asarray(state.columns),
    }
    for name, value in (("codes", state.codes), ("weights", state.confidence)):
        if value is not None:
            arrays[name] = value
    if state.choice is not None:
        arrays["choice"] = np.asarray(json.dumps(vars(state.choice)))
    if state.feature_names is not None:
        arrays["feature_names"] = np.asarray(state.feature_names.tolist())
    pack_matrix(arrays, "affinities", state.affinities)
    pack_matrix(arrays, "graph", state.graph)
    if state.neighbours is not None:
        pack_matrix(arrays, "directed", state.neighbours.directed)
        pack_matrix(arrays, "items", state.neighbours.items)
        arrays["spread"] = np.asarray(state.neighbours.spread)
    return arrays


def unpack_model(data: dict[str, Any]) -> FittedState:
    """A model from its arrays; whatever does not fit is a ``ValueError``."""
    settings = json.loads(str(data["settings"]))
    prior = data["prior"]
    settings["prior"] = (str(prior) or None) if prior.dtype.kind == "U" else prior
    solution = Solution.from_arrays({k[len(PREFIX) :]: v for k, v in data.items() if k.startswith(PREFIX)})
    N, K = solution.Z.shape
    classes, shift = data["classes"], data["shift"]
    if classes.shape != (K,) or shift.shape != (K,) or not np.isfinite(shift).all():
        raise ValueError("categories do not fit the assignments")
    lam, contrast = float(data["lam"]), Contrast(*map(float, data["contrast"]))
    if not (lam >= 0 and 0 < contrast.power < np.inf and 0 < contrast.unit < np.inf):
        raise ValueError("lam or the contrast of the weights is out of range")
    affinities, graph = unpack_matrix(data, "affinities"), unpack_matrix(data, "graph")
    if affinities.shape != (N, K) or graph.shape != (N, N):
        raise ValueError("the graph does not fit the assignments")
    neighbours, columns, names = (
        _neighbours(data, settings, N),
        int(data["columns"]),
        data.get("feature_names"),
    )
    expected = N if neighbours is None else neighbours.items.shape[1]
    if columns != expected or (names is not None and names.shape != (expected,)):
        raise ValueError("the columns do not fit the items")
    return FittedState(
        settings=settings,
        solution=solution,
        classes=classes,
        shift=shift,
        lam=lam,
        choice=_choice(data),
        contrast=contrast,
        codes=_optional(data, "codes", "i", (N,), -1, K - 1),
        confidence=_optional(data, "weights", "f", (N,), 0, np.inf),
        affinities=affinities,
        graph=graph,
        neighbours=neighbours,
        columns=columns,
        feature_names=None if names is None else names.astype(object),
    )


def _neighbours(data: dict[str, Any], settings: dict[str, Any], N: int) -> KNNGraph | None:
    if settings["metric"] == "precomputed":
        return None
    directed, items = unpack_matrix(data, "directed"), unpack_matrix(data, "items")
    if directed.shape != (N, N) or items.shape[0] != N:
        raise ValueError("the items do not fit the assignments")
    graph = KNNGraph(min(int(settings["n_neighbors"]), N - 1), metric=settings["metric"])
    return graph.resume(items, directed, float(data["spread"]))


def _choice(data: dict[str, Any]) -> Choice | None:
    if "choice" not in data:
        return None
    saved = json.loads(str(data["choice"]))
    if "sources" in saved:  # what version 0.1.0 called the Poisson regime
        saved["poisson"] = saved.pop("sources")
    return Choice(**saved)


def _without_pickle(classes: NDArray[Any]) -> NDArray[Any]:
    """Categories as an array that needs no pickle."""
    plain = np.asarray(classes.tolist()) if classes.dtype.kind == "O" else classes
    if plain.dtype.kind == "O" or plain.tolist() != classes.tolist():
        raise ValueError("a model is saved with categories that are all text or all numbers; found others")
    return plain


def _optional(data: dict[str, Any], name: str, kind: str, shape: tuple[int], low: float, high: float) -> Any:
    """An array of the file, or None where it has none; ``ValueError`` where it cannot be right."""
    values = data.get(name)
    if values is None:
        return None
    if values.dtype.kind != kind or values.shape != shape or not ((values >= low) & (values <= high)).all():
        raise ValueError(f"{name} do not fit the assignments")
    return values
