"""Facets: against an independent oracle, against a solve of each facet by itself, and by invariances."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from example_problems import grid
from oracle import AFFINITIES, GRAPHS, Case, check_against_oracle, random_affinities, random_graph


def facet_case(case, facets, none, f):
    """The problem of one facet, written out."""
    columns = np.flatnonzero(facets == f)
    G = case.G[:, columns]
    if none or len(columns) == 1:
        G = np.hstack([G, np.zeros((len(G), 1))])
    return columns, Case(case.W, G, case.lam, case.options)


@st.composite
def facet_cases(draw, most=6):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    N, K = draw(st.integers(1, most), label="N"), draw(st.integers(1, 7), label="K")
    W = random_graph(rng, N, draw(st.sampled_from(GRAPHS), label="graph"))
    G = random_affinities(rng, N, K, draw(st.sampled_from(AFFINITIES), label="affinities"))
    options = draw(st.sampled_from(({}, {}, {"ridge": 0.1}, {"laplacian": "normalized"})), label="options")
    case = Case(W, G, 10.0 ** draw(st.integers(-2, 2), label="decade"), options)
    facets = rng.integers(0, draw(st.integers(1, 3), label="facets"), K)
    return case, facets, draw(st.booleans(), label="none")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(facet_cases())
def test_every_facet_against_the_oracle(example):
    case, facets, none = example
    sol = lass.solve(case.W, case.G, case.lam, facets=facets, none=none, tol=1e-8, **case.options)
    names = np.unique(facets)
    assert sol.facets.names.tolist() == names.tolist()
    assert sol.Z.shape == case.G.shape
    assert sol.none.shape == (len(case.G), len(names))
    for f, part in enumerate(sol.parts):
        columns, alone = facet_case(case, facets, none, names[f])
        check_against_oracle(part, alone)
        np.testing.assert_array_equal(sol.Z[:, columns], part.Z[:, : len(columns)])
        np.testing.assert_allclose(sol.Z[:, columns].sum(axis=1) + sol.none[:, f], 1.0, atol=1e-12)
    assert sol.objective == pytest.approx(sum(part.objective for part in sol.parts))
    gaps = sum(part.gap for part in sol.parts)  # and what the sum of the objectives was rounded
    assert gaps * (1 - 1e-15) <= sol.gap <= gaps * (1 + 1e-15) + 2**-53 * abs(sol.objective)


def labelled(side=14, K=7, seed=0):
    rng = np.random.default_rng(seed)
    G = np.zeros((side * side, K))
    rows = np.flatnonzero(rng.random(len(G)) < 0.3)
    G[rows, rng.integers(K, size=len(rows))] = 1.0
    G[rows[::3], rng.integers(K, size=len(rows[::3]))] -= 1.0
    return grid(side), G


FACETS = np.array([4, 9, 4, 2, 9, 4, 9])


def test_facets_together_are_facets_apart():
    W, G = labelled()
    sol = lass.solve(W, G, 0.7, facets=FACETS)
    assert sol.converged
    assert sol.facets.none.tolist() == [True, False, False]
    for f, name in enumerate([2, 4, 9]):
        columns, alone = facet_case(Case(W, G, 0.7), FACETS, False, name)
        apart = lass.solve(W, alone.G, 0.7)
        np.testing.assert_array_equal(sol.Z[:, columns], apart.Z[:, : len(columns)])
        assert sol.parts[f].gap == apart.gap
        assert sol.parts[f].problem.quadratic is sol.parts[0].problem.quadratic


def test_one_facet_is_a_plain_solve():
    W, G = labelled()
    sol, plain = lass.solve(W, G, 0.7, facets=np.zeros(7)), lass.solve(W, G, 0.7)
    np.testing.assert_array_equal(sol.Z, plain.Z)
    for name in ("objective", "gap", "relative_gap", "n_iter", "converged"):
        assert getattr(sol, name) == getattr(plain, name), name
    np.testing.assert_array_equal(sol.multipliers()[0][:, 0], plain.multipliers()[0])
    np.testing.assert_array_equal(sol.multipliers()[1], plain.multipliers()[1])
    assert sol.kkt() == plain.kkt()
    assert sol.uniqueness()[0].unique == plain.uniqueness().unique
    np.testing.assert_array_equal(sol.crowd(), plain.crowd())
    assert not sol.none.any()
    assert plain.method in sol.method


def test_permuting_categories_with_their_facets_permutes_the_answer():
    W, G = labelled()
    order = np.random.default_rng(1).permutation(7)
    sol = lass.solve(W, G, 0.7, facets=FACETS, tol=1e-8)
    other = lass.solve(W, G[:, order], 0.7, facets=FACETS[order], tol=1e-8)
    np.testing.assert_allclose(other.Z, sol.Z[:, order], atol=1e-5)
    renamed = lass.solve(W, G, 0.7, facets=-FACETS, tol=1e-8)
    np.testing.assert_array_equal(renamed.Z, sol.Z)
    np.testing.assert_array_equal(renamed.none, sol.none[:, ::-1])


def test_a_constant_within_a_facet_changes_nothing_unless_it_has_none_of_these():
    W, G = labelled()
    added = G + np.where(FACETS == 4, 0.5, 0.0)
    sol, other = lass.solve(W, G, 0.7, facets=FACETS), lass.solve(W, added, 0.7, facets=FACETS)
    np.testing.assert_allclose(other.Z, sol.Z, atol=1e-3)
    with_none = lass.solve(W, added, 0.7, facets=FACETS, none=True)
    assert with_none.none[:, 1].mean() < lass.solve(W, G, 0.7, facets=FACETS, none=True).none[:, 1].mean()


def test_multipliers_satisfy_the_conditions_of_optimality():
    W, G = labelled()
    sol = lass.solve(W, G, 0.7, facets=FACETS, none=True, tol=1e-10)
    pi, M = sol.multipliers()
    assert (pi.shape, M.shape) == ((len(G), 3), G.shape)
    L = np.diag(np.asarray(W.sum(axis=1)).ravel()) - W.toarray()
    place = np.searchsorted([2, 4, 9], FACETS)
    np.testing.assert_allclose(1.4 * L @ sol.Z - G, pi[:, place] + M, atol=1e-10)
    assert M.min() >= 0.0
    assert max(sol.kkt().values()) < 1e-4


def test_the_sparse_form_is_the_dense_one():
    W, G = labelled()
    dense = lass.solve(W, G, 0.7, facets=FACETS, tol=1e-8)
    sparse = lass.solve(W, sp.csr_array(G), 0.7, facets=FACETS, tol=1e-8, output="sparse")
    assert isinstance(sparse.Z, lass.FacetAssignments)
    assert (sparse.Z.shape, len(sparse.Z)) == (G.shape, len(G))
    np.testing.assert_allclose(sparse.Z.to_dense(), dense.Z, atol=1e-3)
    np.testing.assert_allclose(sparse.none, dense.none, atol=1e-3)
    np.testing.assert_array_equal(sparse.Z[5], sparse.Z.to_dense()[5])
    np.testing.assert_array_equal(sparse.dense().Z, sparse.Z.to_dense())
    np.testing.assert_allclose(dense.to_sparse().Z.to_dense(), dense.Z, atol=1e-12)
    np.testing.assert_allclose(sparse.crowd().to_dense(), dense.crowd(), atol=1e-3)
    with pytest.raises(ValueError, match="not made dense by themselves"):
        np.asarray(sparse.Z)
    again = lass.solve(W, G, 0.7, facets=FACETS, start=sparse)
    assert isinstance(again.Z, lass.FacetAssignments)
    assert "FacetAssignments(196 items, 3 facets" in repr(sparse.Z)


def test_the_largest_categories_of_sparse_facets():
    W, G = labelled()
    Z = lass.solve(W, G, 0.7, facets=FACETS, none=True, output="sparse").Z
    dense, numbers = Z.to_dense(), np.arange(7)
    for k in (1, 3, 7):
        best, shares = Z.top(k)
        order = np.lexsort((np.broadcast_to(numbers, dense.shape), -dense))[:, :k]
        np.testing.assert_array_equal(best, order)
        np.testing.assert_array_equal(shares, np.take_along_axis(dense, order, axis=1))
    largest = Z.largest()
    assert largest.shape == (196, 3)
    every = np.hstack([dense, 1.0 - np.stack([dense[:, f == FACETS].sum(axis=1) for f in (2, 4, 9)], axis=1)])
    for f, name in enumerate((2, 4, 9)):
        own = [*np.flatnonzero(name == FACETS), 7 + f]
        values = np.take_along_axis(every, largest[:, [f]], axis=1)
        np.testing.assert_allclose(values[:, 0], every[:, own].max(axis=1), atol=1e-12)
        assert set(largest[:, f].tolist()) <= set(own)
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 7"):
        Z.top(8)


def test_what_does_not_fit_into_memory_is_sparse(monkeypatch):
    W, G = labelled()
    monkeypatch.setenv("LASS_MEMORY_GIB", "1e-5")
    assert isinstance(lass.solve(W, G, 0.7, facets=FACETS).Z, lass.FacetAssignments)


def test_an_update_solves_only_the_facets_that_changed():
    W, G = labelled()
    sol = lass.solve(W, G, 0.7, facets=FACETS)
    changed = G.copy()
    changed[3] = [0, 2.0, 0, 0, 0, 0, 0]
    changed[:, FACETS != 9] = G[:, FACETS != 9]
    for update in (sol.update(G=changed), sol.update(G={(3, 1): 2.0, (3, 4): 0.0, (3, 6): 0.0})):
        assert update.parts[0] is sol.parts[0]
        assert update.parts[1] is sol.parts[1]
        assert update.parts[2] is not sol.parts[2]
        assert update.parts[2].problem.operator is sol.parts[0].problem.operator
        np.testing.assert_allclose(update.Z, lass.solve(W, changed, 0.7, facets=FACETS).Z, atol=2e-4)
    fixed = sol.update(fixed={7: 3})
    assert [one is other for one, other in zip(fixed.parts, sol.parts, strict=True)] == [False, True, True]
    assert fixed.Z[7, 3] == 1.0
    assert fixed.update(fixed={7: 3}).parts == fixed.parts
    free = fixed.update(fixed={})
    np.testing.assert_allclose(free.Z, sol.Z, atol=2e-4)
    heavy = sol.update(lam=3.0)
    np.testing.assert_allclose(heavy.Z, lass.solve(W, G, 3.0, facets=FACETS).Z, atol=2e-4)
    assert sol.update().parts == sol.parts
    finer = sol.update(tol=1e-9)
    assert finer.converged
    assert finer.tol == 1e-9
    assert finer.relative_gap <= 1e-9
    with pytest.raises(ValueError, match="G must keep its shape"):
        sol.update(G=G[:, :3])
    with pytest.raises(ValueError, match="G must name"):
        sol.update(G={(3, 7): 1.0})
    with pytest.raises(ValueError, match="facet 2: lam must be"):
        sol.update(lam=-1)


def test_fixed_rows_and_priors_hold_within_their_facets():
    W, G = labelled()
    row = np.array([0.25, np.nan, 0.5, 0.75, np.nan, 0.25, np.nan])
    prior = np.array([0.2, 0.5, 0.3, np.nan, 0.1, 0.5, 0.4])
    sol = lass.solve(W, G, 0.7, facets=FACETS, fixed={3: row, 8: 1}, prior=prior)
    inside = ~np.isnan(row)
    np.testing.assert_allclose(sol.Z[3, inside], row[inside], atol=1e-15)
    assert sol.none[3, 0] == pytest.approx(0.25)
    np.testing.assert_allclose(sol.Z[8, FACETS == 9], [1, 0, 0])
    assert sol.parts[1].problem.fixed_rows.tolist() == [3]
    assert sol.parts[2].problem.fixed_rows.tolist() == [8]
    held = ~np.isnan(prior)
    np.testing.assert_allclose(sol.Z.mean(axis=0)[held], prior[held], atol=1e-6)
    assert sol.shift.shape == (7,)
    with_none = lass.solve(W, G, 0.7, facets=FACETS, none=True, prior=prior * 0.5)
    np.testing.assert_allclose(with_none.Z.mean(axis=0)[held], prior[held] * 0.5, atol=1e-6)
    both = lass.solve(W, G, 0.7, facets=FACETS, fixed=([3, 3], [0, 1]))
    assert both.Z[3, [0, 1]].tolist() == [1.0, 1.0]


def test_starts_of_every_form():
    W, G = labelled()
    sol = lass.solve(W, G, 0.7, facets=FACETS, none=True)
    for start in (sol, sol.Z, lass.solve(W, G, 0.7)):
        found = lass.solve(W, G, 0.7, facets=FACETS, none=True, start=start)
        np.testing.assert_allclose(found.Z, sol.Z, atol=2e-4)
    assert lass.solve(W, G, 0.7, facets=FACETS, none=True, start=sol, max_iter=0).gap == pytest.approx(
        sol.gap
    )
    sparse = sol.to_sparse()
    with pytest.raises(ValueError, match="start must have the same facets"):
        lass.solve(W, G, 0.7, facets=FACETS[::-1], start=sparse)
    other = lass.solve(W, G, 0.7, facets=FACETS[::-1], start=sol)
    assert other.converged


@pytest.mark.parametrize("output", ["dense", "sparse"])
def test_files(tmp_path, output):
    W, G = labelled()
    sol = lass.solve(W, G, 0.7, facets=FACETS, output=output, none=True, fixed={3: 1})
    sol.save(tmp_path / "facets.npz")
    back = lass.FacetSolution.load(tmp_path / "facets.npz")
    dense = [one.Z if output == "dense" else one.Z.to_dense() for one in (sol, back)]
    np.testing.assert_array_equal(*dense)
    for name in ("objective", "tol", "n_iter", "converged", "method", "seconds"):
        assert getattr(back, name) == getattr(sol, name), name
    assert back.gap == pytest.approx(sol.gap)
    assert back.facets.same(sol.facets)
    assert back.parts[1].problem.quadratic is back.parts[0].problem.quadratic
    assert back.update(G={(0, 1): 3.0}).converged
    with np.load(tmp_path / "facets.npz") as file:
        arrays = dict(file)
    for name, value in (
        ("none", np.array([False, True, True])),
        ("none", np.array([True])),
        ("facets", np.array([2.5] * 7)),
        ("facets", FACETS[:5]),
        ("W_data", arrays["W_data"] * np.nan),
        ("1_lam", np.array(-1.0)),
        ("n_iter", np.array("x")),
    ):
        np.savez(tmp_path / "bad.npz", **(arrays | {name: value}))
        with pytest.raises(ValueError, match="is not a saved FacetSolution"):
            lass.FacetSolution.load(tmp_path / "bad.npz")
    lass.solve(W, G, 0.7).save(tmp_path / "plain.npz")
    with pytest.raises(ValueError, match="is not a saved FacetSolution"):
        lass.FacetSolution.load(tmp_path / "plain.npz")


def test_stopping_early_is_said_once_and_the_gap_holds():
    W, G = labelled()
    with pytest.warns(lass.ConvergenceWarning, match="stopped at relative gap") as warned:
        short = lass.solve(W, G, 10.0, facets=FACETS, tol=1e-9, max_iter=2)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    full = lass.solve(W, G, 10.0, facets=FACETS, tol=1e-9)
    assert not short.converged
    assert 0 <= short.objective - full.objective <= short.gap
    assert short.update().converged
    with pytest.warns(lass.ConvergenceWarning, match="interrupted"):
        stopped = lass.solve(W, G, 10.0, facets=FACETS, tol=1e-9, callback=lambda step: True)
    assert stopped.interrupted
    assert stopped.objective - full.objective <= stopped.gap
    assert repr(full).startswith("FacetSolution(196 x 7 in 3 facets, converged")


@pytest.mark.parametrize(
    "how", [{"method": "admm"}, {"method": "reduced"}, {"engine": lass.distributed.Partitions(2)}], ids=str
)
def test_methods_and_engines_solve_facets(how):
    W, G = labelled(6)
    sol, other = lass.solve(W, G, 0.7, facets=FACETS), lass.solve(W, G, 0.7, facets=FACETS, tol=1e-7, **how)
    assert other.converged
    assert other.objective == pytest.approx(sol.objective, abs=1e-4 * sol.stake)
    assert other.update(lam=0.5).converged


def test_negative_weights_have_no_certificate():
    W, G = labelled(6)
    W = W.toarray()
    W[0, 1] = W[1, 0] = -0.2
    sol = lass.solve(W, G, 0.7, facets=FACETS, negative_weights=True)
    assert math.isnan(sol.gap)
    assert sol.converged


def test_limits_of_lam():
    W, G = labelled()
    crowd = lass.solve(W, G, math.inf, facets=FACETS)
    for f, part in enumerate(crowd.parts):
        assert np.ptp(part.Z, axis=0).max() == 0.0, f
    expert = lass.solve(W, G, 0.0, facets=FACETS)
    assert expert.Z[G > 0].min() == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"facets": [0, 1]}, "facets must have one number a category, 7; found shape"),
        ({"facets": np.zeros((7, 1))}, "facets must have one number a category, 7; found shape"),
        (
            {"facets": [0, 0, 0.5, 1, 1, 1, 1]},
            "facets must be whole numbers below 2\\^53; found 0.5 for category 2",
        ),
        (
            {"facets": [0, 0, np.nan, 1, 1, 1, 1]},
            "facets must be whole numbers below 2\\^53; found nan for category 2",
        ),
        ({"facets": [0, 0, 1e300, 1, 1, 1, 1]}, "facets must be whole numbers below .* found 1e.300"),
        ({"facets": list("aabbccd")}, "facets must be whole numbers, one a category"),
        ({"facets": [[0], [0, 1]]}, "facets must be whole numbers, one a category"),
        ({"none": "yes"}, "none must be True or False"),
        ({"facets": None, "none": True}, "none is for facets"),
        ({"category_graph": np.ones((7, 7))}, "category_graph does not go with facets"),
        ({"G": lambda G: G * np.nan}, "G must be finite"),
        ({"W": lambda W: W * np.nan}, "W must be finite"),
        ({"W": lambda W: sp.triu(W, format="csr")}, "W must be symmetric"),
        ({"lam": -1}, "lam must be a number"),
        ({"fixed": {0: [1, 0]}}, r"fixed\[0\] must have one number a category, 7"),
        ({"fixed": {0: 7}}, r"fixed\[0\] must be a row of 7 numbers or a category from 0 to 6"),
        ({"fixed": {0: [1, 1, 0, 0, 0.5, 0, 0]}}, "must be numbers >= 0 that sum to one within facet 9"),
        (
            {"fixed": {0: [1, 1, 0, 2, 0, 0, 0]}},
            "must be numbers >= 0 that sum to one at most within facet 2",
        ),
        ({"fixed": {999: 0}}, "facet 4: fixed must name items by numbers"),
        ({"fixed": ([1, 1], [0, 2])}, "facet 4: fixed names an item twice"),
        ({"fixed": 3}, "fixed must be a mapping"),
        ({"prior": [1.0]}, "prior must have one number a category"),
        ({"prior": np.full(7, 0.9)}, "prior must be numbers >= 0 that sum to one within facet 4"),
        ({"start": np.zeros((2, 2))}, "start must be a FacetSolution or finite numbers"),
        ({"start": "words"}, "start must be an array of numbers"),
        ({"tol": -1}, "tol must be a number"),
        ({"method": "magic"}, "method"),
        ({"output": "wide"}, "output must be"),
    ],
)
def test_bad_input_is_one_clear_error(change, message):
    W, G = labelled(4)
    arguments = {"W": W, "G": G, "lam": 1.0, "facets": FACETS}
    for name, value in change.items():
        arguments[name] = value(arguments[name]) if callable(value) else value
    with pytest.raises(ValueError, match=message):
        lass.solve(**arguments)


def test_what_needs_one_problem_says_so(tmp_path):
    W, G = labelled(4)
    sol = lass.solve(W, G, 1.0, facets=FACETS)
    for use in (lass.influence, lass.sources, lass.flips):
        with pytest.raises(ValueError, match=r"pass solution.parts\[f\]"):
            use(sol, 0)
    with pytest.raises(ValueError, match=r"pass model.parts\[f\]"):
        lass.active.rank(sol)
    with pytest.raises(ValueError, match="found FacetSolution"):
        lass.spread(np.ones(len(G)), sol)
    with pytest.raises(ValueError, match="give its facets, too"):
        lass.solve(W, G, 1.0, start=sol)
    sol.save(tmp_path / "facets.npz")
    with pytest.raises(ValueError, match=r"use lass.FacetSolution.load"):
        lass.Solution.load(tmp_path / "facets.npz")
    with pytest.raises(ValueError, match="a Problem holds everything"):
        lass.solve(lass.Problem(W, G), facets=FACETS)
    engine = lass.distributed.Partitions(1, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="checkpoint of one problem"):
        lass.solve(W, G, facets=FACETS, engine=engine)


def test_explanations_name_none_of_these_where_a_facet_has_it():
    W, G = grid(2), np.zeros((4, 3))
    G[0], G[3] = [1, 0, 0], [0, 1, -1]
    sol = lass.solve(W, G, 0.2, facets=[0, 0, 1])
    shown = str(lass.explain(sol, 3))
    assert "none of these: 1.000" in shown
    assert "category 4" not in shown
    assert lass.explain(sol, 3, categories=[4]).facets[1].categories.tolist() == [4]
    with pytest.raises(ValueError, match=r"from 0 to 2, or 'none of these' of a facet that has it \(4\)"):
        lass.explain(sol, 3, categories=[3])  # facet 0 has no such category


def test_the_method_of_many_facets_is_short():
    W, G = labelled()
    sol = lass.solve(W, np.hstack([G, G[:, :4], np.abs(G)]), 1.0, facets=np.arange(18) // 3)
    assert len(sol.method) < 120
    assert str(len(sol.parts)) in sol.method
