"""From partitioned Parquet to partitioned Parquet, with nothing of size N x K in the driver."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import lass
from lass.solvers.distributed import knn_parquet, solve_parquet, write_features, write_parquet
from lass.solvers.distributed.transport import InProcess


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, 400)
    X = 2.0 * rng.standard_normal((4, 6))[truth] + rng.standard_normal((400, 6))
    G = np.zeros((400, 4))
    G[np.arange(40), truth[:40]] = rng.choice([-1.0, 0.5, 1.0], 40)
    return X, sp.csr_array(G)


def read_answer(folder, shape):
    Z = np.zeros(shape)
    for path in sorted((folder / "assignments").glob("part-*.parquet")):
        table = pq.read_table(path)
        Z[table["item"].to_numpy(), table["category"].to_numpy()] = table["share"].to_numpy()
    return Z


@pytest.mark.parametrize("parts", [1, 3, "with empty ones"])
def test_round_trip(points, parts, tmp_path):
    X, G = points
    W = lass.knn_graph(X, 6)
    if parts == "with empty ones":
        parts = 2 * np.random.default_rng(0).integers(0, 3, len(X))
    write_parquet(W, G, tmp_path / "in", parts)
    report = solve_parquet(tmp_path / "in", tmp_path / "out", 0.3, tol=1e-7)
    here = lass.solve(W, G, 0.3, method="gradient", tol=1e-7)
    Z = read_answer(tmp_path / "out", G.shape)
    np.testing.assert_allclose(Z, here.Z, rtol=0, atol=1e-12)
    assert report.objective == pytest.approx(here.objective, rel=1e-10)
    assert report.relative_gap == pytest.approx(here.relative_gap, rel=1e-6)
    assert (report.items, report.n_iter, report.converged) == (400, here.n_iter, True)
    assert report.entries == (Z > 0).sum()
    assert report.lost == 0


def test_lines_may_come_in_any_order(points, tmp_path):
    X, G = points
    write_parquet(lass.knn_graph(X, 6), G, tmp_path, 2)
    first = solve_parquet(tmp_path, tmp_path / "first", 0.3)
    rng = np.random.default_rng(1)
    for path in tmp_path.glob("[nea]*/part-*.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.take(pa.array(rng.permutation(len(table)))), path)
    again = solve_parquet(tmp_path, tmp_path / "again", 0.3)
    assert again.objective == first.objective


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("weights", ["self-tuning", "binary", "entropic"])
def test_the_graph_made_by_partitions_is_the_graph(points, metric, weights, tmp_path):
    X, _ = points
    labels = np.random.default_rng(2).integers(0, 3, len(X))
    labels[labels == 1] = 4  # partitions 1 and 3 are empty
    write_features(X, tmp_path, labels)
    knn_parquet(tmp_path, 7, categories=4, metric=metric, weights=weights)
    W = lass.knn_graph(X, 7, metric=metric, weights=weights)
    found = np.zeros(W.shape)
    for number in range(5):
        table = pq.read_table(tmp_path / "edges" / f"part-0000{number}.parquet")
        item, other = table["item"].to_numpy(), table["other"].to_numpy()
        assert (labels[item] == number).all()
        np.testing.assert_array_equal(labels[other], table["home"].to_numpy())
        found[item, other] += table["weight"].to_numpy()
    np.testing.assert_allclose(found, W.toarray(), rtol=0, atol=1e-9)
    assert not (tmp_path / "directed").exists()


def test_from_features_to_assignments(points, tmp_path):
    X, G = points
    write_features(X, tmp_path, 3)
    knn_parquet(tmp_path, 5, categories=4)
    given = G.tocoo()
    for number in range(3):
        items = pq.read_table(tmp_path / "nodes" / f"part-0000{number}.parquet")["item"].to_numpy()
        here = np.isin(given.coords[0], items)
        columns = {
            "item": given.coords[0][here],
            "category": given.coords[1][here],
            "value": given.data[here],
        }
        (tmp_path / "affinities").mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), tmp_path / "affinities" / f"part-0000{number}.parquet")
    report = solve_parquet(tmp_path, tmp_path, 0.3, tol=1e-7)
    here = lass.solve(lass.knn_graph(X, 5), G, 0.3, tol=1e-7)
    assert report.objective == pytest.approx(here.objective, rel=1e-6)
    assert read_answer(tmp_path, G.shape).sum() == pytest.approx(400)


class Blind(InProcess):
    """A transport that shows the driver nothing larger than a few numbers."""

    def get(self, references):
        for result in super().get(references):
            assert np.size(np.asarray(result, dtype=object)) < 20
            assert not isinstance(result, np.ndarray)
        return super().get(references)


def test_the_driver_sees_a_few_numbers_alone(points, tmp_path):
    X, G = points
    write_parquet(lass.knn_graph(X, 6), G, tmp_path / "in", 3)
    report = solve_parquet(tmp_path / "in", tmp_path / "out", 0.3, transport=Blind())
    assert report.converged


def test_running_out_of_iterations_is_reported(points, tmp_path):
    X, G = points
    write_parquet(lass.knn_graph(X, 6), G, tmp_path / "in", 2)
    with pytest.warns(lass.ConvergenceWarning, match="stopped at relative gap"):
        report = solve_parquet(tmp_path / "in", tmp_path / "out", 10.0, tol=1e-12, max_iter=3)
    assert not report.converged
    assert report.n_iter == 3
    Z = read_answer(tmp_path / "out", G.shape)
    assert lass.Problem(lass.knn_graph(X, 6), G, 10.0).gap(Z) == pytest.approx(report.gap, rel=1e-9)


def change(folder, table, number=0, **columns):
    path = folder / table / f"part-0000{number}.parquet"
    found = pq.read_table(path).to_pydict()
    for name, make in columns.items():
        found[name] = make(found[name])
    pq.write_table(pa.table(found), path)


@pytest.fixture
def small(tmp_path):
    W = np.ones((6, 6)) - np.eye(6)
    write_parquet(W, np.eye(6)[:, :3], tmp_path / "in", [0, 0, 0, 1, 1, 1])
    return tmp_path / "in"


def doubled(values):
    return [2 * values[0], *values[1:]]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: shutil.rmtree(f / "edges"), "there is no .*edges"),
        (
            lambda f: (f / "edges/part-00000.parquet").write_bytes(b"PAR1 not"),
            "cannot be read as columns item",
        ),
        (lambda f: (f / "problem.json").unlink(), "found no problem.json"),
        (lambda f: (f / "problem.json").write_text("[]"), "does not describe a partitioned problem"),
        (lambda f: (f / "problem.json").write_text(json.dumps({"format": 9})), "format 9 instead of 1"),
        (lambda f: change(f, "edges", weight=doubled), "both ends with the same weight"),
        (lambda f: change(f, "edges", 1, weight=lambda v: [-1.0, *v[1:]]), "must have weights >= 0"),
        (lambda f: change(f, "edges", item=lambda v: [99, *v[1:]]), "edges of item 99, which is not among"),
        (lambda f: change(f, "edges", home=lambda v: [7] * len(v)), "both ends with the same weight"),
        (lambda f: change(f, "edges", weight=lambda v: [None, *v[1:]]), "empty cells in column weight"),
        (lambda f: change(f, "nodes", item=lambda v: [0, 0, 1]), "names item 0 twice"),
        (lambda f: change(f, "affinities", category=lambda v: [3, *v[1:]]), "categories from 0 to 2"),
        (lambda f: change(f, "affinities", value=lambda v: [np.inf, *v[1:]]), "finite affinities"),
        (lambda f: change(f, "affinities", item=lambda v: [5, *v[1:]]), "affinities of item 5, which is not"),
        (
            lambda f: change(f, "affinities", item=lambda v: [0] * len(v), category=lambda v: [0] * len(v)),
            "two affinities to category 0",
        ),
    ],
)
def test_damaged_files_are_named(small, tmp_path, damage, message):
    damage(small)
    with pytest.raises(ValueError, match=message):
        solve_parquet(small, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_is_not_written_over(small):
    with pytest.raises(ValueError, match="must not hold a problem yet"):
        write_parquet(np.ones((2, 2)), np.eye(2), small, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a whole number >= 1"),
        ({"n_neighbors": 9}, "n_neighbors must be less than the number of items, 5; found 9"),
        ({"metric": "hamming"}, "metric must be 'euclidean' or 'cosine'"),
        ({"weights": "gaussian"}, "weights must be one of"),
        ({"weights": "cosine"}, "weights='cosine' needs metric='cosine'"),
        ({"categories": 0}, "categories must be a whole number >= 1"),
    ],
)
def test_bad_settings_of_the_graph_are_named(tmp_path, options, message):
    write_features(np.arange(5.0)[:, None], tmp_path, 2)
    with pytest.raises(ValueError, match=message):
        knn_parquet(tmp_path, **{"n_neighbors": 2, "categories": 2} | options)


def test_a_graph_needs_features(tmp_path):
    with pytest.raises(ValueError, match="folder must hold features"):
        knn_parquet(tmp_path, 2, categories=2)
    with pytest.raises(ValueError, match="parts must be the number of partitions"):
        write_features(np.zeros((3, 2)), tmp_path, [0, 1])
