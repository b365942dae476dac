"""Texts cut into terms and counted, as scikit-learn's ``CountVectorizer`` does; its import takes longer.

Words and their pairs are numbers until it is known which of them are kept.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

WORD = re.compile(r"\b\w\w+\b")
SPACES = re.compile(r"\s\s+")

Numbers = NDArray[np.int64]


class Cut(NamedTuple):
    """Texts as numbers of their words or characters, one text after the other."""

    numbers: Numbers
    #: the text of each
    text: Numbers
    #: how many different ones there are
    size: int
    #: from numbers to words or characters
    names: Callable[[Numbers], list[str]]
    #: what stands between both of a pair
    between: str


def count_terms(
    texts: Sequence[str], settings: Mapping[str, Any], least: int = 1
) -> tuple[sp.csr_array, NDArray[Any]]:
    """How often each text has each term, and the terms, sorted; both empty where there are no words.

    ``settings`` are those of :func:`lass.collection.features.text.text_settings`. Terms that fewer than
    ``least`` texts have are left out.

    Examples
    --------
    >>> from lass.collection.features.terms import count_terms
    >>> settings = {"analyzer": "word", "ngrams": 2, "stop_words": "english"}
    >>> counts, terms = count_terms(["Mail, and mail again", "the news reader"], settings)
    >>> terms.tolist()
    ['mail', 'mail mail', 'news', 'news reader', 'reader']
    >>> counts.toarray().tolist()
    [[2, 1, 0, 0, 0], [0, 0, 1, 1, 1]]
    """
    cut = _characters(texts) if settings["analyzer"] == "char" else _words(texts, settings["stop_words"])
    parts, terms = _kept(texts, cut.text, cut.numbers, cut.size, least)
    found, names = [parts], cut.names(terms)
    if settings["ngrams"] == 2:
        together = cut.text[1:] == cut.text[:-1]
        pairs = (cut.numbers[:-1] * cut.size + cut.numbers[1:])[together]
        different, place = np.unique(pairs, return_inverse=True)
        counts, kept = _kept(texts, cut.text[1:][together], place, len(different), least)
        both = (cut.names(some) for some in np.divmod(different[kept], max(cut.size, 1)))
        found.append(counts)
        names += [f"{first}{cut.between}{second}" for first, second in zip(*both, strict=True)]
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    counts = sp.hstack(found, format="csr")
    counts = sp.csr_array((counts.data, place[counts.indices].astype(np.int32), counts.indptr), counts.shape)
    counts.sort_indices()
    result = np.empty(len(names), object)
    result[:] = [names[at] for at in order]
    return counts, result


def _kept(
    texts: Sequence[str], text: Numbers, numbers: Numbers, size: int, least: int
) -> tuple[sp.csr_array, Numbers]:
    """How often each text has each of these numbers, of those that enough texts have, and which these are."""
    ones = np.ones(len(numbers), np.int32)
    counts = sp.csr_array(sp.coo_array((ones, (text, numbers)), shape=(len(texts), size)))
    kept = np.flatnonzero(np.bincount(counts.indices, minlength=size) >= max(least, 1))
    place = np.full(size, -1, np.int32)
    place[kept] = np.arange(len(kept))
    there = place[counts.indices] >= 0
    starts = np.concatenate([[0], np.cumsum(there)])[counts.indptr]
    parts = counts.data[there], place[counts.indices[there]], starts
    return sp.csr_array(parts, shape=(len(texts), len(kept))), kept


def _words(texts: Sequence[str], stop_words: str | None) -> Cut:
    """Words of two characters at least, in lower case."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    found, lengths = array("q"), np.zeros(len(texts), np.int64)
    for at, text in enumerate(texts):
        words = WORD.findall(text.lower())
        found.extend(map(number.__getitem__, words))
        lengths[at] = len(words)
    names = np.empty(len(number), object)
    names[:] = list(number)
    numbers = np.frombuffer(found, np.int64) if found else np.zeros(0, np.int64)
    of = np.repeat(np.arange(len(texts)), lengths)
    if stop_words is not None:
        known = english_stop_words()
        kept = ~np.array([name in known for name in number], bool)[numbers]
        numbers, of = numbers[kept], of[kept]
    return Cut(numbers, of, len(number), lambda some: names[some].tolist(), " ")


def _characters(texts: Sequence[str]) -> Cut:
    """Single characters, in lower case; several spaces count once."""
    cut = [SPACES.sub(" ", text.lower()) for text in texts]
    found = np.frombuffer("".join(cut).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    text = np.repeat(np.arange(len(texts)), [len(one) for one in cut])
    different, numbers = np.unique(found, return_inverse=True)
    return Cut(
        numbers.astype(np.int64), text, len(different), lambda some: [chr(one) for one in different[some]], ""
    )


@cache
def stop_words() -> frozenset[str]:
    """The most frequent stop words of ten languages: they are features of texts, and no reason for a tag."""
    return frozenset(Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split())


@cache
def english_stop_words() -> frozenset[str]:
    """Frequent English words that say nothing about a text: the list of scikit-learn, kept as it is."""
    return frozenset(Path(__file__).with_name("english_stop_words.txt").read_text(encoding="utf-8").split())
