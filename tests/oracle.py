"""An independent solver of the same problem, and random small problems to compare on.

Nothing here uses the package: formulas are dense, the quadratic program is written out
entry by entry and given to an interior-point method.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import clarabel
import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st


@dataclass
class Case:
    """What one problem is made of, all dense."""

    W: np.ndarray
    G: np.ndarray
    lam: float
    options: dict = field(default_factory=dict)

    @property
    def shape(self):
        return self.G.shape

    @property
    def fixed(self):
        """Numbers of the fixed rows, and their assignments."""
        K = self.shape[1]
        given = self.options.get("fixed") or {}
        rows = sorted(given)
        table = [np.eye(K)[given[n]] if np.ndim(given[n]) == 0 else np.asarray(given[n]) for n in rows]
        return np.array(rows, int), np.array(table).reshape(len(rows), K)

    @property
    def laplacian(self):
        """L + ridge I, of the kind that was asked for."""
        W = self.W - np.diag(np.diag(self.W))
        degree = W.sum(axis=1)
        L = np.diag(degree) - W
        if self.options.get("laplacian") == "normalized":
            root = np.zeros_like(degree)
            root[degree > 0] = degree[degree > 0] ** -0.5
            L = np.diag((degree > 0).astype(float)) - root[:, None] * W * root
        return L + self.options.get("ridge", 0.0) * np.eye(len(W))

    @property
    def category_laplacian(self):
        V = self.options.get("category_graph")
        K = self.shape[1]
        return np.zeros((K, K)) if V is None else np.diag(V.sum(axis=1)) - V

    def objective(self, Z):
        smooth = np.vdot(Z, self.laplacian @ Z) + np.vdot(Z, Z @ self.category_laplacian)
        return self.lam * smooth - np.vdot(self.G, Z)

    def gradient(self, Z):
        return 2 * self.lam * (self.laplacian @ Z + Z @ self.category_laplacian) - self.G

    def stake(self):
        """Sum of the ranges of the rows of G with the pull of fixed neighbours, fixed rows left out."""
        rows, table = self.fixed
        free = np.setdiff1d(np.arange(len(self.G)), rows)
        pull = self.G[free] - 2 * self.lam * self.laplacian[np.ix_(free, rows)] @ table
        return float((pull.max(axis=1) - pull.min(axis=1)).sum()) if len(free) else 0.0

    def rounding(self):
        """What the objective cannot be computed better than, in double precision."""
        size = self.lam * (np.abs(self.laplacian).sum() + np.abs(self.category_laplacian).sum())
        return 1e-15 * (size + np.abs(self.G).sum())

    def scale(self, value):
        """What an error in the objective is measured against."""
        return max(abs(value), self.stake(), 1e-12)

    def oracle(self):
        """Z by an interior-point method, made feasible to rounding."""
        N, K = self.shape
        unit = max(self.stake(), 1e-9)
        P = sp.kron(self.laplacian, sp.eye_array(K)) + sp.kron(sp.eye_array(N), self.category_laplacian)
        rows, table = self.fixed
        free = np.setdiff1d(np.arange(N), rows)
        entries = np.arange(N * K).reshape(N, K)
        every = sp.eye_array(N * K, format="csr")
        sums = sp.kron(sp.eye_array(N), np.ones((1, K)), format="csr")
        equal, right = [sums[free], every[entries[rows].ravel()]], [np.ones(len(free)), table.ravel()]
        if "prior" in self.options:
            totals = sp.kron(np.ones((1, N)), sp.eye_array(K), format="csr")
            equal.append(totals[: K - 1])
            right.append(N * np.asarray(self.options["prior"])[: K - 1])
        bound = -every[entries[free].ravel()]
        A = sp.csc_matrix(sp.vstack([*equal, bound]))
        b = np.concatenate([*right, np.zeros(bound.shape[0])])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = 200
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        count = sum(part.shape[0] for part in equal)
        cones = [clarabel.ZeroConeT(count), clarabel.NonnegativeConeT(bound.shape[0])]
        upper = sp.triu(sp.csc_matrix(P * (2 * self.lam / unit)), format="csc")
        solver = clarabel.DefaultSolver(upper, -self.G.ravel() / unit, A, b, cones, settings)
        Z = np.maximum(np.array(solver.solve().x).reshape(N, K), 0.0)
        Z[rows] = table
        return Z / Z.sum(axis=1, keepdims=True)


def random_graph(rng, N, kind, orders=0.0):
    """Symmetric weights; ``orders`` is how many orders of magnitude they spread over."""
    if kind == "empty":
        return np.zeros((N, N))
    present = np.triu(rng.random((N, N)) < {"sparse": 0.3, "dense": 0.9}.get(kind, 0.6), 1)
    if kind == "path":
        present = np.eye(N, k=1, dtype=bool)
    if kind == "split":
        half = np.arange(N) < N // 2
        present &= half[:, None] == half[None, :]
    if kind == "isolated":
        present[:, rng.integers(N)] = False
        present[0] = False
    weights = 10.0 ** rng.uniform(-orders / 2, orders / 2, (N, N)) if orders else rng.uniform(0.1, 2, (N, N))
    W = np.where(present, weights, 0.0)
    return W + W.T


def random_affinities(rng, N, K, kind):
    """Affinities of one of several kinds."""
    if kind == "one-hot":
        G = np.eye(K)[rng.integers(K, size=N)]
        G[rng.random(N) < 0.5] = 0.0
        return G
    if kind == "signed":
        return rng.integers(-1, 2, (N, K)).astype(float)
    G = rng.normal(size=(N, K))
    if kind == "negative":
        return -np.abs(G)
    if kind == "constant rows":
        some = rng.random(N) < 0.6
        G[some] = rng.normal(size=(N, 1))[some]
    if kind == "few labels":
        G *= rng.random((N, K)) < 0.15
    if kind == "large":
        G *= 1e4
    return G


GRAPHS = ("sparse", "dense", "path", "split", "isolated", "empty")
AFFINITIES = ("one-hot", "signed", "normal", "negative", "constant rows", "few labels", "large")


@st.composite
def cases(
    draw, least=1, most=9, extras=("fixed", "ridge", "normalized", "category_graph"), wide=True, decades=3
):
    """Random small problems; ``extras`` names the options that may appear."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    N, K = draw(st.integers(least, most), label="N"), draw(st.integers(2, 5), label="K")
    orders = draw(st.sampled_from((0.0, 0.0, 12.0) if wide else (0.0,)), label="orders")
    W = random_graph(rng, N, draw(st.sampled_from(GRAPHS), label="graph"), orders)
    G = random_affinities(rng, N, K, draw(st.sampled_from(AFFINITIES), label="affinities"))
    if draw(st.booleans(), label="twins") and N > 1:
        W[1], G[1] = W[0], G[0]
        W[:, 1] = W[1]
        W[0, 1] = W[1, 0] = W[1, 1] = 0.0
    lam = 10.0 ** draw(st.integers(-decades, decades), label="decade")
    options = {}
    extra = draw(st.sampled_from((None, *extras)), label="extra")
    if extra == "ridge":
        options["ridge"] = float(draw(st.sampled_from((0.01, 1.0))))
    if extra == "normalized":
        options["laplacian"] = "normalized"
    if extra == "category_graph":
        V = np.triu(rng.random((K, K)) * (rng.random((K, K)) < 0.6), 1)
        options["category_graph"] = V + V.T
    if extra in ("fixed", "prior and fixed"):
        rows = rng.permutation(N)[: draw(st.integers(1, N), label="fixed rows")]
        soft = rng.dirichlet(np.ones(K), len(rows))
        options["fixed"] = {
            int(n): soft[i] if rng.random() < 0.5 else int(rng.integers(K)) for i, n in enumerate(rows)
        }
    case = Case(W, G, lam, options)
    if extra in ("prior", "prior and fixed"):
        held = case.fixed[1].sum(axis=0)
        rest = N - held.sum()
        shares = rng.dirichlet(np.full(K, draw(st.sampled_from((0.3, 5.0)))))
        options["prior"] = (held + rest * shares) / N
    return case


def check_feasible(Z, case):
    """Rows exactly non-negative, sums within 1e-12, fixed rows as given."""
    assert Z.shape == case.shape
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    rows, table = case.fixed
    np.testing.assert_allclose(Z[rows], table, rtol=0, atol=1e-12)


def exact_objective(case, Z):
    """The objective in fractions, with rows of Z that are not fixed divided by their sums."""
    fixed, K = set(case.fixed[0].tolist()), case.shape[1]
    rows = [[Fraction(float(z)) for z in row] for row in Z]
    rows = [row if n in fixed else [z / sum(row) for z in row] for n, row in enumerate(rows)]
    graph, V = case.W, case.options.get("category_graph", np.zeros((K, K)))
    smooth = Fraction(float(case.options.get("ridge", 0.0))) * sum(z * z for row in rows for z in row)
    for n, m in zip(*np.nonzero(np.triu(graph, 1)), strict=True):
        far = sum((a - b) ** 2 for a, b in zip(rows[n], rows[m], strict=True))
        smooth += Fraction(float(graph[n, m])) * far
    for j, k in zip(*np.nonzero(np.triu(V, 1)), strict=True):
        smooth += Fraction(float(V[j, k])) * sum((row[j] - row[k]) ** 2 for row in rows)
    linear = sum(Fraction(float(case.G[n, k])) * rows[n][k] for n, k in zip(*np.nonzero(case.G), strict=True))
    return Fraction(float(case.lam)) * smooth - linear


def check_against_oracle(sol, case, share=1e-7):
    """The objective is as low as the oracle's, and the gap bounds how far it can be from it.

    The bound is judged in fractions, without an allowance, where the problem is the given numbers themselves
    and the oracle's answer can be made exactly feasible.
    """
    check_feasible(sol.Z, case)
    found = case.oracle()
    value, best = case.objective(sol.Z), case.objective(found)
    scale, noise = case.scale(best), case.rounding()
    assert abs(sol.objective - value) <= 1e-12 * scale + noise
    if case.options.get("laplacian") == "normalized" or "prior" in case.options:
        assert value - best <= sol.gap + 1e-11 * scale + noise, "the gap does not bound the error"
    else:
        error = Fraction(sol.objective) - exact_objective(case, found)
        assert error <= Fraction(sol.gap), "the gap does not bound the error"
    assert value - best <= share * scale + noise, "the oracle found better"
