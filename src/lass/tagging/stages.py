"""Features and graph of a collection, made by its settings and only where they are out of date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import Collection, Item
from lass.collection.features import (
    NumericFeatures,
    TextFeatures,
    embed_texts,
    image_features,
)
from lass.collection.reading import Problem
from lass.collection.records import close
from lass.graph import KNNGraph
from lass.learning.predictors.holdout import group_codes

#: columns that items are grouped by where nobody says which
USUAL_GROUPS = ("group", "source")
#: share of new rows up to which what was learnt from the old ones still serves
GROWTH = 0.2


class Progress(NamedTuple):
    """What is being done, and how far it is: the gap of a solve against the stake, once there is one."""

    stage: str
    note: str = ""
    gap: float | None = None


Report = Callable[[Progress], object]


def silent(progress: Progress) -> None:
    """A report that nobody reads."""


def features_of(collection: Collection, report: Report = silent) -> Any:
    """The features of all items, dense or CSR; made anew, or for the new items alone, where needed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from lass.collection import Collection, Item
    >>> from lass.tagging import features_of
    >>> items = [Item("a", text="mail reader"), Item("b", text="news reader")]
    >>> with TemporaryDirectory() as folder, Collection.create(f"{folder}/programs", items) as programs:
    ...     print(features_of(programs).shape)
    (2, 5)
    """
    why = collection.stale().get("features")
    stored = collection.stored("features")
    if why is None and stored is not None:
        return stored.matrix
    report(Progress("features", why or ""))
    items, settings = collection.items(), dict(collection.settings.features)
    maker = _maker(settings, report)
    grown = stored is not None and stored.stamp.settings == settings and stored.stamp.items < len(items)
    if stored is not None and grown:
        fitted = int(stored.beside.get("fitted", stored.stamp.items))
        if len(items) - fitted <= GROWTH * fitted:
            rows, _ = maker(items[stored.stamp.items :], stored.beside)
            stack = sp.vstack if sp.issparse(rows) else np.concatenate
            X = stack([stored.matrix, rows])
            beside = {**stored.beside, "grown_from": np.asarray(stored.stamp.token)}
            collection.save_features(X, **beside)
            return X
    X, state = maker(items, None)
    collection.save_features(X, fitted=np.asarray(len(items)), **state)
    return X


def graph_of(collection: Collection, report: Report = silent) -> sp.csr_array:
    """The graph of all items; new items are tied to those that are there, where they are few."""
    why = collection.stale().get("graph")
    stored = collection.stored("graph")
    if why is None and stored is not None:
        return stored.matrix
    settings = collection.settings
    if settings.metric == "precomputed":
        raise ValueError(
            f"the ties between the items of {collection.path} were given, and cannot be made for others"
            f" ({why}); give them again: lass add --edges"
        )
    X = features_of(collection, report)
    report(Progress("neighbours", why or ""))
    count = min(settings.n_neighbors, X.shape[0] - 1)
    if not count:
        W = sp.csr_array((1, 1))
        collection.save_graph(W)
        return W
    knn = KNNGraph(count, metric=settings.metric)
    made = collection.stored("features")
    assert made is not None
    fitted = X.shape[0]
    if (
        stored is not None
        and "directed" in stored.beside
        and stored.stamp.source == str(made.beside.get("grown_from", ""))
        and stored.stamp.settings == {"n_neighbors": settings.n_neighbors, "metric": settings.metric}
        and stored.stamp.items > count
        and X.shape[0] - int(stored.beside["fitted"]) <= GROWTH * int(stored.beside["fitted"])
    ):
        before, fitted = stored.stamp.items, int(stored.beside["fitted"])
        knn.resume(X[:before], stored.beside["directed"], float(stored.beside["spread"])).extend(X[before:])
    else:
        knn.fit(X)
    report(Progress("graph"))
    W = _without_strangers(knn.graph, X) if settings.metric == "cosine" else knn.graph
    collection.save_graph(W, directed=knn.directed, spread=np.asarray(knn.spread), fitted=np.asarray(fitted))
    return W


def groups_of(collection: Collection, name: str | None = None) -> tuple[str, NDArray[np.intp] | None]:
    """The field that near copies share, and its number for each item; by default group or source, if any."""
    items = collection.items()
    fields = {field for item in items for field in item.extra}
    if name is None:
        name = next((field for field in USUAL_GROUPS if field in fields), "")
    elif name and name not in fields:
        raise ValueError(
            f"items have no field {name!r} to group by{close(name, fields)}; "
            f"there are {', '.join(sorted(fields)) or 'none'}"
        )
    return name, group_codes([item.extra.get(name) for item in items]) if name else None


def _without_strangers(W: sp.csr_array, X: Any) -> sp.csr_array:
    """No ties for items without features: by cosine they are as far from one item as from any other."""
    known = np.asarray(abs(X).sum(axis=1)).ravel() > 0
    if known.all():
        return W
    kept = sp.diags_array(known.astype(float))
    W = sp.csr_array(kept @ W @ kept)
    W.eliminate_zeros()
    return W


Made = tuple[Any, dict[str, Any]]
Maker = Callable[[Sequence[Item], dict[str, Any] | None], Made]


def _maker(settings: dict[str, Any], report: Report) -> Maker:
    """What turns items into rows: from scratch (and what it learnt), or by what was learnt before."""
    kind = settings.get("kind", "text")

    def texts(items: Sequence[Item], state: dict[str, Any] | None) -> Made:
        words = [item.text for item in items]
        if state is not None:
            return TextFeatures.from_state(state).transform(words), state
        features = TextFeatures()
        rows = features.fit_transform(words)
        return rows, features.state()

    def numbers(items: Sequence[Item], state: dict[str, Any] | None) -> Made:
        columns = {
            name: [np.nan if item.extra.get(name) is None else item.extra[name] for item in items]
            for name in settings.get("columns", [])
        }
        features = NumericFeatures().fit(columns) if state is None else NumericFeatures.from_state(state)
        rows = features.transform(columns)
        for name, count in features.filled.items():
            report(Progress("features", f"{count:,} unknown numbers of {name!r} were set to its median"))
        return rows, features.state()

    def pictures(items: Sequence[Item], _: dict[str, Any] | None) -> Made:
        skipped: list[Problem] = []
        folder = Path(str(settings.get("folder", "")))
        rows = image_features([folder / item.id for item in items], skipped=skipped)
        if skipped:
            report(Progress("features", f"{len(skipped):,} pictures could not be read, such as {skipped[0]}"))
        if len(skipped) == len(items):
            raise ValueError(f"no picture could be read; {skipped[0]}. Is folder right in collection.toml?")
        return rows, {}

    def embeddings(items: Sequence[Item], _: dict[str, Any] | None) -> Made:
        return embed_texts([item.text for item in items], str(settings["model"])), {}

    def given(items: Sequence[Item], _: dict[str, Any] | None) -> Made:
        raise ValueError(
            f"the vectors were given, and there are none for {len(items):,} items; "
            "give them: lass add --vectors"
        )

    known: dict[Any, Maker] = {
        "text": texts, "numeric": numbers, "images": pictures, "embeddings": embeddings, "vectors": given,
    }  # fmt: skip
    if kind not in known:
        raise ValueError(
            f"features of kind {kind!r} are not known; collection.toml may have {', '.join(known)}"
        )
    return known[kind]
