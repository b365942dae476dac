"""Models and matrices in canonical order, against dense indexing; what is shared is never changed."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lass.collection import AnnotationMatrix, Item, array_files
from lass.learning.predictors import Scores
from lass.solvers.sparse import SparseAssignments
from lass.tagging import Collection, LiveModel, canonical, complete, load_model, with_scores
from lass.tagging import live as live_module
from lass.tagging.canonical import CanonicalOrder, permuted

WORDS = ("book", "card", "chess", "film", "game", "mail", "music", "news")


@pytest.fixture
def unsorted(tmp_path):
    """Items in the order of their ids, tags not in that of their names: a fitted collection."""
    rng = np.random.default_rng(0)
    ids = [f"item{number:03d}" for number in range(600)]
    items = [Item(name, text=" ".join(rng.choice(WORDS, 4))) for name in ids]
    annotations = [(item.id, word, 1) for item in items[::2] for word in set(item.text.split()[:2])]
    names = rng.permutation(WORDS).tolist()
    assert names != sorted(names)
    Collection.create(tmp_path / "items", items, names, annotations).close()
    with Collection.open(tmp_path / "items") as collection:
        collection.fit()
        yield collection


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000), rows=st.booleans(), columns=st.booleans(), fewer=st.booleans(),
    block=st.sampled_from([1, 3, 100]),
)  # fmt: skip
def test_rows_and_columns_in_another_order_are_those_of_dense_indexing(seed, rows, columns, fewer, block):
    rng = np.random.default_rng(seed)
    size, tags = rng.integers(1, 9), rng.integers(1, 9)
    dense = rng.random((size, tags)) * (rng.random((size, tags)) < 0.5)
    matrix = sp.csr_array(dense)
    chosen = rng.permutation(size) if rows else np.arange(size)
    kept = rng.permutation(tags) if columns else np.arange(tags)
    kept = kept[: rng.integers(1, tags + 1)] if fewer else kept
    before, canonical.BLOCK = canonical.BLOCK, block
    try:
        found = permuted(matrix, chosen, kept)
    finally:
        canonical.BLOCK = before
    found.check_format(full_check=True)
    assert found.has_sorted_indices
    assert (np.diff(found.indices)[np.diff(np.repeat(np.arange(size), np.diff(found.indptr))) == 0] > 0).all()
    np.testing.assert_array_equal(found.toarray(), dense[np.ix_(chosen, kept)])
    np.testing.assert_array_equal(matrix.toarray(), dense)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), spread=st.booleans())
def test_a_model_comes_back_from_canonical_order_and_stays_as_it_was_there(seed, spread):
    rng = np.random.default_rng(seed)
    size, tags = 12, 6
    W = sp.csr_array(np.triu(rng.random((size, size)) * (rng.random((size, size)) < 0.4), 1))
    W = sp.csr_array(W + W.T)
    signs = [1.0, -1.0] if spread else [1.0]
    signed = np.where(rng.random((size, tags)) < 0.15, rng.choice(signs, (size, tags)), 0.0)
    signed[[0, 5, 7], [1, 2, 1]] = 1.0
    G = sp.csr_array(signed)
    names = [f"tag{place}" for place in rng.permutation(tags)]
    ids = [f"item{place:02d}" for place in (rng.permutation(size) if seed % 2 else range(size))]
    annotations = AnnotationMatrix(G, ids, names, number=1)
    order = CanonicalOrder.of(annotations)
    model = with_scores(complete(order.graph(W), order.annotations(G), lam=0.5))
    Z, values = model.solution.Z.to_dense(), model.scores.values.toarray()
    top, parts = model.scores.top_tags.copy(), model.scores.contributions.copy()
    found = order.restored(model, complete(W, G, lam=0.5).solution.problem)
    shown = found.scores.values.toarray()[np.ix_(order.rows, order.columns)]
    np.testing.assert_array_equal(shown, values)
    shares = found.solution.Z.to_dense()[np.ix_(order.rows, order.columns)]
    if not (found.solution.Z.background > 0).any():  # else tags that nobody uses may share in it
        np.testing.assert_allclose(shares, Z, atol=1e-12)
    again = order.scores(found.scores)
    np.testing.assert_array_equal(again.values.toarray(), values)
    np.testing.assert_array_equal(again.top_tags, top)
    np.testing.assert_array_equal(again.contributions, parts)
    np.testing.assert_array_equal(model.scores.values.toarray(), values)
    np.testing.assert_array_equal(model.solution.Z.to_dense(), Z)


def test_assignments_that_need_no_scaling_share_their_numbers():
    Z = SparseAssignments(sp.csr_array([[0.25, 0, 0.75], [0, 0, 1.0]]), np.zeros(2))
    order = CanonicalOrder(np.arange(2), np.array([0, 2]), 3)
    narrow = order.assignments(Z)
    np.testing.assert_array_equal(narrow.to_dense(), [[0.25, 0.75], [0, 1]])
    assert np.shares_memory(narrow.arrays[3], Z.arrays[3])


def test_rows_that_are_not_scored_again_keep_their_scores_whatever_the_order_of_tags(unsorted, monkeypatch):
    monkeypatch.setattr(live_module, "NEAR", 20)
    live = LiveModel(unsorted)
    live.retrain()
    before = live.model.scores.values.toarray()
    row = int(np.flatnonzero(np.diff(live.annotations.G.indptr) == 0)[0])
    unsorted.annotate(unsorted.ids()[row], {"chess": 1})
    again = live.update(unsorted.annotation_matrix())
    assert again.rows is not None
    moved = (live.model.scores.values.toarray() != before).any(axis=1)
    assert 0 < np.count_nonzero(moved) <= 20


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), tags=st.integers(4, 40))
def test_assignments_come_back_from_the_order_of_the_collection_as_they_were(seed, tags):
    rng = np.random.default_rng(seed)
    columns = rng.permutation(tags)[: rng.integers(2, tags + 1)]
    dense = rng.dirichlet(np.full(len(columns), 0.3), 7)
    dense[rng.random(dense.shape) < 0.5] = 0.01 * rng.random()
    before = SparseAssignments.of(dense / dense.sum(axis=1, keepdims=True))
    order = CanonicalOrder(rng.permutation(7), columns, tags)
    wide = canonical._widened(before.taken(canonical.inverse(order.rows)), columns, tags)
    assert wide.feasible
    np.testing.assert_allclose(order.assignments(wide).to_dense(), before.to_dense(), atol=1e-12)


def test_a_model_whose_arrays_lie_in_a_file_is_the_one_that_was_read(unsorted, monkeypatch):
    monkeypatch.setattr(live_module, "NEAR", 20)
    read = LiveModel(unsorted)
    monkeypatch.setattr(array_files, "MIN_MAPPED", 1)
    monkeypatch.setattr(live_module, "KEPT", 0)  # as of many items: scores are put in order by the update
    mapped = LiveModel(unsorted)
    for step in range(3):
        if step == 1:
            unsorted.annotate(unsorted.ids()[1], {"chess": 1, "mail": -1})
        if step == 2:
            unsorted.fit()  # replaces the files
            unsorted.annotate(unsorted.ids()[3], {"news": 1})
        if step:
            one, other = (live.update(unsorted.annotation_matrix()) for live in (read, mapped))
            np.testing.assert_array_equal(one.rows, other.rows)
        one, other = read.model, mapped.model
        np.testing.assert_array_equal(one.solution.Z.to_dense(), other.solution.Z.to_dense())
        np.testing.assert_array_equal(one.scores.values.toarray(), other.scores.values.toarray())
        np.testing.assert_array_equal(one.scores.top_tags, other.scores.top_tags)
        np.testing.assert_array_equal(one.scores.contributions, other.scores.contributions)
        assert one.solution.relative_gap == other.solution.relative_gap


def test_the_certificate_is_read_while_annotations_stay_and_computed_once_they_change(unsorted):
    fitted = unsorted.fit().model.solution
    read = load_model(unsorted)[0].solution
    for name in ("objective", "gap", "relative_gap"):
        assert getattr(read, name) == getattr(fitted, name)
    computed = LiveModel(unsorted).model.solution
    assert computed.relative_gap == pytest.approx(fitted.relative_gap, rel=1e-6, abs=1e-9)
    unsorted.annotate(unsorted.ids()[1], {"chess": 1})
    assert load_model(unsorted)[0].solution.relative_gap > 2 * fitted.relative_gap


def test_what_is_saved_is_the_model_of_the_moment_whatever_becomes_of_it(unsorted):
    live = LiveModel(unsorted)
    Z, number = live.model.solution.Z.to_dense(), live.annotations.number
    write = live.saving()
    unsorted.annotate(unsorted.ids()[1], {"chess": 1})
    live.update(unsorted.annotation_matrix())
    write()
    assert unsorted.saved_stamp("assignments").changes == number
    np.testing.assert_array_equal(unsorted.assignments.to_dense(), Z)
    again = LiveModel(unsorted)
    assert again.has_changed
    assert again.can_update


def test_scores_in_the_order_of_the_collection_have_indices_of_32_bits():
    values = sp.csr_array(np.array([[0.5, 0.2], [0.0, 0.1]], np.float32))
    values.indices, values.indptr = values.indices.astype(np.int64), values.indptr.astype(np.int64)
    values.has_sorted_indices = True
    rest = np.zeros((2, 1), np.int32), np.zeros((2, 1, 7), np.float32)
    order = CanonicalOrder(np.arange(2), np.arange(2), 2)
    found = order.restored_scores(Scores(values, *rest)).values
    assert (found.indices.dtype, found.indptr.dtype) == (np.int32, np.int32)
    assert np.shares_memory(found.data, values.data)
