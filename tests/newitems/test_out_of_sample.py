"""New items against projections by sorting, interior-point solutions and brute force."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from lass.newitems.out_of_sample import NewItem, assign, path
from lass.newitems.spreads import spread
from oracle import Case, random_affinities, random_graph

seeds = st.integers(0, 2**32 - 1)
EYE = np.eye(2)


def project(V):
    """The projection of each row onto the simplex, by sorting."""
    U = -np.sort(-V, axis=1)
    ranks = np.arange(1, V.shape[1] + 1)
    excess = np.cumsum(U, axis=1) - 1.0
    count = (excess / ranks < U).sum(axis=1)
    return np.maximum(V - (excess[np.arange(len(V)), count - 1] / count)[:, None], 0.0)


def mapped(W, Z, G, lam, shift=0.0):
    """The formula, item by item; every item has a neighbour, 0 < lam <= inf."""
    degree = W.sum(axis=1, keepdims=True)
    V = W @ Z / degree + (0.0 if lam == np.inf else (G - G.max(axis=1, keepdims=True)) / (2 * lam * degree))
    return project(V + shift)


def known_items(rng, N, K):
    """Assignments with zeros, ties and vertices among them."""
    Z = rng.dirichlet(np.full(K, 0.4), N)
    Z[rng.random(Z.shape) < 0.3] = 0.0
    Z[Z.sum(axis=1) == 0, 0] = 1.0
    Z[rng.random(N) < 0.2] = 1.0
    return Z / Z.sum(axis=1, keepdims=True)


def new_weights(rng, M, N):
    W = rng.uniform(0.1, 2.0, (M, N)) * (rng.random((M, N)) < 0.3)
    W[np.arange(M), rng.integers(N, size=M)] = 1.0
    return W


@st.composite
def items(draw, most=8):
    """One item: the mean of its neighbours, its affinities, its degree; with ties and zeros."""
    rng = np.random.default_rng(draw(seeds))
    K = draw(st.integers(1, most))
    kind = draw(st.sampled_from(("whole", "any", "even")))
    if kind == "whole":
        zbar = rng.integers(0, 4, K).astype(float)
    else:
        zbar = rng.dirichlet(np.ones(K)) * (rng.random(K) < 0.7) if kind == "any" else np.ones(K)
    zbar[rng.integers(K)] += zbar.sum() == 0
    g = rng.integers(-2, 3, K).astype(float)
    if draw(st.booleans()):
        g = rng.normal(size=K) * 10.0 ** rng.integers(-6, 7, K)
    return zbar / zbar.sum(), g, float(rng.uniform(0.1, 3.0))


@given(seeds, st.sampled_from((1e-3, 0.1, 1.0, 30.0, np.inf)), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_map_is_the_projection(seed, lam, sliding):
    rng = np.random.default_rng(seed)
    M, N, K = rng.integers(1, 9, 3)
    Z, W = known_items(rng, N, K), new_weights(rng, M, N)
    G = random_affinities(rng, M, K, "few labels")
    p = rng.normal(size=K) / 10 if sliding else None
    expected = mapped(W, Z, G, lam, 0.0 if p is None else p)
    for weights in (W, sp.csr_array(W), sp.coo_array(W)):
        for affinities in (G, sp.csr_array(G), sp.csc_array(G)):
            found = assign(weights, Z, affinities, lam, shift=p)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
            assert (found >= 0).all()
            np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    without = assign(W, Z, None, lam, shift=p)
    np.testing.assert_allclose(without, mapped(W, Z, 0 * G, lam, 0.0 if p is None else p), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_map_and_path_solve_the_quadratic_program(seed):
    """The item joins the graph and every other row is fixed."""
    rng = np.random.default_rng(seed)
    N, K = 6, 4
    Z, w, g = known_items(rng, N, K), new_weights(rng, 1, N)[0], rng.normal(size=K)
    W = np.zeros((N + 1, N + 1))
    W[N, :N] = W[:N, N] = w
    G = np.vstack([np.zeros((N, K)), g])
    way = path(w, Z, g)
    for lam in (0.03, 0.1, 0.3, 1.0, 10.0):
        best = Case(W, G, lam, {"fixed": dict(enumerate(Z))}).oracle()[N]
        np.testing.assert_allclose(assign(w[None], Z, g[None], lam)[0], best, rtol=0, atol=1e-7)
        np.testing.assert_allclose(way(lam), best, rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_solutions_are_fixed_points(seed):
    """Mapped from its neighbours and its affinities, every item of an exact solution stays where it is."""
    rng = np.random.default_rng(seed)
    W, G = random_graph(rng, 20, "sparse"), random_affinities(rng, 20, 4, "signed")
    solution = lass.solve(W, G, 0.7, tol=1e-13)
    np.testing.assert_allclose(assign(W, solution, G, 0.7), solution.Z, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("w", "g", "lam", "expected"),
    [
        ([1, 3], [0, 9, 0], np.inf, [0.25, 0, 0.75]),
        ([1, 3], [0, 0, 0], 1.0, [0.25, 0, 0.75]),
        ([1, 3], [5, 5, 5], 0.0, [0.25, 0, 0.75]),
        ([1, 3], [0, 1e-9, 0], 0.0, [0, 1, 0]),
        ([1, 3], [2, 2, 1], 0.0, [0.5, 0.5, 0]),
        ([0, 0], [2, 2, 1], 1.0, [0.5, 0.5, 0]),
        ([0, 0], [0, 0, -1], np.inf, [0.5, 0.5, 0]),
        ([0, 0], [7, 7, 7], 1.0, [1 / 3, 1 / 3, 1 / 3]),
        ([0, 0], [0, 0, 0], 0.0, [1 / 3, 1 / 3, 1 / 3]),
        ([1e-300, 3e-300], [2, 2, 1], 1e-9, [0.625, 0.375, 0]),
        ([1e-310, 3e-310], [2, 2, 1], 1e-300, [0.625, 0.375, 0]),
        ([1e300, 3e300], [1, 2, 1], 1e300, [0.25, 0, 0.75]),
        ([1, 3], [-1e308, 1e308, 1e308], 1e-300, [0, 0.125, 0.875]),
    ],
)
def test_extremes(w, g, lam, expected):
    Z = np.array([[1.0, 0, 0], [0, 0, 1.0]])
    found = assign([w], Z, [g], lam)[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    if lam > 0 and max(g) < 1e300:
        np.testing.assert_allclose(path(w, Z, g)(lam), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(NewItem(w, Z).at(g, lam), expected, rtol=0, atol=1e-9)


def test_a_shift_moves_what_affinities_leave_open():
    p = np.array([0.1, -0.1])
    np.testing.assert_allclose(assign([[0, 0]], EYE, shift=p), [[0.6, 0.4]])
    np.testing.assert_allclose(assign([[1, 1]], EYE, lam=0.0, shift=p), [[0.6, 0.4]])
    np.testing.assert_allclose(assign([[1, 1]], EYE, [[1, 2]], lam=0.0, shift=9 * p), [[0, 1]])
    np.testing.assert_allclose(NewItem([1, 1], EYE).at(shift=p), [0.6, 0.4])


@given(seeds)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_invariances(seed):
    rng = np.random.default_rng(seed)
    M, N, K = 5, 6, 4
    Z, W, G = known_items(rng, N, K), new_weights(rng, M, N), rng.normal(size=(M, K))
    base = assign(W, Z, G, 0.4)
    order, people = rng.permutation(K), rng.permutation(N)
    for other in (
        assign(W, Z, G + rng.normal(size=(M, 1)), 0.4),
        assign(W, Z, 3 * G, 1.2),
        assign(3 * W, Z, G, 0.4 / 3),
        assign(W[:, people], Z[people], G, 0.4),
        assign(W, Z[:, order], G[:, order], 0.4)[:, np.argsort(order)],
    ):
        np.testing.assert_allclose(other, base, rtol=0, atol=1e-12)


def test_all_forms_of_weights():
    rng = np.random.default_rng(0)
    Z, W = known_items(rng, 7, 3), new_weights(rng, 4, 7)
    expected, csr = assign(W, Z), sp.csr_array(W)
    wide = sp.csr_array(W)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    rows = csr.tocoo().coords[0]
    places = np.tile(rows, 2), np.tile(csr.indices, 2)
    twice = sp.csr_array((np.tile(csr.data / 2, 2), places), shape=W.shape)
    order = np.lexsort((-csr.indices, rows))
    backwards = sp.csr_array((csr.data[order], csr.indices[order], csr.indptr), shape=W.shape)
    sealed = sp.csr_array(W)
    for part in (sealed.data, sealed.indices, sealed.indptr):
        part.flags.writeable = False
    assert wide.indices.dtype == np.int64
    assert not backwards.has_sorted_indices
    before = wide.indices.copy()
    for weights in (
        wide,
        twice,
        backwards,
        sp.csr_matrix(W),
        sp.csc_array(W),
        W.tolist(),
        np.asfortranarray(W),
    ):
        np.testing.assert_allclose(assign(weights, Z), expected, rtol=0, atol=1e-15)
    assert wide.indices.dtype == np.int64
    assert (wide.indices == before).all()
    np.testing.assert_allclose(assign(W.astype(np.float32), Z), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(assign(W, Z.astype(np.float32)), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(assign(W, np.asfortranarray(Z)), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(assign((W > 0).astype(int), Z), mapped(W > 0, Z, 0 * W[:, :3], 1.0))
    Z.flags.writeable = False
    np.testing.assert_allclose(assign(W, Z), expected, rtol=0, atol=1e-15)
    assert assign(W[:0], Z).shape == (0, 3)


def test_what_is_given_stays_as_it_is():
    rng = np.random.default_rng(0)
    Z, W, G = known_items(rng, 7, 3), sp.csr_array(new_weights(rng, 4, 7)), rng.normal(size=(4, 3))
    before = Z.copy(), W.toarray(), G.copy()
    assign(W, Z, G, 0.5, shift=[0.1, 0.0, -0.1])
    for left, was in zip((Z, W.toarray(), G), before, strict=True):
        np.testing.assert_array_equal(left, was)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_threads_give_the_same_map(count, several_threads):
    rng = np.random.default_rng(0)
    Z, W = known_items(rng, 40, 5), new_weights(rng, 101, 40)
    G = rng.normal(size=(101, 5))
    expected = mapped(W, Z, G, 0.2)
    several_threads(count)
    np.testing.assert_allclose(assign(W, Z, G, 0.2), expected, rtol=0, atol=1e-12)
    W[77, 3] = np.nan
    with pytest.raises(ValueError, match="row 77, column 3"):
        assign(sp.csr_array(W), Z, G, 0.2)


def corrupt(column):
    """CSR weights that name an item that is not there."""
    W = sp.csr_array([[1.0, 1.0]])
    W.indices[1] = column
    return W


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"W_new": [[1.0, -1.0]]}, "W_new must hold finite weights >= 0 .* found -1 at row 0, column 1"),
        ({"W_new": [[np.nan, 1.0]]}, "W_new must be finite; found nan at row 0, column 0"),
        ({"W_new": sp.csr_array([[0.0, 0.0], [np.inf, 1.0]])}, "found inf at row 1, column 0"),
        ({"W_new": sp.csr_array([[1e308, 1e308]])}, "beyond double precision"),
        ({"W_new": corrupt(2)}, "known items 0 to 1"),
        ({"W_new": corrupt(-1)}, "known items 0 to 1"),
        ({"W_new": [[1.0, 1.0, 1.0]]}, r"one column a known item, 2; found shape \(1, 3\)"),
        ({"W_new": "no"}, "W_new must be"),
        ({"W_new": [[1j, 1]]}, "W_new must be"),
        ({"Z": [1.0, 0.0]}, r"Z must be a Solution or an array of shape \(N, K\)"),
        ({"Z": [["a", "b"], ["c", "d"]]}, "Z must be an array of numbers"),
        ({"Z": [[1.0, 1.0], [0.0, 1.0]]}, "Z must hold rows >= 0 that sum to one"),
        ({"Z": [[2.0, -1.0], [2.0, -1.0]]}, "Z must hold rows >= 0 that sum to one"),
        ({"Z": [[np.nan, 1.0], [0.0, 1.0]]}, "Z must hold rows >= 0 that sum to one"),
        ({"G_new": [[1.0, 1.0, 1.0]]}, r"G_new must have shape \(1, 2\)"),
        ({"G_new": [[1.0, np.inf]]}, "G_new must be finite; found inf at row 0, column 1"),
        ({"G_new": sp.csr_array([[np.nan, 0.0]])}, "G_new must be finite; found nan at row 0, column 0"),
        ({"G_new": [["a", "b"]]}, "G_new must be an array of numbers"),
        ({"lam": -1}, "lam must be a number from 0 to infinity"),
        ({"lam": np.nan}, "lam must be a number from 0 to infinity"),
        ({"shift": [0.0]}, "shift must be 2 finite numbers"),
        ({"shift": [0.0, np.nan]}, "shift must be 2 finite numbers"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        assign(**{"W_new": [[1.0, 1.0]], "Z": EYE, **arguments})


def test_wide_column_numbers_are_not_folded():
    W = sp.csr_array([[1.0, 1.0]])
    W.indices, W.indptr = W.indices.astype(np.int64), W.indptr.astype(np.int64)
    W.indices[1] = 2**32
    with pytest.raises(ValueError, match="known items 0 to 1"):
        assign(W, EYE)


@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("value", [10**6, -3])
@pytest.mark.parametrize("where", ["W_new", "G_new", "w", "g"])
def test_sparse_matrices_with_indices_out_of_range_are_refused(part, value, where):
    """Pointers beyond the arrays were a segmentation fault."""
    odd = sp.csr_array(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0]]))
    if where in "wg":
        odd = odd[[0]]
    getattr(odd, part)[1] = value
    weights = np.ones((2, 3))
    calls = {
        "W_new": lambda: lass.assign(odd, np.eye(3)), "G_new": lambda: lass.assign(weights, np.eye(3), odd),
        "w": lambda: lass.path(odd, np.eye(3), [1, 0, 0]), "g": lambda: lass.path([1, 1, 1], np.eye(3), odd),
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"arrays do not fit each other|with known items 0 to 2"):
        calls[where]()


def test_a_category_graph_is_not_left_out_silently():
    solution = lass.solve([[0, 1], [1, 0]], [[1, 0], [0, 1]], category_graph=[[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="category_graph"):
        assign([[1.0, 1.0]], solution)
    assert assign([[1.0, 1.0]], solution.Z).shape == (1, 2)


# --- the path over lam


def along(way):
    """Lams everywhere, and close to every breakpoint."""
    ends = way.lams[np.isfinite(way.lams) & (way.lams > 0)]
    lams = np.concatenate([10.0 ** np.linspace(-9, 9, 200), ends, ends * (1 + 1e-7), ends * (1 - 1e-7)])
    return np.sort(lams)[::-1]


@given(items())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_path_is_the_projection_everywhere(item):
    zbar, g, degree = item
    way = path([degree], zbar[None], g)
    lams = along(way)
    expected = project(zbar + (g - g.max()) / (2 * degree * lams[:, None]))
    np.testing.assert_allclose(way(lams), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(way(np.inf), zbar, rtol=0, atol=1e-12)
    np.testing.assert_allclose(way.assignments[0], zbar, rtol=0, atol=1e-12)
    pulls = way.gammas[:, None] * g
    sums = np.maximum(zbar + pulls - way.thresholds[:, None], 0.0)
    assert (np.abs(sums - way.assignments) <= 1e-9 * (1 + np.abs(pulls).max(axis=1, keepdims=True))).all()


@given(items())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_breakpoints_are_all_there_and_none_too_many(item):
    zbar, g, degree = item
    way = path([degree], zbar[None], g)
    Z, gammas = way.assignments, way.gammas
    assert Z.shape == (len(way.lams), len(g)) == (len(gammas), len(g))
    assert len(gammas) <= len(g)
    assert way.lams[0] == np.inf
    assert gammas[0] == 0
    assert (np.diff(way.lams) < 0).all()
    np.testing.assert_allclose(way.lams[1:], 0.5 / (degree * gammas[1:]))
    for i in range(len(gammas) - 1):
        middle = (gammas[i] + gammas[i + 1]) / 2
        straight = project((zbar + middle * (g - g.max()))[None])[0]
        np.testing.assert_allclose((Z[i] + Z[i + 1]) / 2, straight, rtol=0, atol=1e-9)
        gone = straight[Z[i + 1] == 0]
        assert (gone > 0).any(), "a breakpoint is where a category reaches zero"
        assert (straight[(Z[1 : i + 1] == 0).any(axis=0)] <= 1e-9).all(), "what has left stays away"


@given(items())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_top_category_along_the_path(item):
    zbar, g, degree = item
    way = path([degree], zbar[None], g)
    starts = np.array([lam for lam, _ in way.tops])
    assert starts[0] == np.inf
    assert (np.diff(starts) <= 0).all()
    for lam in along(way):
        top = way.tops[np.flatnonzero(starts >= lam)[-1]][1]
        v = zbar + (g - g.max()) / (2 * degree * lam)
        assert v[top] >= v.max() - 1e-6 * max(1.0, abs(v[top]))
    assert g[way.tops[-1][1]] == g.max()


@given(items())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_end_of_the_path_is_the_limit(item):
    """Tied affinities: the mean of the neighbours on them, projected."""
    zbar, g, degree = item
    best = g == g.max()
    limit = np.zeros_like(zbar)
    limit[best] = project(zbar[best][None])[0]
    way = path([degree], zbar[None], g)
    np.testing.assert_allclose(way(0.0), limit, rtol=0, atol=1e-9)
    np.testing.assert_allclose(way.assignments[-1], limit, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["any", "even", "tied", "few"])
def test_path_with_a_thousand_categories(kind):
    rng = np.random.default_rng(3)
    K = 1000
    zbar, g = rng.dirichlet(np.ones(K)), rng.normal(size=K)
    if kind in ("even", "tied"):
        zbar[:] = 1 / K
    if kind == "tied":
        g = rng.integers(-1, 2, K).astype(float)
    if kind == "few":
        zbar[30:] = 0.0
        zbar /= zbar.sum()
    way = path([2.0], zbar[None], g)
    lams = np.concatenate([10.0 ** np.linspace(-5, 5, 50), way.lams[1::17]])
    expected = project(zbar + g / (4 * lams[:, None]))
    np.testing.assert_allclose(way(lams), expected, rtol=0, atol=1e-9)


def test_path_of_an_item_without_neighbours():
    way = path([0.0, 0.0], EYE, [1.0, 2.0])
    assert way.lams.tolist() == [np.inf]
    assert way.tops == [(np.inf, 1)]
    np.testing.assert_allclose(way([0.0, 1.0, np.inf]), [[0, 1]] * 3)


def test_path_takes_one_lam_or_many():
    way = path([1.0, 1.0], EYE, [1.0, 0.0])
    assert way(0.3).shape == (2,)
    assert way([0.3]).shape == (1, 2)
    assert way([]).shape == (0, 2)
    for bad in (-1.0, np.nan, [[1.0]], "a"):
        with pytest.raises(ValueError, match="lam must be"):
            way(bad)


@given(seeds)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_what_if_is_the_map(seed):
    rng = np.random.default_rng(seed)
    Z, w = known_items(rng, 6, 4), new_weights(rng, 1, 6)[0]
    item = NewItem(sp.csr_array(w[None]), Z)
    np.testing.assert_allclose(item.zbar, w @ Z / w.sum(), rtol=0, atol=1e-14)
    assert item.degree == pytest.approx(w.sum())
    for _ in range(3):
        g, lam, p = rng.normal(size=4), 10.0 ** rng.uniform(-2, 1), rng.normal(size=4) / 9
        expected = mapped(w[None], Z, g[None], lam)[0]
        np.testing.assert_allclose(item.at(g, lam), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(item.at(sp.csr_array(g[None]), lam), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(item.path(g)(lam), expected, rtol=0, atol=1e-12)
        moved = mapped(w[None], Z, g[None], lam, p)[0]
        np.testing.assert_allclose(item.at(g, lam, shift=p), moved, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("w", "g", "message"),
    [
        ([[1.0, 1.0], [1.0, 1.0]], [1.0, 0.0], "w must be the weights of one item"),
        ([1.0, 1.0], [1.0], "g must be 2 finite numbers"),
        ([1.0, 1.0], [1.0, np.nan], "g must be 2 finite numbers"),
        ([1.0, 1.0], [1e308, -1e308], "g must not spread"),
        ([1.0, -1.0], [1.0, 0.0], "found -1 at row 0, column 1"),
        ([1.0, 1.0, 1.0], [1.0, 0.0], "one column a known item"),
    ],
)
def test_bad_items(w, g, message):
    with pytest.raises(ValueError, match=message):
        path(w, EYE, g)


# --- all maps when the solution is not unique


def sliding(rng, K, spare=0, N=7):
    """A solution that is not unique: balanced affinities at a large lam; ``spare`` categories have none."""
    G = np.zeros((N, K + spare))
    for k, n in enumerate(rng.permutation(N)[:K]):
        G[n, k] = 1.0
    solution = lass.solve(random_graph(rng, N, "path"), G, 20.0, tol=1e-13)
    assert not solution.uniqueness().unique
    return solution


def slides(rng, solution, count=4000):
    """Many p with Z + 1 p' optimal: inside, and at the corners."""
    room, gains = solution.Z.min(axis=0), np.asarray(solution.problem.G.sum(axis=0)).ravel()
    room[room < 1e-9] = 0.0
    free = np.flatnonzero(gains == gains.max())
    shares = np.vstack([rng.dirichlet(np.full(len(free), a), count) for a in (0.2, 1.0, 4.0)])
    P = np.zeros((len(shares) + len(free), len(room)))
    P[: len(shares), free] = shares * room.sum()
    P[len(shares) + np.arange(len(free)), free] = room.sum()
    P -= room
    assert np.abs(P @ gains).max() < 1e-9
    best = solution.objective
    assert solution.problem.objective(solution.Z + P[0]) == pytest.approx(best, abs=1e-9)
    return P


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("lam", [0.1, 1.0, np.inf])
def test_spread_against_many_solutions(seed, lam):
    rng = np.random.default_rng(seed)
    solution = sliding(rng, 2 + seed % 2, spare=seed % 3 == 0)
    Z, K = solution.Z, solution.problem.K
    w, g = new_weights(rng, 1, len(Z))[0], rng.normal(size=K)
    found = spread(w, solution, g, lam)
    v = w @ Z / w.sum() + (0.0 if lam == np.inf else g / (2 * lam * w.sum()))
    maps = project(v + slides(rng, solution))
    np.testing.assert_allclose(found.assignment, project(v[None])[0], rtol=0, atol=1e-9)
    assert (maps >= found.bounds[:, 0] - 1e-8).all()
    assert (maps <= found.bounds[:, 1] + 1e-8).all()
    np.testing.assert_allclose(maps.min(axis=0), found.bounds[:, 0], rtol=0, atol=2e-3)
    np.testing.assert_allclose(maps.max(axis=0), found.bounds[:, 1], rtol=0, atol=2e-3)
    ahead = (maps - maps[:, [int(v.argmax())]]).max(axis=0)
    for k in np.flatnonzero(np.abs(ahead) > 1e-2):
        assert (k in found.rivals) == (ahead[k] > 0)


def test_spread_counts_only_the_weight_that_slides():
    """One neighbour in a component that slides, one in a component that does not."""
    W = np.kron(np.eye(2), [[0, 1], [1, 0]])
    solution = lass.solve(W, [[1, 0], [0, 1], [1, 0], [0, 0]], 1.0, tol=1e-13)
    whole = spread([1.0, 1.0, 0, 0], solution).bounds
    half = spread([1.0, 1.0, 2.0, 0], solution).bounds
    np.testing.assert_allclose(whole, [[0.125, 0.875], [0.125, 0.875]], atol=1e-8)
    np.testing.assert_allclose(half[0], 0.5 + whole[0] / 2, atol=1e-8)
    sure = spread([0, 0, 1.0, 0], solution)
    np.testing.assert_allclose(sure.bounds, [[1, 1], [0, 0]], atol=1e-8)
    assert not len(sure.rivals)


def test_spread_where_the_solution_does_not_count():
    solution = sliding(np.random.default_rng(0), 3)
    nothing, alone = np.zeros(7), np.ones(7)
    for found in (spread(nothing, solution, [3, 1, 2]), spread(alone, solution, [3, 1, 2], lam=0)):
        np.testing.assert_allclose(found.bounds, [[1, 1], [0, 0], [0, 0]])


def test_spread_over_several_sliding_components_is_refused():
    solution = lass.solve(np.kron(np.eye(2), [[0, 1], [1, 0]]), np.kron(np.ones((2, 1)), EYE), 1.0, tol=1e-13)
    with pytest.raises(ValueError, match="2 components"):
        spread(np.ones(4), solution)
