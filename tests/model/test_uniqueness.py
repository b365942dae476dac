"""The set of solutions against linear programs that know nothing of components or slides."""

import numpy as np
import pytest
from scipy.optimize import linprog

import lass
from oracle import Case, random_graph

PATH = np.eye(4, k=1) + np.eye(4, k=-1)
ZERO, CLOSE = 1e-7, 1e-6


class Solutions:
    """All D with Z + D optimal: (L + C) D = 0, <linear term, D> = 0, row sums 0, Z + D >= 0."""

    def __init__(self, case, Z):
        self.Z, (N, K) = Z, case.shape
        same = np.kron(case.laplacian, np.eye(K)) + np.kron(np.eye(N), case.category_laplacian)
        rows, _ = case.fixed
        self.free = np.setdiff1d(np.arange(N), rows)
        entries = np.arange(N * K).reshape(N, K)
        parts = [
            case.G.reshape(1, -1),
            np.kron(np.eye(N), np.ones((1, K))),
            np.eye(N * K)[entries[rows].ravel()],
        ]
        if case.lam > 0:
            parts.append(same[entries[self.free].ravel()])
        if "prior" in case.options:
            parts.append(np.kron(np.ones((1, N)), np.eye(K)))
        self.equal = np.vstack(parts)

    def furthest(self, direction):
        bounds = [(-z if z > ZERO else 0.0, 1.0) for z in self.Z.ravel()]
        found = linprog(-direction.ravel(), A_eq=self.equal, b_eq=np.zeros(len(self.equal)), bounds=bounds)
        assert found.status == 0, found.message
        return -found.fun

    def entry(self, n, k, sign=1.0):
        direction = np.zeros(self.Z.shape)
        direction[n, k] = sign
        return direction

    def slack(self):
        K = self.Z.shape[1]
        slack = np.zeros((K, 2))
        for n in self.free:
            for k in range(K):
                slack[k, 0] = min(slack[k, 0], -self.furthest(self.entry(n, k, -1.0)))
                slack[k, 1] = max(slack[k, 1], self.furthest(self.entry(n, k)))
        return slack

    def overtaking(self, n):
        """How far some other category can get ahead of the top one of row n."""
        t = int(self.Z[n].argmax())
        return max(
            self.furthest(self.entry(n, k) + self.entry(n, t, -1.0)) + self.Z[n, k] - self.Z[n, t]
            for k in range(self.Z.shape[1])
            if k != t
        )


def check(case):
    sol = lass.solve(case.W, case.G, case.lam, tol=1e-13, **case.options)
    assert sol.relative_gap <= 1e-11
    found, solutions = sol.uniqueness(), Solutions(case, sol.Z)
    slack = solutions.slack()
    np.testing.assert_allclose(found.slack, slack, rtol=0, atol=CLOSE)
    assert (found.slack[:, 0] <= 0).all()
    assert (found.slack[:, 1] >= 0).all()
    assert found.unique == (np.abs(slack).max() <= ZERO)
    assert found.unique == found.components.all()
    for n in solutions.free:
        ahead = solutions.overtaking(n)
        if abs(ahead) > CLOSE:
            assert (n in found.flippable) == (ahead > 0), n
    assert not np.isin(found.flippable, case.fixed[0]).any()
    assert set(np.flatnonzero(found.labels < 0)) == set(case.fixed[0])
    return found


def balanced(rng, N, K, repeats=1):
    """One-hot labels, equally many of each category."""
    G = np.zeros((N, K))
    for i, n in enumerate(rng.permutation(N)[: K * repeats]):
        G[n, i % K] = 1.0
    return G


@pytest.mark.parametrize("seed", range(6))
def test_balanced_labels_at_large_lam_are_not_unique(seed):
    rng = np.random.default_rng(seed)
    N, K = 7, 3
    found = check(Case(random_graph(rng, N, "path"), balanced(rng, N, K, 1 + seed % 2), 100.0))
    assert not found.unique
    assert (found.slack[:, 1] > 0.1).all()
    assert len(found.flippable) > 0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lam", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("graph", ["sparse", "split", "isolated"])
def test_random_labels(seed, lam, graph):
    rng = np.random.default_rng(seed)
    check(Case(random_graph(rng, 6, graph), rng.integers(-1, 2, (6, 3)).astype(float), lam))


@pytest.mark.parametrize("lam", [0.01, 100.0])
def test_components_apart(lam):
    """One with balanced labels, one with a label too many, one without, one isolated item with two."""
    W = np.zeros((9, 9))
    W[:8, :8] = np.kron(np.eye(2), PATH)
    W[5, 6] = W[6, 5] = 0.0
    G = np.zeros((9, 2))
    G[0, 0] = G[3, 1] = G[4, 0] = 1.0
    G[8] = 1.0
    found = check(Case(W, G, lam))
    labels = found.labels
    assert len(found.components) == 4
    assert found.components[labels[0]] == (lam < 1)
    assert found.components[labels[4]]
    assert not found.components[labels[6]]
    assert not found.components[labels[8]]


@pytest.mark.parametrize(
    "options", [{"ridge": 0.1}, {"fixed": {1: [0.2, 0.3, 0.5]}}, {"prior": [1 / 3, 1 / 3, 1 / 3]}]
)
@pytest.mark.parametrize("seed", range(3))
def test_what_holds_the_categories_makes_it_unique(options, seed):
    rng = np.random.default_rng(seed)
    W, G = random_graph(rng, 6, "path"), balanced(rng, 6, 3)
    assert not check(Case(W, G, 100.0)).unique
    assert check(Case(W, G, 100.0, options)).unique


def test_fixed_rows_hold_their_own_component_only():
    W = np.kron(np.eye(2), PATH)
    found = check(Case(W, np.zeros((8, 2)), 1.0, {"fixed": {0: 0}}))
    assert found.components[found.labels[1]]
    assert not found.components[found.labels[4]]
    assert not found.unique


@pytest.mark.parametrize("seed", range(4))
def test_joined_categories_slide_together(seed):
    rng = np.random.default_rng(seed)
    categories = np.zeros((4, 4))
    categories[0, 1] = categories[1, 0] = 1.0
    options = {"category_graph": categories}
    found = check(Case(random_graph(rng, 6, "path"), balanced(rng, 6, 4), 100.0, options))
    np.testing.assert_allclose(found.slack[0], found.slack[1], rtol=0, atol=1e-12)


def test_normalized_laplacian_is_refused():
    """What costs nothing there is sqrt(degree) p', not 1 p': an error is better than a wrong result."""
    W = random_graph(np.random.default_rng(0), 5, "path")
    sol = lass.solve(W, np.eye(5)[:, :2], 1.0, laplacian="normalized")
    with pytest.raises(ValueError, match="row sums"):
        sol.uniqueness()


def test_at_lam_zero_every_row_is_unique_by_itself():
    """The graph has no weight: two equal affinities in a row are a choice, whatever the others hold."""
    check(Case(PATH, np.array([[1.0, 1], [1, 0], [0, 1], [2, 1]]), 0.0))


def test_at_infinite_lam_every_component_is_unique_by_itself():
    found = lass.solve(PATH, [[1, 0], [0, 0], [0, 0], [0, 1]], np.inf).uniqueness()
    np.testing.assert_allclose(found.slack, [[-0.5, 0.5], [-0.5, 0.5]])
    assert lass.solve(PATH, [[2, 0], [0, 0], [0, 0], [0, 1]], np.inf).uniqueness().unique


@pytest.mark.parametrize("seed", range(10))
def test_a_zero_in_each_category_makes_it_unique(seed):
    """The paper's corollary."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(6, 3))
    G[:3] += 5 * np.eye(3)
    case = Case(random_graph(rng, 6, "dense") + 0.1 * (1 - np.eye(6)), G, 0.02)
    sol = lass.solve(case.W, case.G, case.lam, tol=1e-13)
    assert (sol.Z.min(axis=0) < 1e-9).all()
    assert sol.uniqueness().unique
    assert np.abs(Solutions(case, sol.Z).slack()).max() <= ZERO
    assert not sol.uniqueness().slack.any()
    assert not len(sol.uniqueness().flippable)


def test_slid_solutions_are_as_good():
    """Poisson learning in the middle of the polytope: every corner of the slack is a solution too."""
    rng = np.random.default_rng(0)
    G = balanced(rng, 12, 2)
    sol = lass.solve(random_graph(rng, 12, "path"), G, 50.0, tol=1e-12)
    low, high = sol.uniqueness().slack[0]
    assert high - low > 0.5
    for step in (low, high):
        other = lass.solve(sol.problem, start=sol.Z + step * np.array([1.0, -1.0]), max_iter=0, tol=1e-12)
        assert other.objective == pytest.approx(sol.objective, abs=1e-9)
        assert other.gap <= 1e-9
    beyond = sol.Z + (high + 0.01) * np.array([1.0, -1.0])
    assert beyond.min() < -0.005
