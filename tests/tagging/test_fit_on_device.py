"""``fit(device=...)`` in plain torch, against the processors; errors where torch or a GPU is missing."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from command_line import run  # noqa: E402
from lass.collection import CollectionStore, Item, Settings  # noqa: E402
from lass.learning.predictors import tag_assignments  # noqa: E402
from lass.learning.predictors.scoring import LEAST_SCORE  # noqa: E402
from lass.tagging import completion, fit  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture
def vectors(tmp_path):
    """A function that makes a collection of vectors in clouds; half of them have some of 80 tags."""

    def make(name, metric="euclidean", items=400, tags=80):
        rng = np.random.default_rng(0)
        cloud = rng.integers(20, size=items)
        X = 2.0 * rng.normal(size=(20, 8))[cloud] + rng.normal(size=(items, 8))
        usual = rng.integers(tags, size=(20, 6))
        known = [
            (f"{n:03}", f"t{k:02}", 1)
            for n in range(0, items, 2)
            for k in set(rng.choice(usual[cloud[n]], 3))
        ]
        settings = Settings(features={"kind": "vectors"}, n_neighbors=8, metric=metric, lam=0.5)
        ids = [Item(f"{n:03}") for n in range(items)]
        collection = CollectionStore.create(tmp_path / name, ids, [], known, settings=settings)
        collection.save_features(X)
        return collection

    return make


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_graph_assignments_and_scores_are_those_of_the_processors(vectors, monkeypatch, metric):
    for module in (tag_assignments, completion):
        monkeypatch.setattr(module, "DENSE", 100)
        monkeypatch.setattr(module, "tolerance", lambda problem, tol: 1e-6)
    monkeypatch.setattr(tag_assignments, "SWEEPS", 400)
    with vectors("here", metric) as here, vectors("there", metric) as there:
        ours, theirs = fit(there, device="cpu", draw_map=False), fit(here, draw_map=False)
        assert abs(there.graph - here.graph).max() < 1e-9
        assert "gpu, in sparse form" in ours.model.solution.method
        assert ours.model.solution.converged
        scores = [np.maximum(one.model.scores.values.toarray(), LEAST_SCORE) for one in (ours, theirs)]
        assert np.mean(np.abs(scores[0] - scores[1]) < 0.005) > 0.999
        assert np.abs(scores[0] - scores[1]).max() < 0.02


def test_what_is_missing_is_said_in_one_line(vectors, monkeypatch):
    with vectors("there") as there:
        with pytest.raises(ValueError, match="device or with an engine"):
            fit(there, device="cpu", engine="ray")
        path = str(there.path)
    if not torch.cuda.device_count():
        missing = run("fit", path, "--device", "cuda", code=2)
        assert "needs an NVIDIA GPU that torch can see" in missing.stderr
    for name in [name for name in sys.modules if name.startswith("lass.solvers.gpu")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "needs torch and triton" in run("fit", path, "--device", "cuda", code=2).stderr
