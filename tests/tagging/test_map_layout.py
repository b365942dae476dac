"""The map: neighbours side by side, the same each time, and drawn again only where it must be."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

import lass
from lass import Collection
from lass.collection import Item, Settings
from lass.tagging import fit
from lass.tagging import map_layout as layouts
from lass.tagging.map_layout import graph_layout, map_of


def blobs(count, groups=6, seed=0):
    rng = np.random.default_rng(seed)
    group = np.arange(count) % groups
    return rng.normal(size=(groups, 8))[group] * 3 + rng.normal(size=(count, 8)), group


def kept(W, points, near):
    """The mean share of an item's neighbours in the graph that are among the nearest on the map."""
    found = NearestNeighbors(n_neighbors=near + 1).fit(points).kneighbors(points, return_distance=False)
    shares = [np.isin(W[[n]].indices, found[n]).mean() for n in range(W.shape[0])]
    return np.mean(shares)


@pytest.mark.parametrize("count", [600, 2100])  # forces by a tree, and on a grid
def test_neighbours_are_placed_together(count):
    X, group = blobs(count)
    W = lass.knn_graph(X, 10)
    progress = []
    points = graph_layout(W, report=progress.append)
    assert points.shape == (count, 2)
    assert np.isfinite(points).all()
    assert np.abs(points).max() == pytest.approx(1)
    assert kept(W, points, near=count // 20) > 0.6
    nearest = NearestNeighbors(n_neighbors=2).fit(points).kneighbors(points, return_distance=False)[:, 1]
    assert (group[nearest] == group).mean() > 0.95
    assert {step.stage for step in progress} == {"map"}
    assert progress[-1].note == "100%"


def test_the_same_seed_gives_the_same_map():
    W = lass.knn_graph(blobs(100)[0], 10)
    points = graph_layout(W)
    np.testing.assert_array_equal(points, graph_layout(W))
    assert not np.array_equal(points, graph_layout(W, seed=1))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 29, 30, 31])
def test_few_items(count):
    for W in (
        sp.csr_array((count, count)),
        sp.csr_array(np.ones((count, count)) - np.eye(count)),
        sp.csr_array(np.eye(count, k=1) + np.eye(count, k=-1)),
    ):
        points = graph_layout(W)
        assert points.shape == (count, 2)
        assert np.isfinite(points).all()
        assert np.abs(points).max() <= 1
        assert len(np.unique(points.round(6), axis=0)) == count


def test_parts_of_a_graph_do_not_mix():
    rng = np.random.default_rng(0)
    sizes = [200, 80, 40, 12, 5, 2, *[1] * 40]
    parts = [lass.knn_graph(rng.normal(size=(size, 3)), 5) for size in sizes[:4]]
    parts += [np.ones((size, size)) - np.eye(size) for size in sizes[4:]]
    shuffled = rng.permutation(sum(sizes))
    part = np.repeat(np.arange(len(sizes)), sizes)[shuffled]
    W = sp.csr_array(sp.block_diag(parts, format="csr"))[shuffled][:, shuffled]
    points = graph_layout(W)
    assert np.isfinite(points).all()
    assert np.abs(points).max() == pytest.approx(1)
    centres = np.array([points[part == number].mean(axis=0) for number in range(len(sizes))])
    radius = [np.linalg.norm(points[part == number] - centres[number], axis=1).max() for number in range(6)]
    for first in range(6):
        for second in range(first):
            assert np.linalg.norm(centres[first] - centres[second]) > radius[first], (first, second)
    nearest = NearestNeighbors(n_neighbors=2).fit(points).kneighbors(points, return_distance=False)[:, 1]
    several = part < 5
    assert (part[nearest] == part)[several].mean() > 0.97
    # those without neighbours are on the rim, each in a place of its own
    assert len(np.unique(points[part > 5].round(4), axis=0)) == 40
    middle = points[part == 0].mean(axis=0)
    assert np.linalg.norm(points[part > 5] - middle, axis=1).min() > radius[0]


def test_edges_of_weight_zero_are_none():
    W = sp.csr_array(np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]]))
    W.data[:] = 0
    assert np.isfinite(graph_layout(W)).all()
    assert W.nnz == 6  # the graph of the caller stays


def test_a_report_may_end_the_drawing():

    def stop(step):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        graph_layout(lass.knn_graph(blobs(60)[0], 5), report=stop)


@pytest.fixture
def collection(tmp_path):
    X, group = blobs(120, 3)
    items = [Item(f"p{n}", extra={f"x{k}": float(value) for k, value in enumerate(X[n])}) for n in range(120)]
    settings = Settings(
        features={"kind": "numeric", "columns": [f"x{k}" for k in range(8)]},
        metric="euclidean", n_neighbors=6, lam=0.1,
    )  # fmt: skip
    annotations = [(f"p{n}", f"group {group[n]}", 1) for n in range(0, 120, 4)]
    with Collection.create(tmp_path / "c", items, annotations=annotations, settings=settings) as made:
        yield made


def test_fit_draws_last_and_only_where_it_must(collection):
    seen = []
    assert collection.map is None
    assert collection.stale_map() == "no map yet"
    fit(collection, lambda step: seen.append(step.stage))
    assert list(dict.fromkeys(seen))[-3:] == ["saving", "groups", "map"]
    assert collection.stale() == {}
    assert collection.stale_map() is None
    assert collection.map.shape == (120, 2)
    token = collection.saved_array("map").stamp.token
    collection.annotate("p1", {"group 0": 1})
    seen.clear()
    done = fit(collection, lambda step: seen.append(step.stage))
    assert not {"map", "groups"} & set(seen)
    assert set(done.recomputed) == {"assignments"}
    assert collection.saved_array("map").stamp.token == token
    collection.change_settings(n_neighbors=8)
    assert collection.stale_map() == "the graph must be made anew"
    fit(collection)
    assert collection.stale_map() is None
    assert collection.saved_array("map").stamp.token != token


def test_old_points_stay_where_few_items_are_new(collection):
    fit(collection)
    before, stored = collection.map, collection.get_items(["p0", "p1"])
    collection.add_items([Item(f"q{n}", extra=item.extra) for n, item in enumerate([*stored, stored[0]])])
    fit(collection)
    after = collection.map
    np.testing.assert_array_equal(after[:120], before)
    for new, old in ((120, 0), (121, 1), (122, 0)):
        assert np.linalg.norm(after[new] - before[old]) < 0.25 * np.ptp(before)
    assert len(np.unique(after, axis=0)) == 123
    assert collection.stale_map() is None
    many = [Item(f"r{n}", extra=stored[n % 2].extra) for n in range(40)]
    collection.add_items(many)
    fit(collection)
    assert collection.map.shape == (163, 2)
    assert not np.array_equal(collection.map[:120], before)


def test_new_items_are_placed_at_their_neighbours_also_through_new_ones():
    points = np.array([[0.5, 0.0], [-0.5, 0.0]])
    W = np.zeros((6, 6))
    W[2, 0] = W[0, 2] = 3.0
    W[2, 1] = W[1, 2] = 1.0
    W[3, 2] = W[2, 3] = 1.0  # its only neighbour is new; the last two have none
    found = layouts._extended(points, sp.csr_array(W))
    np.testing.assert_array_equal(found[:2], points)
    np.testing.assert_allclose(found[2:4], [[0.25, 0]] * 2, atol=2 * layouts.OFFSET)
    assert (np.linalg.norm(found[4:], axis=1) > 0.9).all()
    assert np.abs(found).max() <= 1
    assert len(np.unique(found, axis=0)) == 6


def test_without_the_library_there_is_no_map_and_nothing_is_missed(collection, monkeypatch):
    monkeypatch.setattr(layouts, "find_spec", lambda name: None)
    done = fit(collection)
    assert "map" not in done.seconds
    assert collection.map is None
    assert collection.stale() == {}
    assert map_of(collection, collection.graph) is None


def test_a_map_that_is_none_is_refused(collection):
    with pytest.raises(ValueError, match="two columns"):
        collection.save_map(np.zeros((120, 3)))
    with pytest.raises(ValueError, match="120 at most"):
        collection.save_map(np.zeros((121, 2)))


def test_a_long_chain_takes_no_longer_than_others():
    count = 3000
    W = sp.diags_array([np.ones(count - 1)] * 2, offsets=[-1, 1], format="csr")
    began = time.process_time()
    assert np.isfinite(graph_layout(sp.csr_array(W))).all()
    assert time.process_time() - began < 60
