"""Texts as rows of numbers: words weighted by how rare they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

# scikit-learn is imported where it is used: whoever has features already starts faster without it
if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

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
        counts, terms = count_terms(texts, self.settings)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
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
        short = np.char.str_len(terms.astype(str)) <= LONGEST_TERM if len(terms) else np.zeros(0, bool)
        least, most = (1, N) if N < 20 else (2 if N < 5000 else 3, N // 2)
        keep = short & (frequency >= least) & (frequency <= most)
        if not keep.any():
            keep = short if short.any() else np.ones(len(terms), bool)
        chosen = np.flatnonzero(keep)
        if len(chosen) > MOST_TERMS:
            chosen = np.sort(chosen[np.argsort(-frequency[chosen], kind="stable")[:MOST_TERMS]])
        self.terms = terms[chosen].tolist()
        self.idf = np.log((1 + N) / (1 + frequency[chosen])) + 1
        return chosen

    def transform(self, texts: Sequence[str]) -> sp.csr_array:
        """Rows of other texts in the same columns; a text without a known term is all zero."""
        counter = _counter(self.settings, self.terms)
        return self._weighed(counter.transform(_checked(texts)))

    def _weighed(self, counts: Any) -> sp.csr_array:
        from sklearn.preprocessing import normalize

        rows = sp.csr_array(counts, dtype=np.float64)
        rows.data = (1 + np.log(rows.data)) * self.idf[rows.indices]
        rows = normalize(rows, copy=False)
        rows.sort_indices()
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


def sample_step(texts: int) -> int:
    """Of so many texts, each of these steps leads to one that the settings are chosen by."""
    return max(1, texts // SAMPLE)


def count_terms(texts: Sequence[str], settings: Mapping[str, Any]) -> tuple[sp.csr_array, NDArray[Any]]:
    """How often each text has each term, and the terms, sorted; both empty where there are no words."""
    counter = _counter(settings)
    try:
        counts = sp.csr_array(counter.fit_transform(texts))
    except ValueError:  # scikit-learn's error for an empty vocabulary
        return sp.csr_array((len(texts), 0), dtype=np.int32), np.zeros(0, object)
    return counts, counter.get_feature_names_out()


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


def _counter(settings: Mapping[str, Any], terms: list[str] | None = None) -> CountVectorizer:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(
        analyzer=settings["analyzer"],
        ngram_range=(1, settings["ngrams"]),
        stop_words=settings["stop_words"] if settings["analyzer"] == "word" else None,
        vocabulary=terms,
        dtype=np.int32,
    )


def _as_bytes(value: Any) -> Any:
    # one array of bytes: an array of texts would make every entry as wide as the widest
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
