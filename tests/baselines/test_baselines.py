"""Every baseline against its formula, written out with dense matrices, component by component."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import spsolve
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading

import lass
from lass import baselines
from oracle import GRAPHS, random_graph
from paper_toy import SSL, toy

steady = settings(max_examples=80, deadline=None, derandomize=True)
PATH = np.eye(3, k=1) + np.eye(3, k=-1)
METHODS = {
    "harmonic": baselines.harmonic,
    "class_mass": baselines.class_mass,
    "normalized": baselines.normalized,
    "poisson": baselines.poisson,
}


def parts(W):
    """Items of each connected component, found by walking."""
    left, found = set(range(len(W))), []
    while left:
        new, seen = {left.pop()}, set()
        while new:
            seen |= new
            new = {int(m) for n in new for m in np.flatnonzero(W[n])} - seen
        left -= seen
        found.append(np.array(sorted(seen)))
    return found


def rows_of(y):
    """Labels as rows; rows stay what they are."""
    y = np.asarray(y)
    return np.eye(y.max() + 1)[y] * (y >= 0)[:, None] if y.ndim == 1 else y


def dense_harmonic(W, y):
    Y = rows_of(y)
    Z, reached = np.full(Y.shape, 1 / Y.shape[1]), np.zeros(len(W), bool)
    L, labelled = np.diag(W.sum(axis=1)) - W, Y.any(axis=1)
    Z[labelled] = Y[labelled]
    for part in parts(W):
        known, unknown = part[labelled[part]], part[~labelled[part]]
        if len(known) and len(unknown):
            Z[unknown] = np.linalg.solve(L[np.ix_(unknown, unknown)], W[np.ix_(unknown, known)] @ Y[known])
            reached[unknown] = True
    return Z, reached


def dense_class_mass(W, y, prior=None):
    Y = rows_of(y)
    Z, reached = dense_harmonic(W, Y)
    shares = (Y.sum(axis=0) + 1) / (Y.sum() + Y.shape[1]) if prior is None else np.asarray(prior)
    masses = Z[reached].sum(axis=0)
    for n in range(len(W)):
        if reached[n]:
            row = [z * q / m if m > 0 else 0 for z, q, m in zip(Z[n], shares, masses, strict=True)]
            Z[n] = np.array(row) / sum(row)
        elif not Y[n].any():
            Z[n] = shares
    return Z


def dense_normalized(W, y, alpha=0.99):
    degree = W.sum(axis=1)
    root = np.array([d**-0.5 if d > 0 else 0 for d in degree])
    S = root[:, None] * W * root
    return np.linalg.solve(np.eye(len(W)) - alpha * S, (1 - alpha) * rows_of(y))


def dense_poisson(W, y, prior=None):
    Y = rows_of(y)
    U, labelled, degree = np.zeros(Y.shape), Y.any(axis=1), W.sum(axis=1)
    for part in parts(W):
        known = part[labelled[part]]
        if not len(known):
            continue
        mean = Y[known].mean(axis=0)
        if np.ptp(Y[known], axis=0).max() < 1e-12:
            U[part] = mean - 1 / Y.shape[1]
            continue
        B = np.where(labelled[part, None], Y[part] - mean, 0)
        L = np.diag(degree[part]) - W[np.ix_(part, part)]
        V = np.linalg.pinv(L) @ B
        U[part] = V - degree[part] @ V / degree[part].sum()
    if prior is not None:
        frequencies = Y.sum(axis=0) / labelled.sum()
        U *= [q / f if f > 0 else 0 for q, f in zip(prior, frequencies, strict=True)]
    return U


ORACLES = {
    "harmonic": lambda W, y: dense_harmonic(W, y)[0],
    "class_mass": dense_class_mass,
    "normalized": dense_normalized,
    "poisson": dense_poisson,
}


@st.composite
def labelled(draw):
    """A small graph of any kind, and labels or label rows; classes and components may have none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    N, K = draw(st.integers(1, 12), label="N"), draw(st.integers(1, 4), label="K")
    W = random_graph(rng, N, draw(st.sampled_from(GRAPHS), label="graph"))
    labelled = rng.permutation(N)[: draw(st.integers(1, N), label="labels")]
    if draw(st.booleans(), label="rows"):
        y = np.zeros((N, K))
        y[labelled] = rng.dirichlet(np.ones(K), len(labelled))
    else:
        y = np.full(N, -1)
        y[labelled] = rng.integers(K, size=len(labelled))
    return W, y


def check_assignments(Z):
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@steady
@given(labelled())
def test_formula(method, case):
    W, y = case
    found = METHODS[method](sp.csr_array(W), y)
    np.testing.assert_allclose(found, ORACLES[method](W, y), rtol=1e-8, atol=1e-8)
    if method in ("harmonic", "class_mass"):
        check_assignments(found)
        labelled = rows_of(y).any(axis=1)
        np.testing.assert_allclose(found[labelled], rows_of(y)[labelled], rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["class_mass", "poisson"])
@steady
@given(labelled(), st.integers(0, 99))
def test_formula_with_a_prior(method, case, seed):
    W, y = case
    prior = np.random.default_rng(seed).dirichlet(np.ones(rows_of(y).shape[1]))
    found = METHODS[method](W, y, prior)
    np.testing.assert_allclose(found, ORACLES[method](W, y, prior), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", [369, 777, 1479, 1818])
def test_poisson_in_small_components(seed):
    """Conjugate gradients on the singular Laplacian do not end here, and are wrong by up to 0.006."""
    rng = np.random.default_rng(seed)
    N = int(rng.integers(2, 12))
    W = random_graph(rng, N, GRAPHS[seed % len(GRAPHS)])
    y = rng.integers(-1, rng.integers(1, 5), N)
    y[0] = max(y[0], 0)
    np.testing.assert_allclose(baselines.poisson(W, y), dense_poisson(W, y), rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@steady
@given(labelled(), st.randoms(use_true_random=False))
def test_items_and_classes_in_another_order(method, case, random):
    W, y = case
    Y = rows_of(y)
    items, classes = list(range(len(W))), list(range(Y.shape[1]))
    random.shuffle(items)
    random.shuffle(classes)
    before = METHODS[method](W, Y)
    after = METHODS[method](W[np.ix_(items, items)], Y[np.ix_(items, classes)])
    np.testing.assert_allclose(after, before[np.ix_(items, classes)], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@steady
@given(labelled(), st.sampled_from((1e-6, 3.0, 1e6)))
def test_weights_in_another_unit(method, case, unit):
    """Only a potential has a unit, one over that of the weights; it has none where all labels are alike."""
    W, y = case
    before, after = METHODS[method](W, y), METHODS[method](unit * W, y)
    if method == "poisson":
        for part in parts(W):
            known = rows_of(y)[part][rows_of(y)[part].any(axis=1)]
            if len(known) and np.ptp(known, axis=0).max() > 1e-12:
                after[part] *= unit
    np.testing.assert_allclose(after, before, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("deep", [True, False])
def test_larger_graphs_are_solved_as_exactly(deep):
    """A ring is factorised, a random graph is iterated on; SciPy's own solver knows both answers."""
    rng = np.random.default_rng(0)
    N, K = 900, 3
    ring = np.array([np.arange(N), np.roll(np.arange(N), 1)])
    edges = ring if deep else rng.integers(N, size=(2, 4 * N))
    half = sp.csr_array((rng.uniform(0.5, 2, edges.shape[1]), edges), shape=(N, N))
    W = sp.csr_array(half + half.T)
    W.setdiag(0)
    y = np.full(N, -1)
    y[rng.permutation(N)[:30]] = np.arange(30) % K
    labelled, Y = y >= 0, rows_of(y)
    L = sp.csc_array(sp.diags_array(W.sum(axis=1)) - W)
    free = np.flatnonzero(~labelled)
    expected = spsolve(L[free][:, free], -(L[free][:, labelled] @ Y[labelled]))
    np.testing.assert_allclose(baselines.harmonic(W, y)[free], expected, rtol=0, atol=1e-9)
    U = baselines.poisson(W, y)
    B = np.where(labelled[:, None], Y - Y[labelled].mean(axis=0), 0)
    np.testing.assert_allclose(L @ U, B, rtol=0, atol=1e-9)
    np.testing.assert_allclose(W.sum(axis=1) @ U, 0, rtol=0, atol=1e-8)


@steady
@given(labelled())
def test_harmonic_is_lass_with_fixed_rows_and_no_affinities(case):
    W, y = case
    Y = rows_of(y)
    labelled = np.flatnonzero(Y.any(axis=1))
    sol = lass.solve(W, np.zeros(Y.shape), fixed=(labelled, Y[labelled]), method="reduced", tol=1e-12)
    np.testing.assert_allclose(baselines.harmonic(W, y), sol.Z, rtol=0, atol=1e-9)


def test_normalized_is_what_label_spreading_converges_to():
    rng = np.random.default_rng(1)
    W = random_graph(rng, 30, "dense")
    y = np.full(30, -1)
    y[:6] = np.arange(6) % 3
    model = LabelSpreading(kernel=lambda *_: W.copy(), alpha=0.8, max_iter=1000, tol=1e-12).fit(W, y)
    found = baselines.normalized(W, y, 0.8)
    np.testing.assert_allclose(
        found / found.sum(axis=1, keepdims=True), model.label_distributions_, rtol=1e-9, atol=1e-10
    )


def test_a_class_without_a_label():
    """Number 1 of three classes never occurs; a prior may name a fourth."""
    y = [0, -1, 2]
    assert baselines.harmonic(PATH, y).shape == (3, 3)
    for method in METHODS.values():
        assert (method(PATH, y)[:, 1] == 0).all()
    for method in (baselines.class_mass, baselines.poisson):
        found = method(PATH, y, [0.4, 0.2, 0.3, 0.1])
        assert found.shape == (3, 4)
        assert (found[:, [1, 3]] == 0).all()


def test_a_prior_of_zero_leaves_a_row_that_has_nothing_else():
    y = [0, -1, 0]
    np.testing.assert_array_equal(baselines.class_mass(PATH, y, [0.0, 1.0])[1], [1.0, 0.0])


def test_everything_labelled():
    y = np.array([1, 0, 1])
    np.testing.assert_array_equal(baselines.harmonic(PATH, y), np.eye(2)[y])
    np.testing.assert_array_equal(baselines.class_mass(PATH, y), np.eye(2)[y])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_nearest_is_one_nearest_neighbour(metric, sparse):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4))
    y = np.where(rng.random(60) < 0.2, rng.integers(3, size=60), -1)
    labelled = y >= 0
    judge = KNeighborsClassifier(1, metric=metric).fit(X[labelled], y[labelled])
    found = baselines.nearest(sp.csr_array(X) if sparse else X, y, metric)
    np.testing.assert_array_equal(found, np.eye(y.max() + 1)[judge.predict(X)])


def test_nearest_keeps_the_label_of_twins():
    found = baselines.nearest([[0.0], [0.0], [1.0]], [0, 1, -1])
    np.testing.assert_array_equal(found[:2], np.eye(2))


def test_nearest_takes_label_rows():
    Y = [[0.2, 0.8], [0, 0], [1, 0]]
    np.testing.assert_array_equal(
        baselines.nearest([[0.0], [1.0], [5.0]], Y), [[0.2, 0.8], [0.2, 0.8], [1, 0]]
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("eps", [0.0, 0.05, 1.0])
def test_labels_from_affinities_entry_by_entry(eps, sparse):
    rng = np.random.default_rng(3)
    G = rng.integers(-1, 2, (40, 5)) * (rng.random((40, 5)) < 0.4)
    G[0], G[1], G[2] = 0, -1, [-1, 0, 0, 0, 0]
    expected = np.zeros(G.shape)
    for n, row in enumerate(G):
        if row.any():
            z = np.array([{1: 1.0, 0: eps, -1: 0.0}[int(g)] for g in row])
            expected[n] = z / z.sum() if z.sum() > 0 else 0.0
    found = baselines.labels_from_affinities(sp.csr_array(G) if sparse else G, eps)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_printed_table_of_hard_labels():
    W, G = toy(negative=False)
    Z = baselines.harmonic(W, baselines.labels_from_affinities(G))
    np.testing.assert_allclose(Z[7:], SSL, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: baselines.harmonic(PATH, [0, 1]), "y must have one label or row an item, 3; found shape"),
        (lambda: baselines.harmonic(PATH, [0.0, 1.0, -1.0]), "y must hold whole numbers .* found float64"),
        (lambda: baselines.harmonic(PATH, ["a", "b", "a"]), "y must hold whole numbers .* Encode"),
        (lambda: baselines.harmonic(PATH, [0, 1, -2]), "y must hold whole numbers .* found -2"),
        (lambda: baselines.harmonic(PATH, [-1, -1, -1]), "y must label at least one item"),
        (lambda: baselines.harmonic(PATH, np.zeros((3, 2))), "y must label at least one item"),
        (lambda: baselines.harmonic(PATH, [[1, 1], [0, 0], [0, 1]]), "sum to one, or of zeros .* row 0"),
        (lambda: baselines.poisson(PATH, [[1, 0], [2, -1], [0, 1]]), "numbers >= 0 .* row 1"),
        (lambda: baselines.normalized(PATH, [[1, 0], [0, 0], [0, np.nan]]), "numbers >= 0 .* row 2"),
        (lambda: baselines.harmonic(PATH[:2], [0, 1]), "W must be square"),
        (lambda: baselines.poisson(-PATH, [0, 1, -1]), "W must hold weights >= 0"),
        (lambda: baselines.class_mass(np.triu(PATH), [0, 1, -1]), "W must be symmetric"),
        (lambda: baselines.normalized(PATH, [0, 1, -1], 1.0), "alpha must be from 0 to below 1; found 1.0"),
        (lambda: baselines.normalized(PATH, [0, 1, -1], -0.1), "alpha must be a number >= 0"),
        (lambda: baselines.class_mass(PATH, [0, 1, -1], [1.0]), "prior must be 2 shares"),
        (lambda: baselines.poisson(PATH, [0, 1, -1], [1.0, 1.0]), "prior must be 2 shares"),
        (lambda: baselines.class_mass(PATH, [0, 1, -1], [2.0, -1.0]), "prior must be 2 shares"),
        (lambda: baselines.labels_from_affinities([[1, 0]], 1.5), "eps must be from 0 to 1; found 1.5"),
        (lambda: baselines.labels_from_affinities([[1, 0]], -1), "eps must be a number >= 0"),
        (lambda: baselines.nearest([1.0, 2.0], [0, -1]), "X must have rows and columns"),
        (lambda: baselines.nearest([[1.0], [2.0]], [0, -1, 1]), "y must have one label or row an item, 2"),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_passed_in_stays_as_it_was():
    W, Y, G = sp.csr_array(PATH), np.array([[1.0, 0], [0, 0], [0, 1]]), np.array([[1.0, 0], [-1, 0]])
    copies = W.copy(), Y.copy(), G.copy()
    for method in METHODS.values():
        method(W, Y)
    baselines.nearest([[0.0], [1.0], [2.0]], Y)
    baselines.labels_from_affinities(G, 0.1)
    assert (copies[0] != W).nnz == 0
    np.testing.assert_array_equal(Y, copies[1])
    np.testing.assert_array_equal(G, copies[2])
