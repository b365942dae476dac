"""Arrays that are mapped into memory: the same numbers, without reading them."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from lass.collection import CollectionStore, Item, array_files
from lass.model.mapped_arrays import release
from lass.solvers.sparse.storage import SparseAssignments

pytestmark = pytest.mark.skipif(os.name == "nt", reason="arrays are read there")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A collection all of whose arrays are mapped, however small."""
    monkeypatch.setattr(array_files, "MIN_MAPPED", 1)
    with CollectionStore.create(tmp_path / "c", [Item(f"{n:03}") for n in range(60)], ["x", "y"]) as found:
        yield found


def is_mapped(array):
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_dense_array_is_mapped_and_may_be_changed(store, dtype, order):
    X = np.asarray(np.random.default_rng(0).integers(0, 2, (60, 7)), dtype, order=order)
    store.save_features(X, terms=np.array(["a", "\N{SNOWMAN}"]), empty=np.zeros((0, 3)))
    found = store.saved_array("features")
    assert is_mapped(found.matrix)
    assert found.matrix.flags.aligned
    assert found.matrix.dtype == dtype
    np.testing.assert_array_equal(found.matrix, X)
    assert found.extras["terms"].tolist() == ["a", "\N{SNOWMAN}"]
    assert found.extras["empty"].shape == (0, 3)
    found.matrix[:] = 0  # in memory alone
    np.testing.assert_array_equal(store.features, X)
    with np.load(store.path / "arrays" / "features.npz") as archive:  # as other programs read it
        np.testing.assert_array_equal(archive["matrix"], X)


def test_a_sparse_array_is_mapped_and_can_be_saved_again(store):
    W = sp.random_array((60, 60), density=0.2, rng=np.random.default_rng(1), format="csr")
    store.save_graph(W, directed=W.T)
    saved = store.saved_array("graph")
    for found, expected in ((saved.matrix, W), (saved.extras["directed"], W.T)):
        assert all(is_mapped(part) for part in (found.data, found.indices, found.indptr))
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
    store.save_graph(2 * W)  # while the old file is still mapped
    np.testing.assert_array_equal(saved.matrix.toarray(), W.toarray())
    np.testing.assert_array_equal(store.graph.toarray(), 2 * W.toarray())
    store.save_graph(saved.matrix)
    np.testing.assert_array_equal(store.graph.toarray(), W.toarray())


def test_sparse_assignments_are_mapped(store):
    entries = sp.csr_array((np.full(30, 0.75), (np.arange(30), np.zeros(30, np.int32))), shape=(60, 2))
    Z = SparseAssignments(entries, np.r_[np.full(30, 0.25), np.full(30, 0.5)])
    store.save_assignments(Z, 0)
    found = store.assignments
    assert isinstance(found, SparseAssignments)
    np.testing.assert_array_equal(found.to_dense(), Z.to_dense())


def test_files_of_numpy_are_read_too(store, monkeypatch):
    """As older versions wrote them, where numbers begin anywhere."""
    X = np.arange(120.0).reshape(60, 2)
    store.save_features(X)
    path = store.path / "arrays" / "features.npz"
    with np.load(path) as archive:
        data = dict(archive)
    for write in (np.savez, np.savez_compressed):
        write(path, **data)
        np.testing.assert_array_equal(store.features, X)
        assert store.check() == []


def test_a_full_check_finds_what_opening_does_not_look_at(store):
    store.save_features(np.arange(6000.0).reshape(60, 100))
    path = store.path / "arrays" / "features.npz"
    whole = path.read_bytes()
    assert store.check() == []
    damaged = bytearray(whole)
    damaged[whole.index(np.float64(4000.0).tobytes())] ^= 1
    path.write_bytes(damaged)
    assert store.features.shape == (60, 100)
    assert [f"{path} is not a saved array" in problem for problem in store.check()] == [True]
    stage = store.staged()
    with pytest.warns(UserWarning, match=r"features\.npz is damaged; it is made again"):
        assert stage.discard_damaged() == {"features": "features.npz was damaged"}
    assert path.exists()
    stage.publish()
    assert store.check() == []
    assert not path.exists()


def test_a_file_that_was_cut_or_points_elsewhere_is_refused(store):
    W = sp.random_array((60, 60), density=0.2, rng=np.random.default_rng(1), format="csr")
    store.save_graph(W)
    path = store.path / "arrays" / "graph.npz"
    whole = path.read_bytes()
    with np.load(path) as archive:
        data = dict(archive)
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"graph\.npz"):
            _ = store.graph
    for change in (
        {"matrix_indptr": data["matrix_indptr"][:-1]},
        {"matrix_indptr": data["matrix_indptr"] + 1},
        {"matrix_indptr": data["matrix_indptr"][::-1]},
        {"matrix_indices": data["matrix_indices"][1:]},
        {"matrix_indices": data["matrix_indices"].astype(float)},
        {"matrix_data": data["matrix_data"].astype(str)},
        {"matrix_shape": np.array([60])},
    ):
        array_files.write_arrays(path, data | change)
        with pytest.raises(ValueError, match=r"graph\.npz"):
            _ = store.graph


def test_damage_anywhere_gives_value_errors_at_most(store):
    store.save_graph(sp.csr_array(np.eye(60)))
    path, rng = store.path / "arrays" / "graph.npz", np.random.default_rng(0)
    whole, refused = path.read_bytes(), 0
    for _ in range(150):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=40):
            damaged[at] = rng.integers(256)
        path.unlink()  # the old one may still be mapped
        path.write_bytes(damaged)
        try:
            _ = store.graph
            store.stale()
        except ValueError as error:
            refused += path.name in str(error)
        assert store.check()
    assert refused > 20


def test_arrays_that_are_released_hold_the_same_numbers_also_after_the_file_was_replaced(store):
    W = sp.csr_array(sp.diags_array([np.arange(59.0), np.arange(59.0)], offsets=[-1, 1]))
    store.save_graph(W)
    found, plain = store.graph, np.arange(5)
    store.save_graph(2 * W)
    release(found.data, found.indices, found.indptr[:3], plain)
    np.testing.assert_array_equal(found.toarray(), W.toarray())
    np.testing.assert_array_equal(plain, np.arange(5))
    np.testing.assert_array_equal(store.graph.toarray(), 2 * W.toarray())


def test_indices_are_saved_in_32_bits_and_used_as_they_lie_in_the_file(store):
    wide = (np.ones(60), np.arange(60, dtype=np.int64), np.arange(61, dtype=np.int64))
    store.save_graph(sp.csr_array(wide, shape=(60, 60)), other=sp.csr_array(wide, shape=(60, 70)))
    saved = store.saved_array("graph")
    for found in (saved.matrix, saved.extras["other"]):
        assert found.indices.dtype == found.indptr.dtype == np.int32
        assert is_mapped(found.indices)
        np.testing.assert_array_equal(found.toarray()[:, :60], np.eye(60))


def test_assignments_with_unsorted_rows_are_refused(store):
    Z = SparseAssignments(sp.csr_array(np.full((60, 2), 0.5)), np.zeros(60))
    Z._columns = np.tile([1, 0], 60).astype(np.int32)
    store.save_assignments(Z, 0)
    with pytest.raises(ValueError, match="a row holds a category twice, or not in order"):
        store.saved_array("assignments")
