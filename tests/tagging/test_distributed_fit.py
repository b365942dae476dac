"""The whole fit on a real Ray: the answer of one machine, also when workers are killed; bad input."""

import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import ray
import scipy.sparse as sp
from click.testing import CliRunner

import lass
from lass.cli import group
from lass.collection import Item, Settings
from lass.kernels import threads
from lass.learning.predictors import tag_assignments
from lass.model.atomic import draft_of
from lass.tagging.distributed import Workers, fitting, sizes, solving
from lass.tagging.distributed.cluster import Cluster
from lass.tagging.distributed.sizes import Shape, cut
from lass.tagging.distributed.workspace import Workspace

pytestmark = pytest.mark.slow
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # what workers are to run instead

ITEMS, TAGS, CLUSTERS = 1200, 70, 20


@pytest.fixture(scope="module", autouse=True)
def ray_cluster():
    """One small Ray for all tests here; a fit that finds it leaves it alone."""
    ray.init(
        num_cpus=4, object_store_memory=100_000_000, include_dashboard=False, log_to_driver=False,
        logging_level="error",
    )  # fmt: skip
    yield
    ray.shutdown()


def solve_as_large_ones(patch):
    """Solve problems this small in sparse form too, in few sweeps over several slices or on workers."""
    patch.setattr(tag_assignments, "DENSE", 0)
    patch.setattr(tag_assignments, "SWEEPS", 7)
    for module in (threads, solving):
        patch.setattr(module, "WORK_PER_THREAD", 1000)


@pytest.fixture(autouse=True)
def sparse_solve(monkeypatch):
    """For every test here."""
    solve_as_large_ones(monkeypatch)


def drawn(seed=0):
    """The cluster of each item, and annotations: tags that most items of a cluster have."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(CLUSTERS, size=ITEMS)
    shares = np.full((CLUSTERS, TAGS), 0.01)
    for row in shares:
        row[rng.choice(TAGS, 5, replace=False)] = 0.7
    tags = (rng.random((ITEMS, TAGS)) < shares[cluster]) & (rng.random(ITEMS) < 0.6)[:, None]
    known = [(f"i{n:04d}", f"tag {k}", 1) for n, k in zip(*np.nonzero(tags), strict=True)]
    return rng, cluster, [*known, ("i0000", "tag 1", -1)]


def vectors(folder):
    """Items with given vectors, in an order that is not that of their ids."""
    rng, cluster, known = drawn()
    X = rng.normal(size=(CLUSTERS, 12))[cluster] + 0.6 * rng.normal(size=(ITEMS, 12))
    order = rng.permutation(ITEMS)
    items = [Item(f"i{n:04d}", extra={"group": f"g{n // 2}"}) for n in order]
    settings = Settings(n_neighbors=8, features={"kind": "vectors"})
    return lass.Collection.create(folder, items, features=X[order], annotations=known, settings=settings)


def texts(folder):
    """Items with texts of words of their cluster and of common ones."""
    rng, cluster, known = drawn()
    common = [f"common{n}" for n in range(300)]
    items = []
    for n, one in enumerate(cluster):
        own = rng.choice([f"word{one}x{k}" for k in range(40)], 12)
        items.append(Item(f"i{n:04d}", text=" ".join([*own, *rng.choice(common, 15)])))
    settings = Settings(n_neighbors=8, features={"kind": "text"}, metric="cosine")
    return lass.Collection.create(folder, items, annotations=known, settings=settings)


def with_parents(folder):
    """Items with given vectors, whose tags have parents, and a tag without annotations."""
    made = vectors(folder)
    for k in range(0, TAGS, 2):
        made.rename_tag(f"tag {k}", f"{'abc'[k % 3]}::tag {k}")
    made.add_tag("a::another")
    made.change_settings(smoothing=0.5)
    return made


def near_copies(folder):
    """Short texts of few words, many of them equally near, in an order that is not that of their ids."""
    rng = np.random.default_rng(5)
    words = [[f"word{one}{n}" for n in range(3)] for one in range(3)]
    items = [
        Item(
            f"i{n * 37 % 1009:04d}",
            text=" ".join([*rng.choice(words[n % 3], 4), *rng.choice(np.ravel(words), 2)]),
        )
        for n in range(300)
    ]
    names = ["z::q", "a::b", "m", "a::a", "z::b"]
    known = [(item.id, names[n % 5], 1) for n, item in enumerate(items[::2])]
    settings = Settings(features={"kind": "text"}, metric="cosine", smoothing=0.5)
    return lass.Collection.create(folder, items, annotations=known, settings=settings)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one machine finds for each kind of items."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        solve_as_large_ones(patch)
        for make in (vectors, texts, with_parents):
            with make(tmp_path_factory.mktemp("alone") / "items") as collection:
                result = collection.fit(draw_map=False)
                found[make] = result, collection.graph, collection.suggest(limit=50)
    return found


def check_same(result, other):
    """The same assignments and scores; candidates of nearly the same rank may differ, and score low."""
    assert result.model.lam == pytest.approx(other.model.lam)
    Z, expected = (one.model.solution.Z.to_dense() for one in (result, other))
    np.testing.assert_allclose(Z, expected, rtol=0, atol=1e-4)
    scores, known = (one.model.scores.values for one in (result, other))
    in_both = abs(scores.multiply(known > 0) - known.multiply(scores > 0))
    assert in_both.max() < 0.005
    in_one = sp.csr_array((abs(scores - known) - in_both) > 1e-6)
    assert in_one.nnz <= 1e-3 * known.nnz
    assert in_one.nnz == 0 or (scores + known).multiply(in_one).max() < 0.02
    assert result.certificate == other.certificate


@pytest.mark.parametrize(("make", "workers"), [(vectors, 2), (vectors, 4), (texts, 2), (with_parents, 2)])
def test_the_answer_is_that_of_one_machine(alone, make, workers, tmp_path):
    expected, graph, suggested = alone[make]
    out = tmp_path / "suggestions"
    with make(tmp_path / "items") as collection:
        result = collection.fit(engine=Workers(workers, out=out), draw_map=False)
        check_same(result, expected)
        assert abs(collection.graph - graph).max() < 1e-12
        assert not collection.stale()
        assert collection.is_retrained
        found, every = collection.suggest(limit=50), collection.suggest(top=10)
    assert [(one.item, one.tag, one.rank) for one in found] == [
        (one.item, one.tag, one.rank) for one in suggested
    ]
    assert not list((tmp_path / "items").glob(".fit.*"))
    rows = pq.read_table(out).to_pylist()
    assert len(list(out.iterdir())) == workers
    assert [(row["item"], row["tag"], row["rank"]) for row in rows] == [
        (one.item, one.tag, one.rank) for one in every
    ]
    np.testing.assert_allclose([row["score"] for row in rows], [one.score for one in every], atol=1e-6)


def test_near_copies_have_the_graph_and_lam_of_one_machine(tmp_path):
    found = []
    for engine in (None, Workers(2)):
        with near_copies(tmp_path / f"items{len(found)}") as collection:
            lam = collection.fit(engine=engine, draw_map=False).model.lam
            found.append((collection.graph, lam))
    (graph, lam), (expected, expected_lam) = found
    assert abs(graph - expected).max() < 1e-12
    assert lam == expected_lam


def test_smoothing_on_workers_is_certified(alone, tmp_path):
    known = alone[with_parents][0].model.solution
    with with_parents(tmp_path / "items") as collection:
        mine = collection.fit(engine=Workers(2, parts=5), draw_map=False).model.solution
        own = collection.names().index("a::another")
    assert "on 5 parts" in mine.method
    assert mine.gap == pytest.approx(known.gap, rel=1e-6)
    assert mine.problem.gap(mine.Z.to_dense()) == pytest.approx(mine.gap, rel=1e-6)
    # a tag without annotations has shares, as those of the same parent do
    assert mine.Z.to_dense()[:, own].sum() > 1


def test_assignments_stay_in_order_when_memory_is_let_go(tmp_path):
    space = Workspace(str(tmp_path), (0, 1, 2), 10)
    for part in space.parts:
        rows = sp.csr_array((np.array([0.25, 0.75]), np.array([2, part]), np.array([0, 2])), shape=(1, 3))
        space.write_csr("now", part, rows, background=np.zeros(1))
    Z = solving.whole(space, "now", 3)
    assert Z.feasible  # looks at some rows after the others, and lets their memory go
    assert Z.to_csr().indices.tolist() == [0, 2, 1, 2]
    assert Z.to_dense().tolist() == [[0.75, 0, 0.25], [0, 0.75, 0.25]]


def with_edges(folder, helpful):
    """Items with texts, and edges within their clusters or to any others."""
    made, (rng, cluster, _) = texts(folder), drawn()
    one, other = rng.integers(ITEMS, size=(2, 40 * ITEMS))
    kept = (one != other) & ((cluster[one] == cluster[other]) | (not helpful))
    ends = np.stack([one[kept], other[kept]])
    W = sp.csr_array((np.ones(ends.shape[1]), tuple(ends)), shape=(ITEMS, ITEMS))
    made.save_edges(sp.csr_array(W + W.T))
    return made


@pytest.mark.parametrize("helpful", [True, False])
def test_features_and_edges_are_joined_as_on_one_machine(helpful, tmp_path):
    results, graphs = [], []
    for engine in (None, Workers(2)):
        with with_edges(tmp_path / f"{engine is None}", helpful) as collection:
            results.append(collection.fit(engine=engine, draw_map=False))
            graphs.append(collection.graph)
            if engine is not None:  # the neighbours are there now, and the choice is made again
                again = collection.fit(engine=engine, draw_map=False)
                assert abs(collection.graph - graphs[-1]).max() == 0
                assert not collection.stale()
    assert abs(graphs[0] - graphs[1]).max() < 1e-9
    check_same(*results[::-1])
    check_same(again, results[0])
    assert results[0].comparisons == results[1].comparisons == again.comparisons
    assert ("text alone" in again.comparisons[0]) != helpful


def test_blocks_and_parts_change_nothing(alone, tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "BLOCK", 50)
    with vectors(tmp_path / "items") as collection:
        result = collection.fit(engine=Workers(2, parts=5), draw_map=False)
    check_same(result, alone[vectors][0])


def die(limit, function, arguments):
    """Do the work, and be killed before anybody hears of it."""
    function(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)


def die_first(limit, function, arguments):
    """Be killed before anything is done."""
    os.kill(os.getpid(), signal.SIGKILL)


class KillingCluster(Cluster):
    """Ray whose first worker of every stage is killed, in turn before and after its work."""

    def submit(self, stage, function, arguments):
        seen = self.__dict__.setdefault("seen", [])
        if stage in seen:
            return super().submit(stage, function, arguments)
        seen.append(stage)
        KillingCluster.last = self
        end = die if len(seen) % 2 else die_first
        return self.ray.remote(num_cpus=1, max_retries=0)(end).remote(None, function, arguments)


@pytest.mark.timeout(600)  # each of nine killed workers is a process that starts anew
@pytest.mark.parametrize("make", [vectors, texts, with_parents])
def test_a_worker_killed_at_every_stage_is_replaced(alone, make, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "Cluster", KillingCluster)
    with make(tmp_path / "items") as collection:
        result = collection.fit(engine=Workers(2), draw_map=False)
    check_same(result, alone[make][0])
    # numbers are standardised where they are, and texts are reduced
    first, then = (["features"], ["reduction"]) if make is texts else ([], [])
    stages = [
        *first,
        "neighbours",
        "graph",
        "propagation",
        "solve",
        *then,
        "linear models",
        "candidates",
        "scores",
    ]
    assert KillingCluster.last.seen == stages
    assert KillingCluster.last.lost == len(KillingCluster.last.seen)


def state(folder):
    """Everything in a collection that a fit could change."""
    files = [folder / "collection.toml", *sorted((folder / "arrays").glob("*"))]
    return {file.name: file.read_bytes() for file in files}


class DamagingCluster(Cluster):
    """Ray whose workers find a part of the graph damaged when they carry tags through it."""

    def submit(self, stage, function, arguments):
        if stage == "propagation":
            arguments[0].path("graph", 1).write_bytes(b"no arrays")
        return super().submit(stage, function, arguments)


def test_a_part_that_cannot_be_read_is_one_line_and_changes_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "items"
    vectors(folder).close()
    before = state(folder)
    monkeypatch.setattr(fitting, "Cluster", DamagingCluster)
    run = CliRunner().invoke(group, ["fit", str(folder), "--engine", "ray", "--lam", "0.5"])
    assert run.exit_code == 2
    assert "could not do its part of the stage 'propagation'" in run.stderr
    assert "part-00001 could not be read: it is damaged" in run.stderr
    assert "Traceback" not in run.output
    assert state(folder) == before
    assert not list(folder.glob(".fit.*"))


def test_a_memory_limit_that_is_too_small_is_one_line_and_changes_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "items"
    vectors(folder).close()
    before = state(folder)
    run = CliRunner().invoke(group, ["fit", str(folder), "--engine", "ray", "--memory", "0.01"])
    assert run.exit_code == 2
    assert "0.01 GiB a worker is too small for 70 tags; give at least" in run.stderr
    monkeypatch.setattr(sizes, "PLANNED", 1000.0)  # nobody foresees what it takes
    run = CliRunner().invoke(group, ["fit", str(folder), "--engine", "ray", "--memory", "0.0002"])
    assert run.exit_code == 2
    assert "a worker needs more than the memory limit of 0.0002 GiB in the stage" in run.stderr
    assert state(folder) == before


def test_a_limit_is_kept_by_more_parts(alone, tmp_path):
    with vectors(tmp_path / "items") as collection:
        result = collection.fit(engine=Workers(2, memory=0.1), draw_map=False)
    check_same(result, alone[vectors][0])
    shape = Shape(1_000_000, 5000, 10, 1000.0)
    assert cut(shape, 4, None, 4.0).parts > 4
    with pytest.raises(ValueError, match="too small for 5,000 tags; give at least"):
        cut(shape, 4, None, 0.1)


def test_few_tags_and_none_are_fitted_too(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 4 * (np.arange(60) % 3)[:, None]
    for known in ([], [(str(n), f"kind {n % 3}", 1) for n in range(15)]):
        results = []
        for engine in (None, Workers(2)):
            with lass.Collection.create(
                tmp_path / f"items {len(known)} {engine is None}", [Item(str(n)) for n in range(60)],
                features=X, annotations=known, settings=Settings(n_neighbors=5),
            ) as collection:  # fmt: skip
                mine = draft_of(collection.path / "notes.txt")
                mine.write_bytes(b"of a process that runs")
                gone = mine.name.replace(f"-{os.getpid()}-", "-999999999-")
                left = collection.path / gone.replace("notes.txt", "fit")
                left.mkdir()
                draft = collection.path / "arrays" / gone
                draft.write_bytes(b"half of it")
                elsewhere = collection.path / ".notes.txt.00000000-999999999-0123456789abcdef"
                elsewhere.write_bytes(b"of another machine")
                results.append(collection.fit(engine=engine, draw_map=False))
                assert not left.exists()
                assert not draft.exists()
                assert mine.exists()
                assert elsewhere.exists()
                out = tmp_path / f"parts {len(known)}"
                if engine is not None and known:
                    collection.fit(engine=replace(engine, out=out), draw_map=False)
                    rows = pq.read_table(out).to_pylist()
                    assert [(row["item"], row["tag"]) for row in rows] == [
                        (one.item, one.tag) for one in collection.suggest(top=10)
                    ]
                    (tmp_path / "a file").write_text("mine")
                    with pytest.raises(ValueError, match="a file is a file; name a folder"):
                        collection.fit(engine=replace(engine, out=tmp_path / "a file"))
        if known:
            check_same(*results)
        else:
            assert results[1].model is None


@pytest.mark.parametrize(
    ("options", "message"), [({"count": 0}, "count must be at least 1"), ({"memory": -1.0}, "memory must be")]
)
def test_what_workers_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        Workers(**options)


def test_options_of_workers_need_the_engine(tmp_path):
    vectors(tmp_path / "items").close()
    run = CliRunner().invoke(group, ["fit", str(tmp_path / "items"), "--memory", "2"])
    assert run.exit_code == 2
    assert "--memory 2.0 needs --engine ray" in run.stderr
