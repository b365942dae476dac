import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.collection import CollectionStore, Item, Settings

TOPICS = {
    "mail": "mail inbox imap smtp message letter folder spam",
    "game": "game chess dice player board cards puzzle score",
    "editor": "editor text cursor syntax buffer indent undo file",
}


@pytest.fixture(scope="session")
def programs():
    """A function that makes items with texts on one topic each, and lists the topics."""

    def make(count, seed=0):
        rng = np.random.default_rng(seed)
        topics = rng.choice(list(TOPICS), count)
        texts = [" ".join(rng.choice(TOPICS[topic].split(), 5, replace=False)) for topic in topics]
        return [
            Item(f"p{n}", f"Program {n}", text, {"size": n}) for n, text in enumerate(texts)
        ], topics.tolist()

    return make


@pytest.fixture
def program_collection(tmp_path, programs):
    """60 programs; every third is annotated with its topic, one with what it is not."""
    items, topics = programs(60)
    annotations = [(f"p{n}", topics[n], 1) for n in range(0, 60, 3)] + [("p1", "game", -1)]
    settings = Settings(features={"kind": "text"}, n_neighbors=6)
    with CollectionStore.create(
        tmp_path / "programs", items, list(TOPICS), annotations, settings=settings
    ) as made:
        yield made


@pytest.fixture(scope="session")
def tagged_blobs():
    """Features, graph and tags of items in clusters; each cluster has tags that most of its items carry."""
    rng = np.random.default_rng(0)
    items, tags = 240, 6
    cluster = rng.integers(tags, size=items)
    X = np.eye(tags)[cluster] + 0.15 * rng.normal(size=(items, tags))
    shares = 0.08 + 0.8 * np.eye(tags) + 0.7 * np.roll(np.eye(tags), 1, axis=1)
    G = sp.csr_array((rng.random((items, tags)) < shares[cluster].clip(0, 0.95)).astype(float))
    return X, lass.knn_graph(X, 8), G
