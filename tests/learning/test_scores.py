"""Scores with rows that were replaced."""

import numpy as np
import pytest
import scipy.sparse as sp

from lass.learning.predictors import Scores

N, K, COUNT = 40, 9, 3


def some(rng, rows, tags=K):
    values = sp.random_array((rows, tags), density=0.4, rng=rng, format="csr", dtype=np.float32)
    top = rng.integers(-1, tags, (rows, COUNT), dtype=np.int32)
    return Scores(values, top, rng.random((rows, COUNT, 7)).astype(np.float16))


@pytest.mark.parametrize("replaced", [0, 1, 3, 30])
def test_rows_that_were_replaced_are_found_in_every_way(replaced):
    rng = np.random.default_rng(replaced)
    scores = some(rng, N)
    dense, top, parts = scores.values.toarray(), scores.top_tags.copy(), scores.contributions.copy()
    for _ in range(2):  # rows that were replaced are replaced again, too
        rows, before = rng.permutation(N)[:replaced], scores.values.toarray()
        again, former = some(rng, replaced), scores
        scores = scores.with_rows(rows, again)
        dense[rows], top[rows], parts[rows] = again.values.toarray(), again.top_tags, again.contributions
        np.testing.assert_array_equal(former.values.toarray(), before)
    np.testing.assert_array_equal(scores.values.toarray(), dense)
    np.testing.assert_array_equal(scores.top_tags, top)
    np.testing.assert_array_equal(scores.contributions, parts)
    for size in (1, 7, N):
        blocks = list(scores.blocks(size))
        assert [low for low, _ in blocks] == list(range(0, N, size))
        np.testing.assert_array_equal(np.concatenate([block.toarray() for _, block in blocks]), dense)
    asked, tags = rng.integers(N, size=60), rng.integers(K, size=60)
    place = rng.integers(COUNT, size=60)
    np.testing.assert_array_equal(scores.of_rows(asked).toarray(), dense[asked])
    np.testing.assert_array_equal(scores.at(asked, tags), dense[asked, tags])
    np.testing.assert_array_equal(scores.best(asked), top[asked])
    np.testing.assert_array_equal(scores.reasons(asked, place), parts[asked, place])
    for row in range(N):
        found, values = scores.row(row)
        np.testing.assert_array_equal(found, np.flatnonzero(dense[row]))
        np.testing.assert_array_equal(values, dense[row, found])
    stored, saved_top, saved_parts = scores.pieces()
    data, indices = (np.concatenate(list(part.chunks())) for part in (stored.data, stored.indices))
    np.testing.assert_array_equal(sp.csr_array((data, indices, stored.indptr), (N, K)).toarray(), dense)
    np.testing.assert_array_equal(np.concatenate(list(saved_top.chunks())), top)
    np.testing.assert_array_equal(np.concatenate(list(saved_parts.chunks())), parts.reshape(N, -1))
    wide = scores.widened(K + 2)
    assert wide.shape == (N, K + 2)
    np.testing.assert_array_equal(wide.values.toarray()[:, :K], dense)
    np.testing.assert_array_equal(wide.of_rows(asked).toarray()[:, :K], dense[asked])


def test_a_few_rows_are_replaced_without_a_copy_of_the_others():
    scores = some(np.random.default_rng(0), N)
    again = some(np.random.default_rng(1), 2)
    found = scores.with_rows(np.array([3, 5]), again)
    for row, block in found.blocks(1):
        assert row in (3, 5) or not block.nnz or np.shares_memory(block.data, scores.values.data)
