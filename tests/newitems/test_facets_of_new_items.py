"""Assign, path and explain where categories are in facets: each facet as if it were alone."""

import numpy as np
import pytest

import lass
from example_problems import grid

FACETS = np.array([4, 9, 4, 2, 9, 4, 9])
COLUMNS = [[3], [0, 2, 5], [1, 4, 6]]


def solved(none=False, **options):
    rng = np.random.default_rng(0)
    G = np.zeros((64, 7))
    rows = np.flatnonzero(rng.random(64) < 0.5)
    G[rows, rng.integers(7, size=len(rows))] = 1.0
    return lass.solve(grid(8), G, 0.7, facets=FACETS, none=none, tol=1e-9, **options)


def new_items(seed=1):
    rng = np.random.default_rng(seed)
    W = rng.random((5, 64)) * (rng.random((5, 64)) < 0.1)
    return W, rng.normal(size=(5, 7))


@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize("lam", [0.0, 0.3, np.inf])
def test_assign_and_path_are_those_of_each_facet(none, lam):
    sol = solved(none)
    W, G = new_items()
    Z = lass.assign(W, sol, G, lam)
    np.testing.assert_allclose(lass.assign(W, sol.Z, G, lam, facets=FACETS, none=none), Z, atol=1e-12)
    way = lass.path(W[0], sol, G[0])
    other = lass.path(W[0], sol.Z, G[0], facets=FACETS, none=none)
    np.testing.assert_allclose(way.assignments, other.assignments, atol=1e-9)
    assert way.lams[0] == np.inf
    assert (np.diff(way.lams) < 0).all()
    if lam > 0:
        np.testing.assert_allclose(way(lam), Z[0], atol=1e-12)
    np.testing.assert_array_equal(way([lam, 1.0])[0], way(lam))
    for f, columns in enumerate(COLUMNS):
        g = np.hstack([G[:, columns], np.zeros((5, 1))]) if sol.facets.none[f] else G[:, columns]
        alone = lass.assign(W, sol.parts[f], g, lam)
        np.testing.assert_array_equal(Z[:, columns], alone[:, : len(columns)])
        lams, tops = zip(*way.tops[f], strict=True)
        assert list(lams) == [top for top, _ in lass.path(W[0], sol.parts[f], g[0]).tops]
        assert set(tops) <= {*columns, 7 + f}


def test_sparse_facets_stay_sparse():
    sol, W, G = solved(), *new_items()
    sparse = sol.to_sparse()
    found = lass.assign(W, sparse, G)
    assert isinstance(found, lass.FacetAssignments)
    np.testing.assert_allclose(found.to_dense(), lass.assign(W, sol, G), atol=1e-12)
    np.testing.assert_allclose(lass.assign(W, sparse.Z, G).to_dense(), found.to_dense())
    np.testing.assert_allclose(
        lass.path(W[0], sparse, G[0])(0.5), lass.path(W[0], sol, G[0])(0.5), atol=1e-12
    )


def test_shifts_go_to_their_facets():
    sol, W, G = solved(none=True), *new_items()
    shift = np.linspace(-0.2, 0.2, 7)
    Z = lass.assign(W, sol, G, shift=shift)
    alone = lass.assign(W, sol.parts[0], np.c_[G[:, 3], np.zeros(5)], shift=[shift[3], 0.0])
    np.testing.assert_array_equal(Z[:, 3], alone[:, 0])


def test_parts_of_an_explanation_add_up_in_every_facet():
    sol = solved()
    n = int(np.flatnonzero(sol.parts[1].problem.G.toarray().any(axis=1))[0])
    found = lass.explain(sol, n)
    assert found.residual < 1e-4
    np.testing.assert_array_equal(found.assignment[:7], sol.Z[n])
    np.testing.assert_array_equal(found.assignment[7:], sol.none[n])
    assert list(found.facets) == [2, 4, 9]
    one = found.facets[4]
    assert set(one.categories.tolist()) <= set(COLUMNS[1])
    assert {term.category for term in one.affinities} <= set(COLUMNS[1])
    assert one.affinities
    assert str(found).startswith(f"facet 2, item {n}")
    # what if: the item had tag 6, and the category "none of these" of the first facet, which is number 7
    other = lass.explain(sol, n, [6, 7], affinities=np.eye(7)[6] * 50)
    assert list(other.facets) == [2, 9]
    assert other.facets[9].categories.tolist() == [6]
    assert other.assignment[6] == 1.0
    assert other.facets[2].categories.tolist() == [7]
    assert list(lass.explain(sol, n, facets=[9]).facets) == [9]


def test_bad_input_is_one_clear_error():
    sol, (W, G) = solved(), new_items()
    plain = lass.solve(grid(8), np.eye(64)[:, :7])
    for message, call in {
        "facets must have one number a category": lambda: lass.assign(W, sol.Z, G, facets=[0, 1]),
        "facets must be whole numbers": lambda: lass.path(W[0], sol.Z, G[0], facets=FACETS + 0.5),
        "facets and none are known from Z": lambda: lass.assign(W, sol, G, facets=FACETS),
        "none is for facets": lambda: lass.assign(W, plain, G, none=True),
        "facets do not go with sparse": lambda: lass.assign(W, plain.to_sparse(), G, facets=FACETS),
        "Z must hold rows >= 0": lambda: lass.assign(W, plain.Z, G, facets=FACETS),
        "shift must be 7 finite": lambda: lass.assign(W, sol, G, shift=[1.0]),
        "G_new must have shape": lambda: lass.assign(W, sol, G[:, :3]),
        "W_new must have one column": lambda: lass.assign(W[:, :3], sol, G),
        "g must be 7 finite": lambda: lass.path(W[0], sol, G[0] * np.nan),
        "facets are those of a FacetSolution": lambda: lass.explain(plain, 0, facets=[1]),
        "facets must be among": lambda: lass.explain(sol, 0, facets=[1]),
        "category must be a whole number from 0 to 9": lambda: lass.explain(sol, 0, [10]),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()
