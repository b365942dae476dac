"""Fitted models as arrays, for plain ``.npz`` files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.graph import KNNGraph
from lass.graph.laplacians import as_sparse
from lass.graph.weights import Contrast, symmetrised
from lass.learning.features_and_edges import GRAPHS, LABELS, VIEWS, EdgeChoice, FeaturesAndEdges
from lass.learning.lam_selection import Choice
from lass.model.checks import numbers
from lass.model.files import pack_matrix, unpack_matrix
from lass.solvers.facets import FacetSolution
from lass.solvers.solution import Solution

PREFIX = "solution_"


def pack_model(model: Any) -> dict[str, Any]:
    """The arrays that make up a fitted :class:`lass.LASS`."""
    settings = model.get_params()
    prior = settings.pop("prior")
    settings.pop("edges")
    settings.pop("facets")  # the solution has them
    shares = (prior or "") if prior is None or isinstance(prior, str) else numbers(prior, "prior")
    arrays = {PREFIX + name: value for name, value in model.solution_.to_arrays().items()}
    arrays |= {
        "settings": np.asarray(json.dumps(settings, default=lambda value: value.item())),
        "prior": np.asarray(shares),
        "lam": np.asarray(model.lam_),
        "classes": _without_pickle(model.classes_),
        "shift": model.shift_,
        "contrast": np.asarray([model._contrast.power, model._contrast.unit]),
        "columns": np.asarray(model.n_features_in_),
    }
    for name, value in (("codes", model._codes), ("weights", model._confidence)):
        if value is not None:
            arrays[name] = value
    if model.choice_ is not None:
        arrays["choice"] = np.asarray(json.dumps(vars(model.choice_)))
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names"] = np.asarray(model.feature_names_in_.tolist())
    pack_matrix(arrays, "affinities", model.affinities_)
    pack_matrix(arrays, "graph", model.graph_)
    if model.neighbours_ is not None:
        pack_matrix(arrays, "directed", model.neighbours_.directed)
        pack_matrix(arrays, "items", model.neighbours_.items)
        arrays["spread"] = np.asarray(model.neighbours_.spread)
    if model._both is not None:
        arrays["edge_choice"] = np.asarray(json.dumps(vars(model.edge_choice_)))
        pack_matrix(arrays, "edges", model._both.edges)
    return arrays


def unpack_model(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A model's settings and fitted attributes from its arrays; whatever does not fit is a ``ValueError``."""
    settings = json.loads(str(data["settings"]))
    prior = data["prior"]
    settings["prior"] = (str(prior) or None) if prior.dtype.kind == "U" else prior
    arrays = {k[len(PREFIX) :]: v for k, v in data.items() if k.startswith(PREFIX)}
    solution = (FacetSolution if "facets" in arrays else Solution).from_arrays(arrays)
    facets = solution.facets if isinstance(solution, FacetSolution) else None
    settings["facets"] = None if facets is None else facets.names[facets.codes]
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
    neighbours = _neighbours(data, settings, N)
    columns, names = int(data["columns"]), data.get("feature_names")
    expected = N if neighbours is None else neighbours.items.shape[1]
    if columns != expected or (names is not None and names.shape != (expected,)):
        raise ValueError("the columns do not fit the items")
    attributes = {
        "solution_": solution,
        "_facets": facets,
        "classes_": classes,
        "shift_": shift,
        "lam_": lam,
        "choice_": _choice(data),
        "affinities_": affinities,
        "graph_": graph,
        "neighbours_": neighbours,
        "n_features_in_": columns,
        "_contrast": contrast,
        "_both": None,
        "edge_choice_": None,
        "_codes": _optional(data, "codes", "i", (N,), -1, K - 1),
        "_confidence": _optional(data, "weights", "f", (N,), 0, np.inf),
    }
    if names is not None:
        attributes["feature_names_in_"] = names.astype(object)
    if "edge_choice" in data:
        attributes |= _features_and_edges(data, settings, attributes)
    return settings, attributes


def _features_and_edges(
    data: dict[str, Any], settings: dict[str, Any], known: dict[str, Any]
) -> dict[str, Any]:
    """What was chosen, and the linear models, fitted again to the same labels."""
    choice, edges = EdgeChoice(**json.loads(str(data["edge_choice"]))), unpack_matrix(data, "edges")
    neighbours, codes = known["neighbours_"], known["_codes"]
    if neighbours is None or codes is None or edges.shape != known["graph_"].shape:
        raise ValueError("the edges do not fit the items")
    if choice.view not in (LABELS, *VIEWS) or choice.graph not in GRAPHS:
        raise ValueError("features and edges are combined in a way that is not known")
    graph = known["_contrast"](symmetrised(neighbours.directed, neighbours.symmetric))
    both = FeaturesAndEdges(
        neighbours.items, graph, as_sparse(edges, "edges"), settings["metric"] != "cosine"
    )
    if choice.view != LABELS:
        both.affinities(codes, len(known["classes_"]), choice.view, known["_confidence"])
    return {"_both": both, "edge_choice_": choice}


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
