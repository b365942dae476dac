"""A cluster of several nodes, one of which is lost in the middle of a run."""

import contextlib
import time

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

import lass
from lass.solvers.distributed import solve
from lass.solvers.distributed.on_ray import OnRay


@pytest.fixture
def cluster():
    """Three nodes with one processor each: one more than the run needs."""
    size = {"num_cpus": 1, "object_store_memory": 100_000_000}
    made = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
    nodes = [made.add_node(**size) for _ in range(2)]
    yield made, nodes
    ray.shutdown()
    made.shutdown()


def wait_for_the_end(actor):
    """A process notices only after a moment that its node is gone; a short run could be over by then."""
    with contextlib.suppress(ray.exceptions.RayActorError):
        while True:
            ray.get(actor.place.remote())
            time.sleep(0.1)


def test_a_lost_node_is_replaced_by_another(cluster):
    made, nodes = cluster
    rng = np.random.default_rng(0)
    W, G = lass.knn_graph(rng.normal(size=(300, 4)), 8), np.zeros((300, 3))
    G[np.arange(30), rng.integers(0, 3, 30)] = 1.0
    here = lass.solve(W, G, 0.2, method="gradient", tol=1e-6)
    transport, lost = OnRay(2, made.address), []

    def lose_a_node(step):
        if step.iteration >= 20 and not lost:
            used = [ray.get(actor.place.remote())[0] for actor in transport.actors]
            lost.append(next(node for node in nodes if node.node_id in used))
            made.remove_node(lost[0], allow_graceful=False)
            wait_for_the_end(transport.actors[used.index(lost[0].node_id)])

    sol = solve(W, G, 0.2, partitions=2, tol=1e-6, transport=transport, callback=lose_a_node)
    assert lost
    assert "1 workers lost" in sol.method
    assert sol.n_iter == here.n_iter
    np.testing.assert_allclose(sol.Z, here.Z, rtol=0, atol=1e-12)
