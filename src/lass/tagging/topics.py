"""Groups of similar items, found without any annotation and named by terms of their own texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import CollectionStore, Item
from lass.collection.features import TextFeatures
from lass.collection.features.terms import stop_words
from lass.graph.communities import find_communities
from lass.model.quadratic_program import Array
from lass.tagging.preparation import graph_of
from lass.tagging.progress import ProgressCallback, ignore_progress
from lass.tagging.storage import SavedFeatures, SavedMap

#: resolutions of the communities, tried in turn until half of the items are in groups: twice that of plain
#: modularity, since a tag is narrower than a subject; less where items have most others as neighbours
RESOLUTIONS = (2.0, 1.4, 1.0)
#: items that a group has at least, where there are many; with few items, a tenth of them
LEAST = 5
#: terms that name a group, and how many are compared to find different ones
TERMS, COMPARED = 5, 30
#: items with a tag whose terms are looked at, and terms of an item that are named with it
SEEN, SHARED = 500, 3
#: texts that a term must be in, as a share of the group, to name it
IN_GROUP = 0.15
#: how many times as frequent it is there as outside
TIMES = 2.0
#: texts that are added to those that have a term, so that one of a single text counts little
PRIOR = 5.0
#: share of the texts with a term that have it in one pair, and how much more that must set them apart
MOSTLY, MORE = 0.7, 1.5
#: items of a group so small that two of them suffice
FEW = 5
#: letters that two forms of a word share at their beginning
STEM = 5


@dataclass(frozen=True)
class ItemGroup:
    """Similar items, and a name for them; its number counts from 1, the largest group first."""

    number: int
    #: the term that sets the group apart most, else "group 3"; no two groups have the same
    name: str
    #: terms that set the group apart, most first; empty where the items have no texts
    terms: tuple[str, ...]
    #: rows of its items, those with the largest share of their edge weights in the group first
    rows: NDArray[np.intp]

    @property
    def medoid(self) -> int:
        """The row of its most typical item."""
        return int(self.rows[0])

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Grouping:
    """The group of each item, from 0 on, -1 for none; and the terms of each group."""

    part: NDArray[np.intp]
    terms: list[tuple[str, ...]]

    def to_map(self) -> dict[str, Any]:
        """Fields of :class:`SavedMap`."""
        return {"groups": self.part.astype(np.int32), "group_terms": json.dumps(self.terms)}

    @classmethod
    def from_map(cls, saved: SavedMap | None) -> Grouping | None:
        """What was saved; None with a map of an older version."""
        if saved is None or saved.groups is None:
            return None
        return cls(saved.groups.astype(np.intp), [tuple(own) for own in json.loads(saved.group_terms)])

    def groups(self, W: sp.csr_array, ids: Sequence[str]) -> list[ItemGroup]:
        """The groups, with the order of their items (the most typical first, then by id) and with names."""
        inside = belonging(W, self.part)
        places = np.argsort(np.argsort(np.array(ids[: len(inside)])))
        groups = []
        for place, (name, terms) in enumerate(zip(group_names(self.terms), self.terms, strict=True)):
            rows = np.flatnonzero(self.part == place)
            groups.append(
                ItemGroup(place + 1, name, terms, rows[np.lexsort((places[rows], -inside[rows].round(9)))])
            )
        return groups


@dataclass(frozen=True)
class TextTerms:
    """Whether each text has each term, (N, T), and the terms."""

    matrix: sp.csr_array
    names: Sequence[str]

    @cached_property
    def texts(self) -> Array:
        """(T,) how many texts have each term."""
        return np.bincount(self.matrix.indices, minlength=self.matrix.shape[1]).astype(float)


def item_groups(collection: CollectionStore, report: ProgressCallback = ignore_progress) -> list[ItemGroup]:
    """The groups of a collection: those saved with its map, else found now.

    Groups are communities of the graph (:func:`lass.graph.communities.find_communities`), and do not depend
    on annotations or on the order in which items came. Small ones are left out.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import lass
    >>> from lass.tagging.topics import item_groups
    >>> mails = [f"reads mail by {one}" for one in ("imap", "pop", "smtp", "uucp", "web")]
    >>> games = [f"a game of {one}" for one in ("chess", "go", "cards", "dice", "skill")]
    >>> with TemporaryDirectory() as folder:
    ...     with lass.create(f"{folder}/programs", mails + games, n_neighbors=3) as programs:
    ...         [(group.name, len(group)) for group in item_groups(programs)]
    [('mail', 5), ('game', 5)]
    """
    W = graph_of(collection, report)
    saved = collection.saved_array("map") if collection.stale_map() is None else None
    found = None if saved is None else Grouping.from_map(SavedMap.from_arrays(saved.extras))
    return (found or find_groups(collection, W)).groups(W, collection.ids())


def find_groups(collection: CollectionStore, W: sp.csr_array) -> Grouping:
    """The groups of all items by their graph, and the terms of each."""
    items = collection.get_items()[: W.shape[0]]
    order = np.array(sorted(range(len(items)), key=lambda row: items[row].id), dtype=np.intp)
    W = sp.csr_array(W)
    ordered = sp.csr_array(W[order][:, order])
    least = min(LEAST, max(2, len(items) // 10))
    part = np.empty(len(items), np.intp)
    for resolution in RESOLUTIONS:
        part[order] = find_communities(ordered, resolution=resolution)
        sizes = np.bincount(part, minlength=1)
        if 2 * sizes[sizes >= least].sum() >= len(items):
            break
    part[sizes[part] < least] = -1
    known = terms_of(collection, items)
    count = int(np.count_nonzero(sizes >= least))
    return Grouping(part, group_terms(known, part, count) if known else [()] * count)


def belonging(W: sp.csr_array, part: NDArray[np.intp]) -> Array:
    """For each item the share of its edge weights that stay in its group, times the number of such edges.

    Many edges mean that many others count it among their nearest: the first item is typical of its group.
    """
    source = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    degree = np.bincount(source, W.data, minlength=W.shape[0])
    same = (part[source] == part[W.indices]) & (part[source] >= 0)
    within = np.bincount(source[same], W.data[same], minlength=W.shape[0])
    return np.bincount(source[same], minlength=W.shape[0]) * within / np.maximum(degree, 1e-300)


def terms_of(collection: CollectionStore, items: Sequence[Item]) -> TextTerms | None:
    """The terms of the items' texts: those of the features if they are of texts; None without texts."""
    saved = collection.saved_array("features")
    if collection.settings.features.get("kind", "text") == "text" and saved is not None:
        state = SavedFeatures.from_arrays(saved.extras)
        of_terms = state is not None and state.extractor and sp.issparse(saved.matrix)
        if state is not None and of_terms and saved.stamp.items == len(items):
            return _present(saved.matrix, TextFeatures.from_state(state.extractor).terms)
    texts = [item.text for item in items]
    if sum(map(bool, texts)) < 0.5 * len(texts):
        return None
    found = TextFeatures()
    try:
        X = found.fit_transform(texts)
    except ValueError:  # no words in any of them
        return None
    return _present(X, found.terms)


def _present(X: Any, terms: list[str]) -> TextTerms:
    rows = sp.csr_array(X)
    return TextTerms(
        sp.csr_array((np.ones(rows.nnz, np.float32), rows.indices, rows.indptr), rows.shape), terms
    )


def group_terms(known: TextTerms, part: NDArray[np.intp], count: int) -> list[tuple[str, ...]]:
    """For each of ``count`` groups the terms that set it apart from all other items, most first."""
    grouped = np.flatnonzero(part >= 0)
    of = sp.csr_array((np.ones(len(grouped)), (part[grouped], grouped)), shape=(count, len(part)))
    inside = sp.csr_array(of @ known.matrix)
    everywhere = known.texts
    sizes = np.bincount(part[grouped], minlength=count)
    found = []
    for place in range(count):
        columns = inside.indices[inside.indptr[place] : inside.indptr[place + 1]]
        counts = inside.data[inside.indptr[place] : inside.indptr[place + 1]]
        found.append(_apart(known.names, columns, counts, everywhere[columns], int(sizes[place]), len(part)))
    return found


def selection_terms(known: TextTerms, rows: NDArray[np.intp]) -> tuple[str, ...]:
    """The terms that set some items apart from all others."""
    part = np.full(known.matrix.shape[0], -1, np.intp)
    part[rows] = 0
    return group_terms(known, part, 1)[0]


def shared_terms(known: TextTerms, rows: NDArray[np.intp], having: NDArray[np.intp]) -> list[tuple[str, ...]]:
    """For each of some items its terms that set others, such as those that have a tag, apart.

    The most telling first.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.tagging.topics import TextTerms, shared_terms
    >>> texts = sp.csr_array([[1.0, 1, 0], [1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1], [1, 0, 1]])
    >>> shared_terms(TextTerms(texts, ["the", "mail", "game"]), np.array([0, 3]), np.array([1, 2]))
    [('mail',), ()]
    """
    matrix, N = known.matrix, known.matrix.shape[0]
    others = having[having < N][:SEEN]
    none = np.zeros(0, np.int32)
    entries = [matrix.indices[matrix.indptr[one] : matrix.indptr[one + 1]] for one in others]
    every = np.bincount(np.concatenate([none, *entries]), minlength=matrix.shape[1])
    found: list[tuple[str, ...]] = []
    for row, itself in zip(rows.tolist(), np.isin(rows, others).tolist(), strict=True):
        columns = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]] if row < N else none
        size = len(others) - itself
        if not size or not len(columns):
            found.append(())
            continue
        counts = every[columns].astype(float) - itself
        found.append(_apart(known.names, columns, counts, known.texts[columns], size, N)[:SHARED])
    return found


def _apart(
    names: Sequence[str], columns: NDArray[Any], counts: Array, everywhere: Array, size: int, items: int
) -> tuple[str, ...]:
    """Terms by ``c^1.5 log(c / m)^2``, of the shares of the group's texts and of all texts that have one.

    One must be at least twice as frequent in the group as outside it. Of two pairs that follow one another
    (*command line*, *line tool*) the less frequent one is a piece of a longer phrase.
    """
    rest = items - size
    inside, outside = counts / size, (everywhere - counts) / max(rest, 1)
    # where a group is everything nothing remains to compare with: then the most frequent terms
    lift = inside / ((everywhere + PRIOR) / (items + PRIOR))
    apart = np.log(np.maximum(lift, 1.0)) * (inside >= TIMES * outside)
    value = inside**1.5 * apart**2 if rest else counts
    least = next(count for count, most in ((1, 2), (2, FEW), (3, items)) if size <= most)
    common = (counts >= max(least, IN_GROUP * size)) & (value > 0)
    # texts made from one another share whole sentences: of terms that all of them have, one word names best
    pairs = np.array([" " in names[column] for column in columns], bool)
    order = [int(at) for at in np.lexsort((columns, pairs, -value.round(9))) if common[at]][:COMPARED]
    found = {names[columns[at]]: (counts[at], lift[at]) for at in order if _is_word(names[columns[at]])}
    return _different([term for term in found if not _is_piece(term, found)])


def _is_piece(term: str, found: Mapping[str, tuple[float, float]]) -> bool:
    """Whether a pair overlaps with a more frequent one, or a single term is mostly in a pair that says more.

    Of each term: how many texts have it, and how many times as frequent it is as elsewhere.
    """
    first, _, last = term.partition(" ")
    own, lift = found[term]
    if not last:
        return any(
            term in pair.split() and count >= MOSTLY * own and more >= MORE * lift
            for pair, (count, more) in found.items()
        )
    return any(
        count > own and (other.endswith(f" {first}") or other.startswith(f"{last} "))
        for other, (count, _) in found.items()
    )


def _is_word(term: str) -> bool:
    """Whether a term can name something: no bare numbers, no single letters, no stop words."""
    if any(part in stop_words() for part in term.split()):
        return False
    return any(letter.isalpha() for letter in term) and (len(term) > 2 or not term.isascii())


def _different(terms: Sequence[str]) -> tuple[str, ...]:
    """The first few terms that share no word with one before; a pair of words may stand for its first."""
    kept: list[str] = []
    for term in terms:
        if not any(_alike(one, other) for one in term.split() for held in kept for other in held.split()):
            kept.append(term)
        if len(kept) == TERMS:
            break
    return tuple(kept)


def is_near_duplicate(name: str, others: Iterable[str]) -> bool:
    """Whether all parts of a name are in another one, or the other way round: *mail* and *mail reader*.

    Examples
    --------
    >>> is_near_duplicate("games", ["board game"]), is_near_duplicate("game", ["mail"])
    (True, False)
    >>> is_near_duplicate("mail reader", ["mail server"])
    False
    """
    own = name.split()
    return any(
        all(any(_alike(one, other) for other in longer) for one in shorter)
        for parts in map(str.split, others)
        for shorter, longer in [sorted((own, parts), key=len)]
    )


def _alike(one: str, other: str) -> bool:
    """Whether two words are forms of one: game and games, compress and compression."""
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter[: max(STEM, len(shorter) - 1)] if len(shorter) > STEM else shorter) and (
        len(longer) - len(shorter) <= 4
    )


def group_names(terms: Sequence[tuple[str, ...]]) -> list[str]:
    """A name for each group: its first term, with further ones where another group has the same."""
    taken: set[str] = set()
    names = []
    for place, own in enumerate(terms):
        tries = [" ".join(own[:count]) for count in range(1, len(own) + 1)]
        fallback = f"group {place + 1}"
        name = next((one for one in tries if one not in taken), fallback)
        taken.add(name)
        names.append(name)
    return names
