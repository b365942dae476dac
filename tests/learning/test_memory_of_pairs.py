"""Items with very many tags: pairs of tags are counted within bounds."""

import numpy as np
import scipy.sparse as sp

from lass.learning.predictors import co_occurrence
from lass.learning.predictors.co_occurrence import CoOccurrence


def tags(seed, items=60, count=40):
    rng = np.random.default_rng(seed)
    return sp.csr_array((rng.random((items, count)) < 1.0 / np.arange(1, count + 1)).astype(np.float32))


def test_rare_tags_are_left_out_where_pairs_would_be_too_many(monkeypatch):
    T = tags(0)
    frequency = np.full(40, 0.1)
    whole = CoOccurrence(T, frequency)
    pairs = int((np.diff(T.indptr) ** 2).sum())
    monkeypatch.setattr(co_occurrence, "PAIRS", pairs)
    same = CoOccurrence(T, frequency)
    for one, other in zip(whole.arrays, same.arrays, strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(co_occurrence, "PAIRS", pairs // 3)
    fewer = CoOccurrence(T, frequency)
    counts = np.asarray(T.sum(axis=0)).ravel()
    starts = fewer.arrays[2]
    known = np.flatnonzero(np.diff(starts))
    assert 0 < len(known) < 40
    assert counts[known].min() >= np.delete(counts, known).max()
    assert len(fewer.arrays[3]) <= pairs // 3
    # what is left is what it was
    first = int(counts.argmax())
    before, after = (one.arrays[4][one.arrays[2][first] : one.arrays[2][first + 1]] for one in (whole, fewer))
    names = [one.arrays[3][one.arrays[2][first] : one.arrays[2][first + 1]] for one in (whole, fewer)]
    np.testing.assert_array_equal(after, before[np.isin(names[0], names[1])])
