"""Features, graph and groups of a collection, computed by its settings only where they are out of date."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import CollectionStore, Item
from lass.collection.arrays import SavedArray
from lass.collection.features import (
    NumericFeatures,
    TextFeatures,
    WordsAndMeaning,
    embed_texts,
    image_features,
)
from lass.collection.features.words import side_by_side
from lass.collection.reading import BadRow, category_graph
from lass.collection.records import PARTS, did_you_mean
from lass.collection.staging import Superseded
from lass.graph import KNNGraph
from lass.graph.embedding import node_features
from lass.graph.joining import join_graphs
from lass.learning.features_and_edges import BOTH, GRAPHS, choose_graph
from lass.learning.predictors import TREES, linear
from lass.learning.predictors.few_tags import TREE_VOTE
from lass.learning.predictors.holdout import group_codes
from lass.learning.predictors.trees import MAX_ITEMS, MIN_TAGGED, are_dense
from lass.tagging.canonical import by_id, inverse, permuted
from lass.tagging.completion import PredictorInputs, TagModel
from lass.tagging.feature_choice import CONTENT, MEANING, embeddings_of, way_of
from lass.tagging.progress import Progress, ProgressCallback, ignore_progress
from lass.tagging.storage import FitRecord, SavedFeatures, SavedGraph

#: fields that items are grouped by where no other is named
DEFAULT_GROUPS = ("group", "source")
#: begins the token of reduced features whose columns were standardised
EVEN = "standardised "
#: multiples of the spread at which numbers are cut off before they are standardised
WILD = 10.0
#: share of new items up to which the others keep their points on the map
GROWTH = 0.2


def features_of(collection: CollectionStore, report: ProgressCallback = ignore_progress) -> Any:
    """The features of all items, dense or CSR; computed where needed, in whatever order the items came.

    Terms and scales follow from all items, and are chosen again when some are added; of pictures and
    embeddings only those of new items are computed.

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
    with computing(collection) as stage:
        return _saved_features(stage, report).matrix


@contextmanager
def computing(collection: CollectionStore) -> Iterator[CollectionStore]:
    """The collection with settings and arrays as they are now; what is computed is saved where that can be.

    Where it cannot be written, or settings or arrays change meanwhile, it is used and not kept.
    """
    if collection.is_staged:
        yield collection
        return
    stage = collection.staged()
    yield stage
    if collection.is_read_only:
        return
    try:
        stage.publish()
    except Superseded:
        pass
    except OSError as error:
        warnings.warn(f"what was computed is not kept: {error}", stacklevel=3)
    collection.settings = stage.settings


def _saved_features(collection: CollectionStore, report: ProgressCallback) -> SavedArray:
    """The features of a staged collection with their stamp."""
    why = outdated(collection).get("features")
    saved = collection.saved_array("features")
    if why is None and saved is not None:
        return saved
    report(Progress("features", why or ""))
    items, settings, way = collection.get_items(), dict(collection.settings.features), way_of(collection)
    same = saved is not None and saved.stamp.settings == settings and _way(saved) == way
    if saved is not None and same and not _is_fitted(settings):
        rows, _ = _extract(collection, items[saved.stamp.items :], report)
        X = (sp.vstack if sp.issparse(rows) else np.concatenate)([saved.matrix, rows])
        collection.save_features(X, **SavedFeatures(n_fitted=len(items), sorted_by="id", way=way).to_arrays())
        return _there(collection, "features")
    order = by_id([item.id for item in items])
    X, extractor = _extract(collection, [items[row] for row in order], report)
    X = permuted(X, inverse(order))
    state = SavedFeatures(n_fitted=len(items), extractor=extractor, sorted_by="id", way=way)
    collection.save_features(X, **state.to_arrays())
    return _there(collection, "features")


def _there(collection: CollectionStore, name: str) -> SavedArray:
    """An array that has just been saved."""
    saved = collection.saved_array(name)
    assert saved is not None
    return saved


def _way(saved: SavedArray) -> str:
    """How items are compared by saved features; "" of those that were given."""
    state = SavedFeatures.from_arrays(saved.extras)
    return "" if state is None else state.way


def _is_fitted(settings: Mapping[str, Any]) -> bool:
    """Whether features have terms or scales that follow from all items."""
    return settings.get("kind", "text") in ("text", "numeric")


def outdated(collection: CollectionStore) -> dict[str, str]:
    """Features and graph that must be computed again, each with the reason.

    Those that are stale, and those of older versions, which depended on the order in which items came.
    """
    found = collection.stale()
    found.pop("assignments", None)
    if collection.settings.metric == "precomputed":
        return found
    kinds: dict[str, type[SavedFeatures | SavedGraph]] = {"graph": SavedGraph}
    if _is_fitted(collection.settings.features):
        kinds = {"features": SavedFeatures, **kinds}
    for name, kind in kinds.items():
        saved = None if name in found else collection.saved_array(name)
        state = None if saved is None else kind.from_arrays(saved.extras)  # a given array has none
        if state is not None and state.sorted_by != "id":
            found[name] = "it depended on the order of the items"
    way = way_of(collection)
    features = collection.saved_array("features") if way and "features" not in found else None
    if features is not None and _way(features) != way:  # else a model is new, and so are the settings
        found["features"] = f"items are compared by {way} now"
        found.setdefault("graph", "the features must be made anew")
    return found


def predictor_inputs(collection: CollectionStore, former: FitRecord | None) -> tuple[PredictorInputs, str]:
    """What the predictors of a fit are computed from, in the order of the items, and the token of its source.

    Features as in :func:`reduced_features`.
    """
    features, token = reduced_features(collection, former)
    given = collection.settings.metric == "precomputed"
    return PredictorInputs(features, has_dense_numbers(collection), given), token


def reduced_features(collection: CollectionStore, former: FitRecord | None) -> tuple[Any, str]:
    """Features in few columns, those of the former fit if they still hold, and the token of their source.

    Where items have edges and no features, those of :func:`lass.graph.embedding.node_features`: they hold
    as long as the edges do. None without edges.
    """
    given = collection.settings.metric == "precomputed"
    if given:
        graph = collection.saved_array("graph")
        source = None if graph is None else graph.matrix
    else:
        source = features_of(collection)
    if source is None or (given and not source.nnz):
        return None, ""
    token = reduced_from(collection)
    if former is not None and former.reduced_features is not None and former.reduced_from == token:
        return former.reduced_features, token
    order = by_id(collection.ids()[: source.shape[0]])
    if given:
        rows = node_features(permuted(source, order, order))
    else:
        rows = permuted(source, order)
        if token.startswith(EVEN):
            rows = linear.standardised(rows)
        rows = linear.reduced(rows).astype(np.float32)
    return permuted(rows, inverse(order)), token


def reduced_from(collection: CollectionStore) -> str:
    """The token of the source of :func:`reduced_features`: another one where columns are standardised."""
    given = collection.settings.metric == "precomputed"
    saved = collection.saved_stamp("graph" if given else "features")
    if saved is None:
        return ""
    return EVEN * (not given and reduces_here(collection)) + saved.token


def reduces_here(collection: CollectionStore) -> bool:
    """Whether the driver of workers makes few columns: an embedding of edges, or of standardised numbers."""
    if collection.settings.metric == "precomputed":
        return True
    return len(collection) <= MAX_ITEMS and has_dense_numbers(collection)


def has_dense_numbers(collection: CollectionStore, features: Any = None) -> bool:
    """Whether items are described by dense numbers, which trees may be grown on: no texts, no edges alone.

    ``features`` are those that are looked at, if the collection has none yet.
    """
    kind = collection.settings.features.get("kind", "text")
    if collection.settings.metric == "precomputed" or kind in ("text", "embeddings"):
        return False
    if features is not None and collection.saved_stamp("features") is None:
        return are_dense(features)
    return are_dense(features_of(collection))


def graph_of(
    collection: CollectionStore, report: ProgressCallback = ignore_progress, device: str | None = None
) -> sp.csr_array:
    """The graph of all items, built where it is out of date, in whatever order the items came.

    Neighbours of dense features, by the metrics "euclidean" and "cosine", are searched for on the ``device``
    if there is one.
    """
    with computing(collection) as stage:
        return _graph_of(stage, report, device)


def _graph_of(collection: CollectionStore, report: ProgressCallback, device: str | None) -> sp.csr_array:
    why = outdated(collection).get("graph")
    saved = collection.saved_array("graph")
    settings = collection.settings
    if settings.metric == "precomputed":
        if saved is None or why is not None:
            raise ValueError(
                f"the edges between the items of {collection.path} were given, and cannot be computed for "
                f"others ({why}); give them again: lass add --edges"
            )
        return saved.matrix
    if why is None and saved is not None:
        return saved.matrix
    X = features_of(collection, report)
    items = X.shape[0]
    report(Progress("neighbours", why or ""))
    state = graph_state(collection, items)
    count = min(settings.n_neighbors, items - 1)
    W = sp.csr_array((1, 1))
    if count:
        order = by_id(collection.ids()[:items])
        rows = permuted(X, order)
        W = _neighbour_graph(rows, count, settings.metric, device)
        report(Progress("graph"))
        if settings.metric == "cosine":
            W = _without_empty_rows(W, rows)
        back = inverse(order)
        W = permuted(W, back, back)
    edges = edges_beside(collection, items)
    if edges is not None:
        state = replace(state, neighbours=W, made_of=BOTH)
        W = join_graphs(W, edges, *GRAPHS[BOTH])
    collection.save_graph(W, **state.to_arrays())
    return W


def edges_beside(collection: CollectionStore, items: int) -> sp.csr_array | None:
    """The edges that were given beside features, of so many items; None if there are none."""
    saved = collection.saved_array("edges")
    if saved is None or collection.settings.metric == "precomputed":
        return None
    edges = sp.csr_array(saved.matrix, copy=True)
    edges.resize((items, items))  # items that were added later have none
    return edges


def balanced_graph(
    collection: CollectionStore, W: sp.csr_array, G: sp.csr_array, report: ProgressCallback = ignore_progress
) -> tuple[sp.csr_array, str]:
    """The graph of features and edges as hidden tags say, saved where it changed, and a sentence on it.

    Of a collection without edges beside its features, the graph as it is and "".
    """
    edges, saved = edges_beside(collection, W.shape[0]), collection.saved_array("graph")
    state = None if saved is None else SavedGraph.from_arrays(saved.extras)
    if edges is None or state is None or state.neighbours is None:
        return W, ""
    report(Progress("graph"))
    order = by_id(collection.ids()[: W.shape[0]])
    near, given = (permuted(sp.csr_array(one), order, order) for one in (state.neighbours, edges))
    choice = choose_graph(near, given, sp.csr_array(permuted(G, order)), compared_by(collection))
    if choice.graph != state.made_of:
        W = join_graphs(sp.csr_array(state.neighbours), edges, *GRAPHS[choice.graph])
        collection.save_graph(W, **replace(state, made_of=choice.graph).to_arrays())
    return W, choice.reason


def trees_sentence(collection: CollectionStore, model: TagModel | None) -> str:
    """Whether trees count for suggestions, and why not; "" where nobody would expect them."""
    kind = collection.settings.features.get("kind", "text")
    given = collection.settings.metric == "precomputed"
    if model is None or model.weights is None or given or kind in ("text", "embeddings"):
        return ""
    if model.weights.uses(TREES) or model.weights.mixture.get(TREE_VOTE, 0.0) > 0.0:
        return "trees grown on the features count beside linear models"
    if len(collection) > MAX_ITEMS:
        return f"trees are left out: there are more than {MAX_ITEMS:,} items"
    if not has_dense_numbers(collection):
        return "trees are left out: most numbers of the features are zero"
    tagged = np.count_nonzero((model.solution.problem.G > 0).sum(axis=1))
    why = "too few items are tagged" if tagged < MIN_TAGGED else "they got no weight"
    return f"trees are left out: {why}"


def smoothing_of(collection: CollectionStore, names: Sequence[str]) -> sp.csr_array | None:
    """Edges between tags with the same parent, as the settings ask for; None if they do not."""
    strength = collection.settings.smoothing
    return category_graph(names) * strength if strength else None


def compared_by(collection: CollectionStore) -> str:
    """What the features of items are called."""
    kind = str(collection.settings.features.get("kind", "text"))
    return {"numeric": "numbers", "images": "pictures", "embeddings": "text"}.get(kind, kind)


def graph_state(collection: CollectionStore, items: int) -> SavedGraph:
    """What is saved with a new graph of so many items that takes the place of the saved one."""
    saved = collection.saved_array("graph")
    former = None if saved is None else SavedGraph.from_arrays(saved.extras)
    n_fitted = items
    if saved is not None and former is not None and _is_grown(saved, former, items, collection):
        n_fitted = former.n_fitted
    return SavedGraph(n_fitted=n_fitted, sorted_by="id")


def _neighbour_graph(X: Any, count: int, metric: str, device: str | None) -> sp.csr_array:
    """The graph of rows and their nearest ones."""
    if device is not None and not sp.issparse(X):
        from lass.solvers.gpu.nearest import METRICS, knn_graph

        if metric in METRICS:
            return knn_graph(X, count, metric=metric, device=device)
    return KNNGraph(count, metric=metric).fit(X).graph


def _is_grown(saved: SavedArray, state: SavedGraph, items: int, collection: CollectionStore) -> bool:
    """Whether a graph differs from the saved one by a few items that were added."""
    settings = {"n_neighbors": collection.settings.n_neighbors, "metric": collection.settings.metric}
    few = items - state.n_fitted <= GROWTH * state.n_fitted
    return saved.stamp.settings == settings and saved.stamp.items < items and few


def groups_of(collection: CollectionStore, name: str | None = None) -> tuple[str, NDArray[np.intp] | None]:
    """The field by which near copies are grouped, and the group of each item, None if there is no field.

    By default the field is the first of "group" and "source" that an item has.
    """
    items = collection.get_items()
    fields = {field for item in items for field in item.extra if field != PARTS}
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
    collection: CollectionStore, items: Sequence[Item], report: ProgressCallback
) -> tuple[Any, dict[str, Any]]:
    """The rows of items by the kind of features in the settings, and the state of the extractor."""
    settings, way = collection.settings.features, way_of(collection)
    match settings.get("kind", "text"):
        case "text":
            documents = [item.text for item in items]
            if way == MEANING:
                both = WordsAndMeaning()
                return both.fit_transform(documents, embeddings_of(collection, items, report)), both.state()
            texts = TextFeatures()
            return texts.fit_transform(documents), texts.state()
        case "numeric":
            names: Any = settings.get("columns", [])
            columns = {
                name: [np.nan if item.extra.get(name) is None else item.extra[name] for item in items]
                for name in names
            }
            numbers = NumericFeatures().fit(columns)
            rows = numbers.transform(columns)
            for name, count in numbers.filled.items():
                report(Progress("features", f"{count:,} unknown numbers of {name!r} were set to its median"))
            return linear.standardised(np.clip(rows, -WILD, WILD)), numbers.state()
        case "images":
            skipped: list[BadRow] = []
            folder = collection.picture_folder
            pictures = image_features([folder / item.id for item in items], skipped=skipped)
            if len(skipped) == len(items):
                advice = "Is folder right in collection.toml?"
                raise ValueError(f"no picture could be read; {skipped[0]}. {advice}")
            if skipped:
                note = f"{len(skipped):,} pictures could not be read, such as {skipped[0]}"
                report(Progress("features", note))
            if way == CONTENT:
                pictures = side_by_side(pictures, embeddings_of(collection, items, report))
            return pictures, {}
        case "embeddings":
            model = settings.get("model")
            if not isinstance(model, str) or not model.strip():
                raise ValueError(
                    'collection.toml: features of kind "embeddings" need the name of a model; '
                    f"found {model!r}. Set one: lass fit --embed MODEL"
                )
            return embed_texts([item.text for item in items], model), {}
        case "vectors":
            raise ValueError(
                f"the vectors were given, and there are none for {len(items):,} items; "
                "give them: lass add --vectors"
            )
        case kind:
            known = "text, numeric, images, embeddings, vectors"
            raise ValueError(f"features of kind {kind!r} are not known; collection.toml may have {known}")
