"""Features, graph and groups of a collection, computed by its settings only where they are out of date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import CollectionStore, Item
from lass.collection.arrays import SavedArray
from lass.collection.features import NumericFeatures, TextFeatures, embed_texts, image_features
from lass.collection.reading import BadRow
from lass.collection.records import did_you_mean
from lass.graph import KNNGraph
from lass.learning.predictors import linear
from lass.learning.predictors.holdout import group_codes
from lass.tagging.progress import Progress, ProgressCallback, ignore_progress
from lass.tagging.storage import FitRecord, SavedFeatures, SavedGraph

#: fields that items are grouped by where no other is named
DEFAULT_GROUPS = ("group", "source")
#: share of new rows up to which the extractor, the graph and the map of the old ones are extended
GROWTH = 0.2


def features_of(collection: CollectionStore, report: ProgressCallback = ignore_progress) -> Any:
    """The features of all items, dense or CSR; computed for all items, or for new ones only, where needed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from lass.collection import CollectionStore, Item
    >>> from lass.tagging import features_of
    >>> items = [Item("a", text="mail reader"), Item("b", text="news reader")]
    >>> with TemporaryDirectory() as folder, CollectionStore.create(f"{folder}/programs", items) as programs:
    ...     print(features_of(programs).shape)
    (2, 5)
    """
    why = collection.stale().get("features")
    saved = collection.saved_array("features")
    if why is None and saved is not None:
        return saved.matrix
    report(Progress("features", why or ""))
    items, settings = collection.get_items(), dict(collection.settings.features)
    if saved is not None and saved.stamp.settings == settings and saved.stamp.items < len(items):
        state = SavedFeatures.from_arrays(saved.extras) or SavedFeatures(n_fitted=saved.stamp.items)
        if len(items) - state.n_fitted <= GROWTH * state.n_fitted:
            rows, _ = _extract(items[saved.stamp.items :], settings, state.extractor, report)
            X = (sp.vstack if sp.issparse(rows) else np.concatenate)([saved.matrix, rows])
            state = replace(state, extended_from=saved.stamp.token)
            collection.save_features(X, **state.to_arrays())
            return X
    X, extractor = _extract(items, settings, None, report)
    collection.save_features(X, **SavedFeatures(n_fitted=len(items), extractor=extractor).to_arrays())
    return X


def reduced_features(collection: CollectionStore, former: FitRecord | None) -> tuple[Any, str]:
    """Features in few columns, those of the former fit if they still hold, and their token; None if none."""
    if collection.settings.metric == "precomputed":
        return None, ""
    features = features_of(collection)
    saved = collection.saved_stamp("features")
    token = "" if saved is None else saved.token
    if former is not None and former.reduced_features is not None and former.reduced_from == token:
        return former.reduced_features, token
    return linear.reduced(features).astype(np.float32), token


def graph_of(collection: CollectionStore, report: ProgressCallback = ignore_progress) -> sp.csr_array:
    """The graph of all items; if few are new, they are connected to the others, whose edges stay."""
    why = collection.stale().get("graph")
    saved = collection.saved_array("graph")
    if why is None and saved is not None:
        return saved.matrix
    settings = collection.settings
    if settings.metric == "precomputed":
        raise ValueError(
            f"the edges between the items of {collection.path} were given, and cannot be computed for others"
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
    state = _extensible(collection, saved, X.shape[0], count)
    if saved is not None and state is not None:
        n_fitted, before = state.n_fitted, saved.stamp.items
        knn.resume(X[:before], state.directed, state.spread).extend(X[before:])
    else:
        n_fitted = X.shape[0]
        knn.fit(X)
    report(Progress("graph"))
    W = _without_empty_rows(knn.graph, X) if settings.metric == "cosine" else knn.graph
    state = SavedGraph(n_fitted=n_fitted, directed=knn.directed, spread=knn.spread)
    collection.save_graph(W, **state.to_arrays())
    return W


def _extensible(
    collection: CollectionStore, saved: SavedArray | None, items: int, count: int
) -> SavedGraph | None:
    """The state of the saved graph, if new rows of the features can be added to it; else None."""
    features, settings = collection.saved_array("features"), collection.settings
    if saved is None or features is None:
        return None
    state, rows = SavedGraph.from_arrays(saved.extras), SavedFeatures.from_arrays(features.extras)
    if (
        state is None
        or saved.stamp.source != ("" if rows is None else rows.extended_from)
        or saved.stamp.settings != {"n_neighbors": settings.n_neighbors, "metric": settings.metric}
        or saved.stamp.items <= count
        or items - state.n_fitted > GROWTH * state.n_fitted
    ):
        return None
    return state


def groups_of(collection: CollectionStore, name: str | None = None) -> tuple[str, NDArray[np.intp] | None]:
    """The field by which near copies are grouped, and the group of each item, None if there is no field.

    By default the field is the first of "group" and "source" that an item has.
    """
    items = collection.get_items()
    fields = {field for item in items for field in item.extra}
    if name is None:
        name = next((field for field in DEFAULT_GROUPS if field in fields), "")
    elif name and name not in fields:
        raise ValueError(
            f"items have no field {name!r} to group by{did_you_mean(name, fields)}; "
            f"there are {', '.join(sorted(fields)) or 'none'}"
        )
    return name, group_codes([item.extra.get(name) for item in items]) if name else None


def _without_empty_rows(W: sp.csr_array, X: Any) -> sp.csr_array:
    """No edges for items without features: by cosine they are as far from one item as from any other."""
    known = np.asarray(abs(X).sum(axis=1)).ravel() > 0
    if known.all():
        return W
    kept = sp.diags_array(known.astype(float))
    W = sp.csr_array(kept @ W @ kept)
    W.eliminate_zeros()
    return W


def _extract(
    items: Sequence[Item], settings: dict[str, Any], state: dict[str, Any] | None, report: ProgressCallback
) -> tuple[Any, dict[str, Any]]:
    """The rows of items by the kind of features in the settings, and the state of the extractor.

    It is fitted to these items where ``state`` is None.
    """
    match settings.get("kind", "text"):
        case "text":
            documents = [item.text for item in items]
            if state is not None:
                return TextFeatures.from_state(state).transform(documents), state
            texts = TextFeatures()
            return texts.fit_transform(documents), texts.state()
        case "numeric":
            columns = {
                name: [np.nan if item.extra.get(name) is None else item.extra[name] for item in items]
                for name in settings.get("columns", [])
            }
            numbers = NumericFeatures().fit(columns) if state is None else NumericFeatures.from_state(state)
            rows = numbers.transform(columns)
            for name, count in numbers.filled.items():
                report(Progress("features", f"{count:,} unknown numbers of {name!r} were set to its median"))
            return rows, numbers.state()
        case "images":
            skipped: list[BadRow] = []
            folder = Path(str(settings.get("folder", "")))
            pictures = image_features([folder / item.id for item in items], skipped=skipped)
            if len(skipped) == len(items):
                advice = "Is folder right in collection.toml?"
                raise ValueError(f"no picture could be read; {skipped[0]}. {advice}")
            if skipped:
                note = f"{len(skipped):,} pictures could not be read, such as {skipped[0]}"
                report(Progress("features", note))
            return pictures, {}
        case "embeddings":
            return embed_texts([item.text for item in items], str(settings["model"])), {}
        case "vectors":
            raise ValueError(
                f"the vectors were given, and there are none for {len(items):,} items; "
                "give them: lass add --vectors"
            )
        case kind:
            known = "text, numeric, images, embeddings, vectors"
            raise ValueError(f"features of kind {kind!r} are not known; collection.toml may have {known}")
