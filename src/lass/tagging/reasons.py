"""Why a tag is suggested, or doubted: one sentence, and numbers that add up to the score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from math import comb
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import CollectionStore, Item
from lass.learning.predictors.tag_lists import pair_values
from lass.learning.predictors.weights import evidence_for, probability
from lass.tagging.suggestions import Suggestion, TagSuggester, supporting_rows
from lass.tagging.topics import TextTerms, shared_terms, terms_of

#: neighbours and tags that are named
NAMED = 3
#: what a source must add to the evidence to be mentioned
LEAST = 0.1
#: share of the support for a tag from which on a neighbour is named
SUPPORT = 0.01
#: share of the items with one tag that have another, from which on it usually, or often, goes with it; at
#: most half of the share of all items: rarely
USUALLY, OFTEN, RARELY = 0.5, 0.1, 0.5
#: characters of a name
NAME = 60
#: the quotation marks of terms
OPEN, CLOSE = "\N{LEFT DOUBLE QUOTATION MARK}", "\N{RIGHT DOUBLE QUOTATION MARK}"
#: sources that people tell apart, and the predictors of each
SOURCES: dict[str, tuple[str, ...]] = {
    "similar": ("crowd", "propagation", "neighbours"), "content": ("features", "trees"),
    "tags": ("co-occurrence",), "frequency": ("frequency",),
}  # fmt: skip


class Part(NamedTuple):
    """A part of a sentence: plain text, or a name; of an item or a tag with its row or column."""

    text: str
    kind: Literal["text", "term", "item", "tag"] = "text"
    place: int | None = None


class Explanation(NamedTuple):
    """Why an item probably has a tag."""

    parts: tuple[Part, ...]
    #: terms of its text that set the items with the tag apart, the most telling first
    terms: tuple[str, ...]
    #: share of the score by source, see :func:`score_points`; empty without a score
    points: dict[str, float]

    @property
    def sentence(self) -> str:
        """The parts as one text."""
        return "".join(part.text for part in self.parts)


class Explainer:
    """Sentences that say why tags are suggested, from a suggester and the texts of the items.

    Parameters
    ----------
    suggester : TagSuggester
    terms : function returning TextTerms or None
        Terms of the items' texts; None where items are not compared by texts.
    name : function of a row
        What to call an item.
    content : str
        What items are compared by, such as "text".

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import lass
    >>> mails = [f"reads mail by {one}" for one in ("imap", "pop", "smtp", "uucp", "web")]
    >>> games = [f"a game of {one}" for one in ("chess", "go", "cards", "dice", "skill")]
    >>> known = [("0", "mail"), ("1", "mail"), ("5", "game"), ("6", "game")]
    >>> with TemporaryDirectory() as folder:
    ...     with lass.create(f"{folder}/programs", mails + games, tags=known, n_neighbors=3) as programs:
    ...         result = programs.fit()
    ...         print(programs.suggest(items=["2"], top=1, explain=True)[0].why)
    Because it is like 0 and 1, which have it.
    """

    def __init__(
        self, suggester: TagSuggester, terms: Callable[[], TextTerms | None],
        name: Callable[[Sequence[int]], list[str]], content: str = "text",
    ) -> None:  # fmt: skip
        self.suggester, self._terms, self._name, self._content = suggester, terms, name, content

    @classmethod
    def of_collection(cls, collection: CollectionStore, suggester: TagSuggester) -> Explainer:
        """With the texts and names of a collection; items have the names of their ids on the command line."""
        settings = collection.settings
        kind = str(settings.features.get("kind", "text"))
        compared = settings.metric != "precomputed"
        ids = suggester.annotations.ids

        @cache
        def terms() -> TextTerms | None:
            has_terms = compared and kind == "text"
            return terms_of(collection, collection.get_items()) if has_terms else None

        return cls(suggester, terms, lambda rows: [ids[row] for row in rows], content_of(kind, compared))

    def labels(self) -> dict[str, str]:
        """What to call the sources of :func:`score_points`, and where they start from, which comes first."""
        return {
            "start": "any item", "similar": "similar items", "content": f"its {self._content}",
            "tags": "its other tags", "frequency": "how common the tag is",
        }  # fmt: skip

    @cached_property
    def _having(self) -> sp.csr_array:
        return sp.csr_array(self.suggester.problem.G > 0, dtype=np.int32)

    @cached_property
    def _by_tag(self) -> sp.csc_array:
        return sp.csc_array(self._having)

    @cached_property
    def _counts(self) -> NDArray[np.intp]:
        """How many items have each tag."""
        return np.bincount(self._having.indices, minlength=self._having.shape[1])

    def explained(self, found: Sequence[Suggestion]) -> list[Suggestion]:
        """Suggestions with the sentence in ``why``."""
        rows, columns = self.suggester.places(found)
        sentences = self.explain(rows, columns, [row.because for row in found])
        return [row._replace(why=one.sentence) for row, one in zip(found, sentences, strict=True)]

    def explain(
        self, rows: NDArray[np.intp], columns: NDArray[np.intp], because: Sequence[Mapping[str, float]],
        scores: Sequence[float | None] | None = None,
    ) -> list[Explanation]:  # fmt: skip
        """For pairs of an item and a tag, why the tag is suggested, or doubted where the item has it."""
        problem = self.suggester.problem
        like, share = supporting_rows(problem, self.suggester.model.solution.Z, rows, columns, NAMED)
        like = np.where(share >= SUPPORT, like, -1)
        terms, goes_with = self._shared_terms(rows, columns), self._going_with(rows, columns)
        stated = pair_values(problem.G, rows, columns) > 0
        edges = [
            problem.W.indices[problem.W.indptr[row] : problem.W.indptr[row + 1]] for row in rows.tolist()
        ]
        values = [
            pair_values(problem.G, near.astype(np.intp), np.full(len(near), column))
            for near, column in zip(edges, columns.tolist(), strict=True)
        ]
        lacking = [near[value < 0][:NAMED] for near, value in zip(edges, values, strict=True)]
        names = self._names(np.concatenate([like.ravel(), *lacking]))  # read together
        found = []
        for at in range(len(rows)):
            similar = [(names[one], one) for one in like[at].tolist() if one >= 0]
            unlike = [(names[one], one) for one in lacking[at].tolist()]
            of = {source: sum(because[at].get(one, 0.0) for one in SOURCES[source]) for source in SOURCES}
            if stated[at]:
                parts = self._doubting(values[at], unlike, goes_with[at])
                own: tuple[str, ...] = ()
            else:
                own = terms[at] if of["content"] > LEAST or not because[at] else ()
                near = len(edges[at])
                parts = self._supporting(own, similar, unlike, goes_with[at], of, because[at], near)
            score = None if scores is None else scores[at]
            points = {} if score is None or not because[at] else score_points(of, score)
            found.append(Explanation(tuple(parts), own, points))
        return found

    def _supporting(
        self, terms: tuple[str, ...], similar: list[tuple[str, int]], lacking: list[tuple[str, int]],
        others: list[tuple[float, int]], of: Mapping[str, float], because: Mapping[str, float], near: int,
    ) -> list[Part]:  # fmt: skip
        clauses: list[list[Part]] = []
        if terms:
            clauses.append([Part("its text says "), *_quoted(terms)])
        elif of["content"] > LEAST:
            clauses.append([Part(f"its {self._content} resembles that of items that have it")])
        if similar:
            before = "like " if clauses else "it is like "
            clauses.append(_of_items(before, similar, "has it", "have it"))
        elif because.get("propagation", 0.0) > LEAST:
            clauses.append([Part("items close to its similar items have it")])
        with_it = [(share, tag) for share, tag in others if share >= OFTEN][:NAMED]
        if with_it and (of["tags"] > LEAST or not because):
            usual = [pair for pair in with_it if pair[0] >= USUALLY] or with_it
            subject = "" if clauses else "the tag "
            verb = "usually" if usual[0][0] >= USUALLY else "often"
            clauses.append(
                [Part(f"{subject}{verb} goes with "), *_listed([self._tag(tag) for _, tag in usual])]
            )
        if not clauses and of["frequency"] > LEAST:
            clauses.append([Part("many items have it")])
        parts = [Part("Because "), *_joined(clauses)] if clauses else [Part("No single reason stands out")]
        if lacking:
            parts += _of_items("; but unlike ", lacking, "does not have it", "do not have it")
        elif not similar and near and clauses:
            parts.append(Part("; though no similar item has it so far"))
        return [*parts, Part(".")]

    def _doubting(
        self, values: NDArray[np.float32], lacking: list[tuple[str, int]], others: list[tuple[float, int]]
    ) -> list[Part]:
        clauses: list[list[Part]] = []
        having, near = int(np.count_nonzero(values > 0)), len(values)
        if lacking:
            clauses.append(
                _of_items("unlike it, ", lacking, "does not have it", "do not have it", comma=False)
            )
        if not having and near:
            clauses.append([Part("no similar item has it")])
        elif 2 * having < near:
            has = "has" if having == 1 else "have"
            clauses.append([Part(f"only {having} of {near} similar items {has} it")])
        rare = [tag for share, tag in others[::-1] if share <= 0.0][:NAMED]
        if rare:
            clauses.append(
                [Part("no other item has it with "), *_listed([self._tag(tag) for tag in rare], "or")]
            )
        if not clauses:
            return [Part("Doubtful because its score is low.")]
        return [Part("Doubtful because "), *_joined(clauses), Part(".")]

    def _tag(self, column: int) -> Part:
        return Part(self.suggester.annotations.names[column], "tag", column)

    def _names(self, rows: NDArray[np.int32]) -> dict[int, str]:
        wanted = np.unique(rows[rows >= 0]).tolist()
        return dict(zip(wanted, self._name(wanted), strict=True))

    def _shared_terms(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> list[tuple[str, ...]]:
        """For each pair the terms that the item shares with those that have the tag."""
        found: list[tuple[str, ...]] = [()] * len(rows)
        known = self._terms()
        if known is None:
            return found
        for column in np.unique(columns).tolist():
            at = np.flatnonzero(columns == column)
            having = self._with_tag(column)
            for place, terms in zip(at.tolist(), shared_terms(known, rows[at], having), strict=True):
                found[place] = terms
        return found

    def _with_tag(self, column: int) -> NDArray[np.intp]:
        """The items that have a tag."""
        by_tag = self._by_tag
        return by_tag.indices[by_tag.indptr[column] : by_tag.indptr[column + 1]].astype(np.intp)

    def _going_with(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> list[list[tuple[float, int]]]:
        """For each pair the other tags of the item, with the share of their items that have the tag, too.

        The highest share first; only those whose share differs much from that of all items.
        """
        having, counts, by_tag = self._having, self._counts, self._by_tag
        own = [having.indices[having.indptr[row] : having.indptr[row + 1]] for row in rows.tolist()]
        others = np.unique(np.concatenate([np.zeros(0, np.int32), *own])).astype(np.intp)
        if not len(others):
            return [[] for _ in own]
        # by tag there is nothing to look through but the items that have these
        both = sp.csr_array(by_tag[:, others].T @ having)
        both.sort_indices()
        items, found = having.shape[0], []
        for column, tags in zip(columns.tolist(), own, strict=True):
            itself = int(column in tags)
            tags = tags[tags != column].astype(np.intp)
            together = pair_values(both, np.searchsorted(others, tags), np.full(len(tags), column)) - itself
            shares = together / np.maximum(counts[tags] - 1, 1)
            average = counts[column] / items
            telling = ((shares > 1.5 * average) | (shares <= RARELY * average)) & (counts[tags] > 1)
            pairs = zip(shares[telling].tolist(), tags[telling].tolist(), strict=True)
            found.append(sorted(pairs, key=lambda pair: (-pair[0], pair[1])))
        return found


def content_of(kind: str, compared: bool = True) -> str:
    """What items are compared by, as people call it."""
    return {"text": "text", "images": "picture"}.get(kind, "content") if compared else "place among the edges"


def named(item: Item) -> str:
    """What to call an item in a sentence: its title if it has one, shortened."""
    name = " ".join((item.title or item.id).split())
    return name if len(name) <= NAME else name[: NAME - 1].rstrip() + "…"


def score_points(of: Mapping[str, float], score: float) -> dict[str, float]:
    """What each source adds to a score: ``start``, the score without any, and the sources; they sum to it.

    Sources add to the evidence, whose probability is no sum. So each gets what it adds to the probability,
    the mean over all orders in which sources may be added (its Shapley value): it has the sign of what it
    adds to the evidence, and nothing depends on an order.

    Examples
    --------
    >>> from lass.tagging.reasons import score_points
    >>> points = score_points({"similar": 2.0, "content": 1.0, "tags": 0.0, "frequency": -0.5}, 0.6)
    >>> {source: round(value, 3) for source, value in points.items()}
    {'start': 0.164, 'similar': 0.348, 'content': 0.163, 'tags': 0.0, 'frequency': -0.074}
    >>> round(sum(points.values()), 9)
    0.6
    """
    adds = np.array(list(of.values()))
    start = float(evidence_for(np.array([score]))[0] - adds.sum())
    member, weights = _orders(len(adds))
    value = probability(start + member @ adds)
    points = {"start": float(value[0]), **dict(zip(of, (weights @ value).tolist(), strict=True))}
    points["start"] += score - sum(points.values())  # rounding of scores that are stored in single precision
    return points


@cache
def _orders(count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Which of some sources each set of them has, and the weights of the sets in the share of each source."""
    member = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    sizes, weights = member.sum(axis=1), np.zeros((count, 2**count))
    for place in range(count):
        without = np.flatnonzero(member[:, place] == 0)
        weight = 1.0 / (count * np.array([comb(count - 1, size) for size in sizes[without].tolist()]))
        weights[place, without | (1 << place)], weights[place, without] = weight, -weight
    return member, weights


def _of_items(
    before: str, items: list[tuple[str, int]], one: str, many: str, comma: bool = True
) -> list[Part]:
    """Such as: like gmap and bwa, which have it."""
    verb = one if len(items) == 1 else many
    listed = _listed([Part(name, "item", row) for name, row in items])
    return [Part(before), *listed, Part(f", which {verb}" if comma else f" {verb}")]


def _listed(parts: list[Part], last: str = "and") -> list[Part]:
    """Such as: a, b and c."""
    found = parts[:1]
    for place, part in enumerate(parts[1:], 2):
        found += [Part(f" {last} " if place == len(parts) else ", "), part]
    return found


def _quoted(terms: Sequence[str]) -> list[Part]:
    """Such as: “a”, “b” and “c”."""
    found: list[Part] = []
    for part in _listed([Part(one, "term") for one in terms]):
        found += [Part(OPEN), part, Part(CLOSE)] if part.kind == "term" else [part]
    return found


def _joined(clauses: list[list[Part]]) -> list[Part]:
    found = list(clauses[0])
    for clause in clauses[1:]:
        found += [Part("; "), *clause]
    return found
