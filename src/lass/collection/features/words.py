"""Texts by their words and by their meaning: both side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection.features.text import TextFeatures

#: principal directions that terms are reduced to
DIRECTIONS = 200


class WordsAndMeaning:
    """TF-IDF in its principal directions beside an embedding, each of length one.

    So both count the same when rows are compared by cosine. New texts get the same columns from
    :meth:`transform`; the embedding comes from :func:`lass.collection.features.embed_texts`.

    Attributes
    ----------
    terms : TextFeatures
    directions : array of shape (terms, directions) or None
        None where there are too few terms or texts to reduce.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.collection.features import WordsAndMeaning
    >>> texts, meaning = ["mail reader", "news reader", "a game"], np.eye(3, 2, dtype=np.float32)
    >>> features = WordsAndMeaning()
    >>> rows = features.fit_transform(texts, meaning)
    >>> bool(np.allclose(features.transform(texts, meaning), rows))
    True
    """

    terms: TextFeatures
    directions: NDArray[np.float32] | None

    def fit_terms(self, texts: Sequence[str]) -> sp.csr_array:
        """Choose terms and directions; the TF-IDF rows of these texts."""
        from sklearn.utils.extmath import randomized_svd

        self.terms = TextFeatures()
        X = self.terms.fit_transform(texts)
        self.directions = None
        if X.shape[1] > DIRECTIONS and X.shape[0] > 1:
            rank = min(DIRECTIONS, X.shape[0] - 1)
            _, _, directions = randomized_svd(
                sp.csr_matrix(X), rank, n_iter=2, power_iteration_normalizer="LU", random_state=0
            )
            self.directions = np.ascontiguousarray(directions.T, np.float32)
        return X

    def reduced(self, X: sp.csr_array) -> NDArray[np.float32]:
        """TF-IDF rows in the directions."""
        return np.asarray(X.toarray() if self.directions is None else X @ self.directions, np.float32)

    def fit_transform(self, texts: Sequence[str], meaning: NDArray[np.float32]) -> NDArray[np.float32]:
        """Choose terms and directions, and return the rows of these very texts."""
        return self._beside(self.fit_terms(texts), meaning)

    def transform(self, texts: Sequence[str], meaning: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rows of other texts, with their embedding, in the same columns."""
        return self._beside(self.terms.transform(texts), meaning)

    def _beside(self, X: sp.csr_array, meaning: NDArray[np.float32]) -> NDArray[np.float32]:
        if len(meaning) != X.shape[0]:
            raise ValueError(f"meaning must have a row a text, {X.shape[0]}; found {len(meaning)}")
        return side_by_side(self.reduced(X), meaning)

    def state(self) -> dict[str, Any]:
        """All of it as plain arrays, fit for an ``.npz`` file."""
        own = {} if self.directions is None else {"directions": self.directions}
        return {**self.terms.state(), **own}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> WordsAndMeaning:
        """The same features again; ``ValueError`` where the arrays cannot be that."""
        self = cls()
        self.terms = TextFeatures.from_state(state)
        self.directions = None
        if "directions" in state:
            directions = np.asarray(state["directions"], np.float32)
            if directions.ndim != 2 or len(directions) != len(self.terms.terms):
                raise ValueError("state is not one of text features: terms and directions do not fit")
            self.directions = directions
        return self


def side_by_side(*parts: NDArray[Any]) -> NDArray[np.float32]:
    """Columns of all parts, the rows of each of length one; zeros stay.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.collection.features.words import side_by_side
    >>> side_by_side(np.array([[2.0, 0.0]]), np.array([[0.0]]))
    array([[1., 0., 0.]], dtype=float32)
    """
    found = []
    for part in parts:
        rows = np.asarray(part, np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        found.append(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))
    return np.hstack(found)
