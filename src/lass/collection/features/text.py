"""Texts as rows of numbers: words weighted by how rare they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection.features.terms import count_terms

#: texts of so many characters in all are cheap enough to count pairs of words as well
FEW_CHARACTERS = 3_000_000
MOST_TERMS = 200_000
LONGEST_TERM = 60
SAMPLE = 2000
ENGLISH = frozenset(
    ("the", "of", "and", "to", "is", "for", "with", "that", "on", "this", "are", "be", "by", "from")
)
#: Thai, Lao, Burmese, Khmer, Japanese, Chinese: no spaces between words
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
)


class TextFeatures:
    """TF-IDF rows, with what new texts need to get the same columns.

    ``x = (1 + ln tf) * (1 + ln((1 + N) / (1 + df)))``, divided by its length. A
    term stays if at least ``least`` texts have it (1 below 20 texts, 2 below 5,000,
    3 from there) and at most half of them do. English stop words go only where the
    texts look English; pairs of words come in where the texts are short in all; texts
    written without spaces are cut into single characters and pairs of them.

    Attributes
    ----------
    terms : list of str
        The columns, sorted.
    idf : array
        Their weights.

    Examples
    --------
    >>> from lass.collection.features import TextFeatures
    >>> features = TextFeatures().fit(["a mail reader", "a news reader", "a game"])
    >>> features.transform(["mail for a reader"]).shape
    (1, 6)
    >>> again = TextFeatures.from_state(features.state())
    >>> again.terms == features.terms
    True
    """

    terms: list[str]
    idf: NDArray[np.float64]

    def fit(self, texts: Sequence[str]) -> TextFeatures:
        """Choose the columns and their weights."""
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Sequence[str]) -> sp.csr_array:
        """Choose the columns, and return the rows of these very texts."""
        texts = _checked(texts)
        self.settings = text_settings(texts[:: sample_step(len(texts))], sum(map(len, texts)))
        for least in (bounds(len(texts))[0], 1):  # all terms where none is frequent enough
            counts, terms = count_terms(texts, self.settings, least)
            frequency = np.bincount(counts.indices, minlength=counts.shape[1])
            if _may_stay(terms, frequency, len(texts)).any():
                break
        return self._weighed(counts[:, self._choose(terms, frequency, len(texts))])

    @classmethod
    def of_counts(
        cls, settings: dict[str, Any], terms: NDArray[Any], frequency: NDArray[np.intp], texts: int
    ) -> TextFeatures:
        """Columns chosen from all terms, sorted, and the number of texts that have each; of so many texts."""
        self = cls()
        self.settings = settings
        self._choose(terms, frequency, texts)
        return self

    def _choose(self, terms: NDArray[Any], frequency: NDArray[np.intp], N: int) -> NDArray[np.intp]:
        """Choose the columns and their weights; which of the terms they are."""
        if not len(terms):
            raise ValueError("texts must hold words; found none in any of them. Choose other columns")
        keep = _may_stay(terms, frequency, N)
        if not keep.any():
            keep = _short(terms) if _short(terms).any() else np.ones(len(terms), bool)
        chosen = np.flatnonzero(keep)
        if len(chosen) > MOST_TERMS:
            chosen = np.sort(chosen[np.argsort(-frequency[chosen], kind="stable")[:MOST_TERMS]])
        self.terms = terms[chosen].tolist()
        self.idf = np.log((1 + N) / (1 + frequency[chosen])) + 1
        return chosen

    def transform(self, texts: Sequence[str]) -> sp.csr_array:
        """Rows of other texts in the same columns; a text without a known term is all zero."""
        counts, terms = count_terms(_checked(texts), self.settings)
        column = dict(zip(self.terms, range(len(self.terms)), strict=True))
        place = np.array([column.get(term, -1) for term in terms], np.int64)
        known = np.flatnonzero(place >= 0)
        counts = counts[:, known]
        shape = (counts.shape[0], len(self.terms))
        return self._weighed(sp.csr_array((counts.data, place[known][counts.indices], counts.indptr), shape))

    def _weighed(self, counts: Any) -> sp.csr_array:
        rows = sp.csr_array(counts, dtype=np.float64)
        rows.data = (1 + np.log(rows.data)) * self.idf[rows.indices]
        rows.sort_indices()
        lengths = np.diff(rows.indptr)
        squares = np.bincount(np.repeat(np.arange(rows.shape[0]), lengths), rows.data**2, rows.shape[0])
        rows.data /= np.repeat(np.sqrt(squares), lengths)
        return sp.csr_array(rows, dtype=np.float32)

    def state(self) -> dict[str, Any]:
        """All of it as plain arrays, fit for an ``.npz`` file."""
        return {"terms": _as_bytes(self.terms), "idf": self.idf, "settings": _as_bytes(self.settings)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> TextFeatures:
        """The same features again; ``ValueError`` where the arrays cannot be that."""
        self = cls()
        try:
            terms, settings = (json.loads(bytes(state[name])) for name in ("terms", "settings"))
            idf = np.asarray(state["idf"], np.float64)
            fits = (
                isinstance(terms, list) and all(isinstance(term, str) for term in terms)
                and len(set(terms)) == len(terms) and terms and idf.shape == (len(terms),)
                and bool(np.isfinite(idf).all()) and set(settings) == {"stop_words", "analyzer", "ngrams"}
                and settings["stop_words"] in (None, "english") and settings["analyzer"] in ("word", "char")
                and settings["ngrams"] in (1, 2)
            )  # fmt: skip
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ValueError(f"state is not one of text features ({error})") from None
        if not fits:
            raise ValueError("state is not one of text features: terms, idf and settings do not fit")
        self.terms, self.idf, self.settings = terms, idf, settings
        return self


def _checked(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise ValueError("texts must be a list of texts; found a single one")
    texts = list(texts)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("texts must be a list of str; found something else in it")
    return texts


def bounds(texts: int) -> tuple[int, int]:
    """In how many of so many texts a term must be at least and at most to stay."""
    return (1, texts) if texts < 20 else (2 if texts < 5000 else 3, texts // 2)


def _may_stay(terms: NDArray[Any], frequency: NDArray[np.intp], texts: int) -> NDArray[np.bool_]:
    least, most = bounds(texts)
    return np.asarray(_short(terms) & (frequency >= least) & (frequency <= most))


def _short(terms: NDArray[Any]) -> NDArray[np.bool_]:
    return np.fromiter((len(term) <= LONGEST_TERM for term in terms), bool, len(terms))


def sample_step(texts: int) -> int:
    """Of so many texts, each of these steps leads to one that the settings are chosen by."""
    return max(1, texts // SAMPLE)


def text_settings(sample: Sequence[str], characters: int) -> dict[str, Any]:
    """How texts are cut into terms, by a sample of them and the number of characters of all."""
    words = [word for text in sample for word in text[:1000].lower().split()]
    beginnings = "".join(text[:200] for text in sample)
    unspaced = sum(map(str.isalpha, UNSPACED.findall(beginnings)))
    if unspaced > 0.3 * sum(map(str.isalpha, beginnings)):
        return {"stop_words": None, "analyzer": "char", "ngrams": 2}
    # 5 % of these few words is far above what other languages reach by accident ("in", "is", "an")
    english = sum(word in ENGLISH for word in words) > 0.05 * len(words)
    distinct = len(ENGLISH.intersection(words)) >= min(6, len(words) // 4)
    cheap = characters <= FEW_CHARACTERS
    return {
        "stop_words": "english" if english and distinct else None,
        "analyzer": "word",
        "ngrams": 2 if cheap else 1,
    }


def _as_bytes(value: Any) -> Any:
    # one array of bytes: an array of texts would make every entry as wide as the widest
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
