"""Whether a model's embedding is used beside plain features: decided on hidden tags of the collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import AnnotationMatrix, CollectionStore, Item
from lass.collection.features import EmbeddingCache, WordsAndMeaning, embed_pictures, embed_texts
from lass.collection.features.images import image_features
from lass.collection.features.words import side_by_side
from lass.collection.reading import BadRow
from lass.collection.records import did_you_mean
from lass.graph import KNNGraph
from lass.tagging.canonical import CanonicalOrder, inverse, permuted
from lass.tagging.comparison import (
    Candidate,
    Comparison,
    Predict,
    choose,
    content_key,
    sampled_items,
    save_comparison,
    saved_comparison,
    walk_and_linear,
)
from lass.tagging.progress import Progress, ProgressCallback, ignore_progress
from lass.tagging.storage import SavedFeatures

AUTO = "auto"
WORDS, MEANING, COLOURS, CONTENT = "words", "words and meaning", "colours", "colours and content"
#: kind of features -> ways to compare items, the plain one first, each with a sentence
WAYS = {
    "text": {
        WORDS: "texts are compared by words",
        MEANING: "texts are compared by words and by meaning",
    },
    "images": {
        COLOURS: "pictures are compared by colours and edges",
        CONTENT: "pictures are compared by colours and by content",
    },
}
#: kind of features that there is one way to compare -> a sentence
PLAIN = {
    "numeric": "items are compared by numbers, each column standardised",
    "vectors": "items are compared by the vectors that were given",
    "embeddings": "texts are compared by the embeddings of a model alone",
}
#: part of the key of a choice: raise it when it is made in another way
VERSION = 1


def way_of(collection: CollectionStore) -> str:
    """How items are compared: as collection.toml says, or as was chosen; "" where there is no model.

    Before the first choice it is the way with the embedding, which the user asked for.
    """
    settings = collection.settings.features
    ways = ways_of(settings)
    if not ways:
        return ""
    asked = str(settings.get("compare", AUTO))
    if asked != AUTO:
        return asked
    saved = saved_comparison(collection, _subject(settings))
    return saved.chosen if saved is not None and saved.chosen in ways else list(ways)[-1]


def ways_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """The ways to compare items that a model offers; none without one."""
    ways = WAYS.get(str(settings.get("kind", "text")), {}) if settings.get("model") else {}
    asked = settings.get("compare", AUTO)
    if ways and asked != AUTO and asked not in ways:
        known = [AUTO, *ways]
        raise ValueError(
            f"compare must be one of {', '.join(known)}; found {asked!r}{did_you_mean(str(asked), known)}"
        )
    return ways


def comparison_sentence(collection: CollectionStore) -> str:
    """How items are compared where nothing is chosen by tags, in a sentence."""
    settings = collection.settings.features
    if collection.settings.metric == "precomputed":
        return "items are compared by edges alone"
    kind, ways = str(settings.get("kind", "text")), ways_of(settings)
    if ways:
        return f"{ways[way_of(collection)]}: set in collection.toml"
    return PLAIN.get(kind) or next(iter(WAYS[kind].values()))


def embeddings_of(
    collection: CollectionStore, items: Sequence[Item], report: ProgressCallback = ignore_progress
) -> NDArray[np.float32]:
    """The embeddings of items; only those that are not in the collection's file yet are computed."""
    settings = collection.settings.features
    model, pictures = str(settings["model"]), settings.get("kind") == "images"
    folder = collection.picture_folder

    def compute(places: list[int]) -> NDArray[np.float32]:
        noun = "pictures" if pictures else "texts"
        report(Progress("features", f"{len(places):,} {noun} go through {model}"))
        if not pictures:
            return embed_texts([items[place].text for place in places], model)
        skipped: list[BadRow] = []
        return embed_pictures([folder / items[place].id for place in places], model, skipped=skipped)

    keys = [item.id if pictures else item.text for item in items]
    file = collection.path / "arrays" / "embeddings.npz"
    return EmbeddingCache(file, model, keep=not collection.is_read_only).rows(keys, compute)


def choose_features(
    collection: CollectionStore, annotations: AnnotationMatrix,
    groups_of: Callable[[], tuple[str, NDArray[np.intp] | None]], report: ProgressCallback = ignore_progress,
) -> Comparison | None:  # fmt: skip
    """Choose how items are compared, and keep it with the collection; None where there is no choice.

    On at most :data:`lass.tagging.comparison.ITEMS` items; made again only where these, their tags or the
    settings have changed. :func:`way_of` gives it from then on.
    """
    settings = collection.settings
    ways = ways_of(settings.features)
    if not ways or settings.metric == "precomputed" or settings.features.get("compare", AUTO) != AUTO:
        return None
    order = CanonicalOrder.of(annotations)
    tags = order.annotations(annotations.G)
    rows = sampled_items(tags)
    items = collection.get_rows(order.rows[rows].tolist())
    T = sp.csr_array(tags[rows])
    codes = order.groups(groups_of()[1])
    near = np.arange(len(rows)) if codes is None else codes[rows]
    contents = [[item.id, item.text] for item in items]
    how = [VERSION, dict(settings.features), settings.n_neighbors, settings.metric]
    key, subject = content_key(how, contents, near, T), _subject(settings.features)
    known = saved_comparison(collection, subject, key)
    if known is not None and known.chosen in ways:
        return known
    sample = _Sample(collection, items, report)
    makes = [sample.plain, sample.with_embedding]
    candidates = [Candidate(*way, make) for way, make in zip(ways.items(), makes, strict=True)]
    report(Progress("comparison"))
    pause = partial(report, Progress("comparison"))
    found = choose(candidates, T, candidates[-1].name, groups=near, pause=pause)
    save_comparison(collection, subject, key, found)
    if len(rows) == len(order.rows):
        sample.save(found.chosen, order)
    return found


def _subject(settings: Mapping[str, Any]) -> str:
    return f"{settings.get('kind', 'text')} with {settings['model']}"


class _Sample:
    """Some items in the ways that they can be compared; what both need is computed once."""

    def __init__(self, collection: CollectionStore, items: list[Item], report: ProgressCallback) -> None:
        self.collection, self.items, self.report = collection, items, report
        self._rows: tuple[Any, Any, Any] | None = None
        self._words: WordsAndMeaning | None = None

    def plain(self) -> Predict:
        """Without the embedding."""
        rows, reduced, _ = self._features()
        return self._predict(rows, reduced)

    def with_embedding(self) -> Predict:
        """With it."""
        both = self._features()[2]
        return self._predict(both, both)

    def save(self, way: str, order: CanonicalOrder) -> None:
        """Save the features of all items, which the sample holds, unless they are there already."""
        collection = self.collection
        saved = collection.saved_array("features")
        state = None if saved is None else SavedFeatures.from_arrays(saved.extras)
        same = state is not None and state.way == way and state.sorted_by == "id"
        if self._rows is None or (same and "features" not in collection.stale()):
            return
        rows, _, both = self._rows
        plain = way in (WORDS, COLOURS)
        extractor = {} if self._words is None else (self._words.terms if plain else self._words).state()
        state = SavedFeatures(n_fitted=len(self.items), extractor=extractor, sorted_by="id", way=way)
        X = permuted(rows if plain else both, inverse(order.rows))
        collection.save_features(X, **state.to_arrays())

    def _fitted_words(self) -> WordsAndMeaning | None:
        """Terms and directions of the saved features, if they were fitted to these very items."""
        saved = self.collection.saved_array("features")
        state = None if saved is None else SavedFeatures.from_arrays(saved.extras)
        if state is None or state.way != MEANING or state.n_fitted != len(self.items):
            return None
        if "features" in self.collection.stale():
            return None
        return WordsAndMeaning.from_state(state.extractor)

    def _predict(self, rows: Any, reduced: Any) -> Predict:
        settings = self.collection.settings
        count = min(settings.n_neighbors, len(self.items) - 1)
        return walk_and_linear(KNNGraph(count, metric=settings.metric).fit(rows).graph, reduced)

    def _features(self) -> tuple[Any, Any, Any]:
        """Plain rows, the same in few columns, and rows with the embedding."""
        if self._rows is None:
            found = embeddings_of(self.collection, self.items, self.report)
            self.report(Progress("comparison"))
            if self.collection.settings.features.get("kind") == "images":
                folder = self.collection.picture_folder
                colours = image_features([folder / item.id for item in self.items], skipped=[])
                self._rows = colours, colours, side_by_side(colours, found)
            else:
                texts = [item.text for item in self.items]
                self._words = self._fitted_words()
                if self._words is None:
                    self._words = WordsAndMeaning()
                    X = self._words.fit_terms(texts)
                else:
                    X = self._words.terms.transform(texts)
                reduced = self._words.reduced(X)
                self._rows = X, reduced, side_by_side(reduced, found)
        return self._rows
