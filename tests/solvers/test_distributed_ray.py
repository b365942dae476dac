"""A real Ray with two workers: the same answer as one process, also when workers are killed."""

import os
import signal

import numpy as np
import pyarrow.parquet as pq
import pytest
import ray
import scipy.sparse as sp

import lass
from lass.solvers.distributed import (
    Partitions,
    knn_parquet,
    solve,
    solve_parquet,
    write_features,
    write_parquet,
)
from lass.solvers.distributed.on_ray import OnRay


@pytest.fixture(scope="module")
def cluster():
    """One small Ray for all tests here; a run that finds it leaves it alone."""
    ray.init(
        num_cpus=2, object_store_memory=100_000_000, include_dashboard=False, log_to_driver=False,
        logging_level="error",
    )  # fmt: skip
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 5, 600)
    X = 1.2 * rng.standard_normal((5, 4))[truth] + rng.standard_normal((600, 4))
    G = np.zeros((600, 5))
    G[np.arange(60), truth[:60]] = 1.0
    return X, lass.knn_graph(X, 10), sp.csr_array(G)


@pytest.fixture(scope="module")
def here(clouds):
    return lass.solve(*clouds[1:], 0.2, method="gradient", tol=1e-6)


def test_two_workers_give_the_same_answer(cluster, clouds, here):
    sol = solve(*clouds[1:], 0.2, partitions=2, tol=1e-6, transport="ray")
    np.testing.assert_allclose(sol.Z, here.Z, rtol=0, atol=1e-12)
    assert sol.n_iter == here.n_iter
    assert "2 partitions (ray" in sol.method
    assert ray.is_initialized()


def test_solve_takes_the_engine(cluster, clouds, here):
    sol = lass.solve(*clouds[1:], 0.2, tol=1e-6, engine=Partitions(2, transport="ray"))
    np.testing.assert_allclose(sol.Z, here.Z, rtol=0, atol=1e-12)


def test_a_graph_of_categories_goes_to_workers(cluster, clouds):
    path = np.diag([1.0, 2.0, 0.0, 0.0], 1)
    how = {"category_graph": path + path.T}
    here = lass.solve(*clouds[1:], 0.2, method="gradient", tol=1e-6, **how)
    sol = lass.solve(*clouds[1:], 0.2, tol=1e-6, engine=Partitions(2, transport="ray"), **how)
    np.testing.assert_allclose(sol.Z, here.Z, rtol=0, atol=1e-12)
    assert sol.n_iter == here.n_iter
    with pytest.raises(ValueError, match="on a device take no category_graph"):
        solve(*clouds[1:], 0.2, partitions=2, transport="ray", device="cpu", **how)


def test_rows_may_live_on_a_device_of_the_worker(cluster, clouds, here):
    sol = solve(*clouds[1:], 0.2, partitions=2, tol=1e-6, transport="ray", device="cpu")
    np.testing.assert_allclose(sol.Z, here.Z, rtol=0, atol=1e-12)


def killer(transport, due):
    """A callback that ends a worker when an iteration is reached: by Ray, then as the system would."""

    def callback(step):
        if due and step.iteration >= due[0]:
            due.pop(0)
            victim = transport.actors[len(due) % 2]
            if due:
                ray.kill(victim)
            else:
                os.kill(ray.get(victim.place.remote())[1], signal.SIGKILL)

    return callback


def test_workers_killed_twice(cluster, clouds, here, tmp_path):
    write_parquet(*clouds[1:], tmp_path / "in", 2)
    transport, due = OnRay(2), [40, 80]
    report = solve_parquet(
        tmp_path / "in", tmp_path / "out", 0.2, tol=1e-6, transport=transport,
        callback=killer(transport, due), checkpoint=tmp_path / "kept", checkpoint_every=20,
    )  # fmt: skip
    assert not due
    assert report.lost == 2
    assert report.n_iter == here.n_iter
    assert report.objective == pytest.approx(here.objective, rel=1e-12)
    repeated = report.rounds - report.n_iter - len(report.history)
    assert repeated > 0
    Z = np.zeros_like(here.Z)
    for path in (tmp_path / "out" / "assignments").iterdir():
        table = pq.read_table(path)
        Z[table["item"].to_numpy(), table["category"].to_numpy()] = table["share"].to_numpy()
    np.testing.assert_allclose(Z, here.Z, rtol=0, atol=1e-12)


def test_rows_in_memory_outlive_their_worker(cluster, clouds, here):
    transport, due = OnRay(2), [20]
    sol = solve(
        *clouds[1:], 0.2, partitions=2, tol=1e-6, transport=transport, callback=killer(transport, due)
    )
    np.testing.assert_allclose(sol.Z, here.Z, rtol=0, atol=1e-12)
    assert "1 workers lost" in sol.method


def test_the_graph_is_built_by_the_cluster_too(cluster, clouds, tmp_path):
    X = clouds[0]
    write_features(X, tmp_path, 2)
    knn_parquet(tmp_path, 6, categories=5, transport="ray")
    W = np.zeros((600, 600))
    for path in (tmp_path / "edges").iterdir():
        table = pq.read_table(path)
        W[table["item"].to_numpy(), table["other"].to_numpy()] = table["weight"].to_numpy()
    np.testing.assert_allclose(W, lass.knn_graph(X, 6).toarray(), rtol=0, atol=1e-9)


def test_what_a_worker_finds_wrong_is_raised_once(cluster, clouds, tmp_path):
    write_parquet(*clouds[1:], tmp_path, 2)
    (tmp_path / "edges" / "part-00001.parquet").unlink()
    with pytest.raises(ValueError, match=r"there is no .*part-00001\.parquet; each partition needs one"):
        solve_parquet(tmp_path, tmp_path, 0.2, transport="ray")


def test_more_workers_than_processors_are_refused(cluster, clouds):
    with pytest.raises(
        ValueError, match="partitions must be at most the 2 processors of the cluster; found 3"
    ):
        solve(*clouds[1:], 0.2, partitions=3, transport="ray")
