"""Partitions in one process: the same iterates as on one machine, whatever the cut."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lass
from lass.solvers.distributed import Partitions, partition, partitioning, solve
from lass.solvers.distributed.parts import assemble, split
from lass.solvers.distributed.transport import InProcess
from oracle import cases, check_against_oracle

#: what of the model goes on partitions, beside graph and affinities
EXTRAS = ("fixed", "ridge", "normalized", "category_graph")


@st.composite
def labelled_cases(draw):
    """A small problem and the partition of each item; some partitions may be empty."""
    case = draw(cases(least=1, most=12, extras=EXTRAS, wide=False, decades=2))
    numbers = st.integers(0, draw(st.integers(0, 4), label="last partition"))
    labels = draw(st.lists(numbers, min_size=len(case.W), max_size=len(case.W)), label="labels")
    return case, np.array(labels)


@given(
    labelled_cases(), st.sampled_from((0, 1, 2, 7, 20, 33, 60)), st.booleans(), st.sampled_from((None, "cpu"))
)
@settings(deadline=None, max_examples=200)
def test_iterates_are_those_of_one_machine(given_case, steps, shared_memory, device):
    case, labels = given_case
    device = None if "category_graph" in case.options else device
    how = {"tol": 0.0, "max_iter": steps, **case.options}
    here = lass.solve(case.W, case.G, case.lam, method="gradient", **how)
    sol = solve(
        case.W, case.G, case.lam, partitions=labels, transport=InProcess(shared_memory, device), **how
    )
    np.testing.assert_allclose(sol.Z, here.Z, rtol=0, atol=1e-12)
    assert abs(sol.objective - here.objective) <= 1e-12 * case.scale(here.objective) + case.rounding()


@given(labelled_cases())
@settings(deadline=None, max_examples=60)
def test_the_optimum_is_that_of_the_oracle(given_case):
    case, labels = given_case
    sol = solve(case.W, case.G, case.lam, partitions=labels, tol=1e-9, max_iter=20_000, **case.options)
    check_against_oracle(sol, case)


@pytest.fixture(scope="module")
def blobs():
    """Three clouds of points, connected, a few of them labelled."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 600)
    X = 1.5 * rng.standard_normal((3, 4))[truth] + rng.standard_normal((600, 4))
    G = np.zeros((600, 3))
    G[np.arange(30), truth[:30]] = 1.0
    return lass.knn_graph(X, 8), sp.csr_array(G)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_history_and_certificate_are_those_of_one_machine(blobs, count):
    here = lass.solve(*blobs, 0.5, method="gradient", tol=1e-7)
    sol = solve(*blobs, 0.5, partitions=count, tol=1e-7)
    assert sol.converged
    assert [step.iteration for step in sol.history] == [step.iteration for step in here.history]
    np.testing.assert_allclose([step.gap for step in sol.history], [step.gap for step in here.history], 1e-9)
    np.testing.assert_allclose(sol.Z, here.Z, rtol=0, atol=1e-12)
    assert sol.n_iter == here.n_iter
    assert f"{count} partitions (local, {sol.n_iter + len(sol.history)} rounds" in sol.method


def test_progress_is_reported_and_can_stop_the_run(blobs):
    seen = []

    def stop_at_forty(step):
        seen.append(step)
        return step.iteration >= 40

    sol = solve(*blobs, 0.5, partitions=2, tol=0.0, callback=stop_at_forty)
    assert [step.iteration for step in seen] == [0, 20, 40]
    assert sol.interrupted
    assert not sol.converged
    assert seen[-1].gap == pytest.approx(sol.gap, rel=1e-9)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_a_start_near_the_answer_saves_work(blobs, device):
    W, G = blobs
    cold = solve(W, G, 0.5, partitions=3, tol=1e-6, device=device)
    changed = cold.problem.changed(G={(100, 2): 1.0})
    warm = solve(changed, start=cold, partitions=3, tol=1e-6, device=device)
    assert warm.converged
    assert 0 < warm.n_iter < cold.n_iter
    assert warm.objective == pytest.approx(lass.solve(changed, tol=1e-8).objective, rel=1e-5)


def test_an_engine_solves_elsewhere(blobs):
    engine = Partitions(3)
    sol = lass.solve(*blobs, 0.5, fixed={5: 1}, tol=1e-6, engine=engine)
    assert sol.converged
    assert "3 partitions (local" in sol.method
    assert sol.Z[5].tolist() == [0, 1, 0]
    again = sol.update(lam=0.4, engine=engine)
    assert again.converged
    assert again.objective == pytest.approx(lass.solve(again.problem, tol=1e-8).objective, rel=1e-5)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"prior": [0.5, 0.5]}, r"engine=Partitions\(...\) does not support a prior"),
        ({"start": np.ones((3, 3))}, "start must be a Solution or finite numbers"),
    ],
)
def test_what_an_engine_cannot_do_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        lass.solve([[0, 1], [1, 0]], np.eye(2), 0.5, engine=Partitions(2), **how)


def test_a_graph_of_categories_does_not_go_on_devices():
    how = {"category_graph": np.ones((2, 2)) - np.eye(2), "partitions": 2}
    with pytest.raises(ValueError, match="on a device take no category_graph"):
        solve([[0, 1], [1, 0]], np.eye(2), 0.5, device="cpu", **how)


def test_nothing_is_iterated_without_labels():
    sol = solve(np.ones((4, 4)) - np.eye(4), np.zeros((4, 3)), partitions=2)
    assert sol.n_iter == 0
    assert sol.converged
    np.testing.assert_allclose(sol.Z, 1 / 3, rtol=0, atol=1e-15)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_parts_put_together_are_the_graph(seed, N, count):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((N, N)) * (rng.random((N, N)) < 0.2), 1)
    W += W.T
    G = rng.normal(size=(N, 3)) * (rng.random((N, 3)) < 0.5)
    labels = rng.integers(0, count, N)
    lists = split(sp.csr_array(W), sp.csr_array(G), labels, count)
    parts = [assemble(number, 3, *given) for number, given in enumerate(lists)]
    again, affinities, seen = np.zeros_like(W), np.zeros_like(G), []
    for part in parts:
        seen += part.items.tolist()
        columns = np.full(part.size, -1)
        columns[: len(part.items)] = part.items
        for other, place in part.halo.items():
            columns[place] = parts[other].items[parts[other].border_rows[part.number]]
        local = sp.csr_array((part.graph[2], part.graph[1], part.graph[0]), (len(part.items), part.size))
        again[np.ix_(part.items, columns)] += local.toarray()
        affinities[part.items] = part.affinities().toarray()
        assert (part.graph[1][: part.graph[0][part.inner]] < len(part.items)).all()
    assert sorted(seen) == list(range(N))
    np.testing.assert_array_equal(again, W)
    np.testing.assert_array_equal(affinities, G)


@pytest.mark.parametrize("metis", [True, False])
@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_partitions_are_even_and_cut_little(blobs, count, metis, monkeypatch):
    if not metis:
        monkeypatch.setattr(partitioning, "find_spec", lambda name: None)
    W = blobs[0]
    labels = partition(W, count)
    work = np.bincount(labels, np.diff(W.indptr) + 1.0, count)
    assert labels.shape == (600,)
    assert set(labels.tolist()) == set(range(count))
    assert work.max() <= 1.1 * work.mean()
    at_random = np.random.default_rng(0).integers(0, count, 600)

    def cut(labels):
        rows = np.repeat(np.arange(600), np.diff(W.indptr))
        return (labels[rows] != labels[W.indices]).sum()

    assert cut(labels) <= 0.6 * cut(at_random)


def test_more_partitions_than_items_leave_some_empty():
    labels = partition(np.ones((3, 3)) - np.eye(3), 8)
    assert len(set(labels.tolist())) == 3
    sol = solve(np.ones((3, 3)) - np.eye(3), np.eye(3), 0.1, partitions=8, tol=1e-9)
    assert sol.converged


class Dying(InProcess):
    """Loses a worker at given calls, counted over the run."""

    def __init__(self, *when, shared_memory=False):
        super().__init__(shared_memory)
        self.when, self.count = set(when), 0

    def call(self, number, method, *arguments, returns=1):
        self.count += 1
        if self.count in self.when:
            self.kill(number)
        return super().call(number, method, *arguments, returns=returns)


@given(st.lists(st.integers(1, 700), max_size=4), st.sampled_from((20, 60)), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=40)
@example([9, 10], 20, True, True)
@example([7], 20, False, True)
def test_lost_workers_do_not_change_the_answer(blobs, tmp_path_factory, when, every, kept, shared_memory):
    folder = tmp_path_factory.mktemp("checkpoint") if kept else None
    here = solve(*blobs, 0.5, partitions=3, tol=1e-7)
    how = {"checkpoint": folder, "checkpoint_every": every}
    transport = Dying(*when, shared_memory=shared_memory)
    sol = solve(*blobs, 0.5, partitions=3, tol=1e-7, transport=transport, **how)
    np.testing.assert_array_equal(sol.Z, here.Z)
    assert [step[::2] for step in sol.history] == [step[::2] for step in here.history]
    if kept:
        assert list(folder.iterdir()) == []


def test_a_run_goes_on_from_its_checkpoint(blobs, tmp_path):
    whole = solve(*blobs, 0.5, partitions=3, tol=1e-7)
    how = {"partitions": 3, "tol": 1e-7, "checkpoint": tmp_path, "checkpoint_every": 20}
    first = solve(*blobs, 0.5, max_iter=50, **how)
    assert not first.converged
    assert sorted(path.name for path in tmp_path.glob("*.npz")) == [
        f"part-0000{i}-0000040.npz" for i in range(3)
    ]
    rest = solve(*blobs, 0.5, **how)
    assert rest.history[0].iteration == 40
    np.testing.assert_array_equal(rest.Z, whole.Z)
    assert rest.n_iter == whole.n_iter


def test_a_checkpoint_of_another_problem_is_refused(blobs, tmp_path):
    how = {"partitions": 2, "checkpoint": tmp_path, "checkpoint_every": 20}
    solve(*blobs, 0.5, tol=0.0, max_iter=30, **how)
    for W, G, lam in ((*blobs, 0.6), (blobs[0], 2 * blobs[1], 0.5), (2 * blobs[0], blobs[1], 0.5)):
        with pytest.raises(ValueError, match="checkpoint must be empty or from the same problem"):
            solve(W, G, lam, **how)
    (tmp_path / "checkpoint.json").write_text("{}")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        solve(*blobs, 0.5, **how)


def test_an_address_without_a_cluster(monkeypatch, blobs):
    """Ray searches this machine for clusters: the one of a test that runs beside this one is none of ours."""
    monkeypatch.setattr("ray._private.services._find_address_from_flag", lambda flag: set())
    with pytest.raises(ValueError, match="address='auto' leads to no Ray cluster"):
        solve(*blobs, 0.5, transport="ray", address="auto")


def test_workers_that_die_again_and_again_end_the_run(blobs):
    with pytest.raises(RuntimeError, match="lost 6 times since iteration"):
        solve(*blobs, 0.5, partitions=3, tol=1e-7, transport=Dying(*range(50, 2000)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"partitions": 0}, "partitions must be a whole number >= 1; found 0"),
        ({"partitions": 1.5}, "partitions must be a whole number >= 1; found 1.5"),
        ({"partitions": [0, 1]}, "partitions must be the number of partitions, or a whole number"),
        ({"partitions": [0, -1, 1]}, "partitions must be the number of partitions, or a whole number"),
        ({"lam": 0}, "does not support lam = 0"),
        ({"lam": np.inf}, "does not support lam = inf"),
        ({"lam": "much"}, "lam must be a number"),
        ({"tol": -1.0}, "tol must be a number >= 0"),
        ({"max_iter": 1.5}, "max_iter must be a whole number"),
        ({"transport": "pigeon"}, "transport must be 'local' or 'ray'"),
        ({"address": "auto"}, "address needs transport='ray'"),
        ({"address": "127.0.0.1:1", "transport": "ray"}, "address='127.0.0.1:1' cannot be reached"),
        ({"address": "no.such.host.invalid:6379", "transport": "ray"}, "cannot be reached"),
        ({"address": "127.0.0.1:99999", "transport": "ray"}, "cannot be reached"),
        ({"checkpoint": __file__}, "checkpoint must be a folder"),
        ({"checkpoint_every": 0}, "checkpoint_every must be a whole number >= 1"),
        ({"W": [[0, 1, 0], [2, 0, 0], [0, 0, 0]]}, "W must be symmetric"),
        ({"G": np.ones((2, 2))}, "W and G must have one row an item"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"W": np.ones((3, 3)), "G": np.eye(3), "lam": 1.0, "partitions": 2} | change
    with pytest.raises(ValueError, match=message):
        solve(given.pop("W"), given.pop("G"), given.pop("lam"), **given)
