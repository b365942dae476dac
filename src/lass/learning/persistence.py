"""Fitted models in plain ``.npz`` files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lass.graph import KNNGraph, health
from lass.graph.contrast import Contrast
from lass.learning.lam_selection import Choice
from lass.model.checks import numbers
from lass.model.files import pack_matrix, read, unpack_matrix, write
from lass.solvers.solution import arrays_of, restored

if TYPE_CHECKING:
    from lass.learning.estimator import LASS


def save_model(model: LASS, path: Path) -> None:
    """Write settings, solution and whatever new items are compared with."""
    settings = model.get_params()
    prior = settings.pop("prior")
    shares = (prior or "") if prior is None or isinstance(prior, str) else numbers(prior, "prior")
    arrays: dict[str, Any] = {f"solution_{name}": value for name, value in arrays_of(model.solution_).items()}
    arrays |= {
        "settings": np.asarray(json.dumps(settings, default=lambda value: value.item())),
        "prior": np.asarray(shares),
        "lam": np.asarray(model.lam_),
        "classes": _names(model.classes_),
        "shift": model.shift_,
        "contrast": np.asarray([model._contrast.power, model._contrast.unit]),
        "columns": np.asarray(model.n_features_in_),
    }
    for name, value in (("codes", model._codes), ("weights", model._weights)):
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
    write(path, arrays)


def load_model(path: Path) -> LASS:
    """Read a model that :func:`save_model` wrote; whatever is wrong with the file is a ``ValueError``."""
    return read(path, _model, "model")


def _model(data: dict[str, Any]) -> LASS:
    from lass.learning.estimator import LASS

    settings = json.loads(str(data["settings"]))
    prior = data["prior"]
    settings["prior"] = (str(prior) or None) if prior.dtype.kind == "U" else prior
    model = LASS(**settings)
    model._check_settings()
    prefix = "solution_"
    model.solution_ = restored({k[len(prefix) :]: v for k, v in data.items() if k.startswith(prefix)})
    N, K = model.solution_.Z.shape
    model.classes_, model.shift_ = data["classes"], data["shift"]
    if model.classes_.shape != (K,) or model.shift_.shape != (K,) or not np.isfinite(model.shift_).all():
        raise ValueError("categories do not fit the assignments")
    model.lam_ = float(data["lam"])
    model._contrast = Contrast(*map(float, data["contrast"]))
    if not (model.lam_ >= 0 and 0 < model._contrast.power < np.inf and 0 < model._contrast.unit < np.inf):
        raise ValueError("lam or the contrast of the weights is out of range")
    model._codes = _fitting(data, "codes", "i", (N,), -1, K - 1)
    model._weights = _fitting(data, "weights", "f", (N,), 0, np.inf)
    model._sources = None
    model.choice_ = Choice(**json.loads(str(data["choice"]))) if "choice" in data else None
    model.n_features_in_ = int(data["columns"])
    model.affinities_ = unpack_matrix(data, "affinities")
    model.graph_ = unpack_matrix(data, "graph")
    if model.affinities_.shape != (N, K) or model.graph_.shape != (N, N):
        raise ValueError("the graph does not fit the assignments")
    model._prior = model._shares(model.affinities_, model._codes)
    model.neighbours_ = None
    columns = N
    if model.metric != "precomputed":
        directed, items = unpack_matrix(data, "directed"), unpack_matrix(data, "items")
        if directed.shape != (N, N) or items.shape[0] != N:
            raise ValueError("the items do not fit the assignments")
        count = min(int(model.n_neighbors), N - 1)
        model.neighbours_ = KNNGraph(count, metric=model.metric).resume(
            items, directed, float(data["spread"])
        )
        columns = items.shape[1]
    names = data.get("feature_names")
    if names is not None:
        model.feature_names_in_ = names.astype(object)
    if model.n_features_in_ != columns or (names is not None and names.shape != (columns,)):
        raise ValueError("the columns do not fit the items")
    model.health_ = health(model.graph_, np.diff(model.affinities_.indptr) > 0)
    model._settle(model.solution_, model.shift_)
    return model


def _names(classes: Any) -> Any:
    """Categories as an array that needs no pickle."""
    plain = np.asarray(classes.tolist()) if classes.dtype.kind == "O" else classes
    if plain.dtype.kind == "O" or plain.tolist() != classes.tolist():
        raise ValueError("a model is saved with categories that are all text or all numbers; found others")
    return plain


def _fitting(data: dict[str, Any], name: str, kind: str, shape: tuple[int], low: float, high: float) -> Any:
    """An array of the file, or None where it has none; ``ValueError`` where it cannot be what it should."""
    values = data.get(name)
    if values is None:
        return None
    if values.dtype.kind != kind or values.shape != shape or not ((values >= low) & (values <= high)).all():
        raise ValueError(f"{name} do not fit the assignments")
    return values
