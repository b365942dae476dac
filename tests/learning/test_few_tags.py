"""Scores from few tagged items: parts against dense algebra, and what people expect of the first tags."""

from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import lass
from lass.collection import AnnotationMatrix
from lass.learning.predictors import PREDICTORS, Weights
from lass.learning.predictors.affinities import WALKS, Affinities
from lass.learning.predictors.few_tags import FEW_ITEMS, FLOOR, MAX_TAGGED, PRIOR_ITEMS, START, FewTags
from lass.learning.predictors.prior import COEFFICIENTS, Prior, default_prior
from lass.learning.predictors.propagation import ALL_TAGS
from lass.learning.predictors.scoring import LEAST_SCORE, share_of_few
from lass.learning.predictors.voters import MEMBERS, MOST, find_voters, shares
from lass.tagging import TagSuggester, complete, with_scores
from lass.tagging.completion import ENOUGH_ITEMS, all_scores

PER = 10
#: items of three clear groups, one after the other
GROUP = np.repeat(np.arange(3), PER)


def three_groups(seed=0):
    """Points in three groups, with edges within each."""
    X = 4.0 * np.eye(3)[GROUP] + 0.6 * np.random.default_rng(seed).normal(size=(3 * PER, 3))
    return X, lass.knn_graph(X, 4)


def annotations(N, K, *stated):
    """Annotations (item, tag), or (item, tag, value)."""
    G = np.zeros((N, K))
    for n, k, *value in stated:
        G[n, k] = value[0] if value else 1.0
    return sp.csr_array(G)


def scored(W, G, features=None, **more):
    model = with_scores(complete(sp.csr_array(W), sp.csr_array(G), 0.5), features=features, **more)
    if model.scores is not None:
        values = values_of(model)
        assert values.shape == G.shape
        assert (values > 0).all() or not (sp.csr_array(G) > 0).sum(axis=0).all()  # of tags that an item has
        assert (values < 1).all()
        assert np.isfinite(model.scores.contributions.astype(np.float16)).all()  # as they are saved
    return model


def values_of(model):
    """The scores of all tags; of few tags all that are not negligible are stored."""
    G, stored = model.solution.problem.G, model.scores.values
    values = all_scores(model, np.arange(G.shape[0]))
    np.testing.assert_array_equal(values[stored.nonzero()], stored[stored.nonzero()])
    assert (stored.toarray()[values >= LEAST_SCORE] > 0).all() or G.shape[1] > ALL_TAGS
    return values


def suggested(model):
    """Pairs of item and tag, by number, the best of each item first."""
    G = model.solution.problem.G
    ids, names = ([str(n) for n in range(count)] for count in G.shape)
    found = TagSuggester(model, AnnotationMatrix(G, ids, names, number=1)).suggestions(top=G.shape[1])
    assert all(0 < row.strength < 1 for row in found)
    assert all((row.score is None) == (model.items_until_percentages > 0) for row in found)
    assert all(np.isfinite(list(row.because.values())).all() for row in found)
    return [(int(row.item), int(row.tag)) for row in found]


def random_graph(N, seed, parts=1):
    """A graph of so many components, each a ring with chords."""
    rng = np.random.default_rng(seed)
    W = np.zeros((N, N))
    for some in np.array_split(np.arange(N), parts):
        W[some, np.roll(some, 1)] = rng.uniform(0.2, 1.0, len(some))
        chords = rng.integers(len(some), size=(2, len(some)))
        W[some[chords[0]], some[chords[1]]] = rng.uniform(0.2, 1.0, len(some))
    W = W + W.T
    np.fill_diagonal(W, 0.0)
    return W


# --- the parts, against dense algebra ---


def test_affinities_are_visits_of_walks_and_cosines():
    W, X = random_graph(25, 0, parts=2), np.random.default_rng(1).normal(size=(25, 4))
    W[7], W[:, 7] = 0.0, 0.0
    items = np.array([3, 7, 20])
    found = Affinities(sp.csr_array(W), X).columns(items)
    degree, alone = W.sum(axis=1), np.eye(25)[:, 7]
    rest = np.flatnonzero(degree)
    for name, c in WALKS.items():
        visits = np.zeros((25, 25))
        inner = np.diag(degree[rest]) - c * W[np.ix_(rest, rest)]
        visits[np.ix_(rest, rest)] = np.linalg.inv(inner) @ np.diag(degree[rest])
        np.testing.assert_allclose(found[name][:, [0, 2]], visits[:, [3, 20]], rtol=2e-3, atol=1e-6)
        np.testing.assert_array_equal(found[name][:, 1], alone)  # without edges it visits only itself
    own = X - X.mean(axis=0)
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    np.testing.assert_allclose(found["own"], own @ own[items].T, atol=1e-5)
    P = np.diag(1.0 / np.where(degree > 0, degree, 1.0)) @ W
    near = own
    for _ in range(2):
        near = 0.4 * near + 0.6 * (P @ near)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    np.testing.assert_allclose(found["near"], near @ near[items].T, atol=1e-5)


def test_potential_is_almost_a_solution_of_the_poisson_equation():
    """Differences of the centred potential of two sources are those by the pseudo-inverse."""
    W = random_graph(30, 2)
    degree = W.sum(axis=1)
    found = Affinities(sp.csr_array(W), None).columns(np.array([4, 19]))["potential"].astype(float)
    potential = found[:, 0] / degree[4] - found[:, 1] / degree[19]
    exact = np.linalg.pinv(np.diag(degree) - W) @ (np.eye(30)[4] - np.eye(30)[19])
    np.testing.assert_allclose(potential - potential[0], exact - exact[0], atol=0.02 * np.ptp(exact))


def few_of(W, G, features=None, groups=None):
    W = sp.csr_array(W)
    return FewTags(
        Affinities(W, features), sp.csr_array(G), np.arange(W.shape[0]) if groups is None else groups
    )


def votes(few, name, rows):
    """What one predictor gives the tags, without the share of the frequencies."""
    f = few.T.sum(axis=0) / few.T.sum()
    shares = few.distributions(rows).shares[:, :, few.names.index(name)]
    return (shares - FLOOR * f) / (1.0 - FLOOR)


def example(parts=1):
    W = random_graph(40, 5, parts)
    return W, annotations(40, 3, (0, 0), (2, 0), (11, 1), (15, 2), (15, 1), (25, 0), (31, 2), (38, 1))


def test_class_mass_votes_are_harmonic_functions_scaled_to_the_frequencies():
    W, G = example()
    few = few_of(W, G)
    rest = np.setdiff1d(np.arange(40), few.items)
    T = G.toarray()[few.items]
    L = np.diag(W.sum(axis=1)) - W
    harmonic = np.linalg.solve(L[np.ix_(rest, rest)], W[np.ix_(rest, few.items)] @ T)
    frequency = T.mean(axis=0)
    surer = FEW_ITEMS / (40 + FEW_ITEMS)
    scaled = harmonic * frequency / ((1 - surer) * harmonic.mean(axis=0) + surer * frequency)
    expected = scaled / scaled.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(votes(few, "class_mass", rest), expected, atol=0.01)


def test_frequencies_that_sampling_explains_count_as_equal():
    """Where an item has one tag. A free constant would favour tags that a small sample has more of."""
    W = random_graph(40, 5)
    W[-1] = W[:, -1] = 0.0  # all that is known of it are the frequencies
    counts = [4, 1, 1, 1, 1]
    one = annotations(40, 5, *enumerate(np.repeat(np.arange(5), counts)))
    found = few_of(W, one).distributions(np.array([39])).shares[0]
    np.testing.assert_allclose(found, 0.2)
    several = one + annotations(40, 5, (0, 1))
    found = few_of(W, several).distributions(np.array([39])).shares[0]
    assert (found[0] > 1.5 * found[1]).all()


def test_tags_of_few_items_are_not_ranked_by_their_number():
    """Classes of one size, most tagged items in one of them: an item goes where it is nearest."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(6), 20)
    X = 2.0 * np.eye(6)[group] + rng.normal(size=(120, 6))
    G = annotations(120, 6, *((n, group[n]) for n in [0, 1, 2, 3, 20, 40, 60, 80, 100]))
    few = few_of(np.zeros((120, 120)), G, X)
    first = [votes(few, name, np.arange(120)).argmax(axis=1) for name in ("own_ridge", "own_vote")]
    assert max(np.mean(one == 0) for one in first) < 0.3


def test_votes_are_counted_in_other_components_by_features_alone():
    """Walks know nothing of an item that no edge leads to; features decide, whatever their weight."""
    X = np.random.default_rng(3).normal(size=(40, 3))
    few = few_of(random_graph(40, 5, parts=2), annotations(40, 2, (0, 0), (2, 1)), X)
    rest = np.arange(20, 40)
    found = few.distributions(rest)
    walks = [name in ("walk", "far_walk_squared", "class_mass", "near_walk") for name in few.names]
    assert not found.known[:, walks].any()
    own = X - X.mean(axis=0)
    nearer = np.argmax(own[rest] @ own[[0, 2]].T / np.linalg.norm(own[[0, 2]], axis=1), axis=1)
    weights = np.where(walks, 1.0, 1e-3 * (np.array(few.names) == "own_vote"))
    parts = found.parts(weights)
    np.testing.assert_allclose(parts.sum(axis=(1, 2)), 1.0, atol=1e-6)
    reached = found.known @ (weights * ~np.array(walks)) > 0
    assert reached.sum() > 10
    assert parts.sum(axis=2).argmax(axis=1)[reached].tolist() == nearer[reached].tolist()
    np.testing.assert_allclose(parts[~reached].sum(axis=2), 0.5, atol=1e-6)  # frequencies


def test_votes_in_loops():
    W, G = example()
    X = np.random.default_rng(3).normal(size=(40, 3))
    few = few_of(W, G, X)
    rest, T = np.setdiff1d(np.arange(40), few.items), G.toarray()[few.items]
    own = X - X.mean(axis=0)
    cosines = np.maximum(own @ own.T / np.outer(*[np.linalg.norm(own, axis=1)] * 2), 0.0)
    visits = np.linalg.inv(np.diag(W.sum(axis=1)) - WALKS["walk"] * W) @ np.diag(W.sum(axis=1))
    means = [np.delete(visits[:, item], item).mean() for item in few.items]
    surer = FEW_ITEMS / (40 + FEW_ITEMS)
    usual = [(1 - surer) * mean + surer * np.mean(means) for mean in means]
    for row, plain, relative_votes in zip(
        rest, votes(few, "own_vote", rest), votes(few, "walk", rest), strict=True
    ):
        expected = sum(cosines[row, item] * tags for item, tags in zip(few.items, T, strict=True))
        frequency = T.sum(axis=0) / T.sum()
        expected = expected / expected.sum() if expected.sum() else frequency
        np.testing.assert_allclose(plain, expected, atol=1e-4)
        relative = {place: visits[row, item] / usual[place] for place, item in enumerate(few.items)}
        expected = sum(value * T[place] for place, value in relative.items())
        np.testing.assert_allclose(relative_votes, expected / expected.sum(), atol=2e-3)


def test_one_more_tagged_item_is_seen_from_the_others_and_leaves_most_folds_alone():
    X, W = three_groups()
    stated = [(n, GROUP[n]) for n in range(1, 30)]
    sides = []
    for some in (stated, [(0, GROUP[0]), *stated]):
        few = few_of(W, annotations(30, 3, *some), X)
        folds = np.array(list(few.folds(np.arange(30)[few.items])))
        assert len(folds) == 12
        np.testing.assert_array_equal(folds.sum(axis=0), 1)
        sides.append(folds.argmax(axis=0)[-29:])
    assert (sides[0] != sides[1]).sum() <= 11  # one from each fold to the next


def test_the_mixture_is_that_of_largest_posterior_probability():
    X, W = three_groups()
    G = annotations(30, 4, *((n, GROUP[n]) for n in range(0, 30, 3)), (3, 3), (12, 3), (21, 3))
    few = few_of(W, G, X)
    pairs, each = [], []
    for out in few.folds(few.clusters):  # each tagged item seen from those of other folds
        known = few.T[~out].any(axis=0)
        shares = few.distributions(few.items[out], ~out).shares
        for place, tags in enumerate(few.T[out]):
            some = np.flatnonzero((tags > 0) & known)
            pairs += list(shares[place, some])
            each += [1.0 / len(some)] * len(some)
    S, weight, count = np.array(pairs), np.array(each), len(few.names)
    more = (10 - 2) / (10 + 4)
    start = np.array([np.polyval(START[name][::-1], more) for name in few.names])
    start /= start.sum()

    def loss(mixture):
        return -(weight @ np.log(S @ mixture) + PRIOR_ITEMS * start @ np.log(mixture))

    def unconstrained(x):
        return loss(np.exp(x) / np.exp(x).sum())

    best = minimize(unconstrained, np.zeros(count), method="BFGS", options={"gtol": 1e-8}).fun
    found = few.train()
    assert list(found) == few.names
    assert sum(found.values()) == pytest.approx(1.0)
    assert loss(start) - best > 0.01  # there was something to learn
    assert loss(np.array(list(found.values()))) - best < 0.02 * (loss(start) - best)


def test_log_odds_are_linear_in_the_logarithms():
    slope = dict(zip(COEFFICIENTS, (1.5, 1.2, 0.4, 0.1, 0.3, -0.2), strict=True))
    T = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]], float)
    found = Prior(slope).log_odds(np.array([[0.6, 0.3, 0.1]]), np.array([0.7]), T, np.ones(4))
    tags, shared = 5 / 4, 4 / 4  # an item has 1.25 tags, one of them also on another item
    known = (shared * 4 + 0.5) / 5 / tags
    rest = 1.2 * np.log(tags) + 0.4 * np.log(known) + 0.1 * np.log(4) + 0.3 * 0.7 - 0.2
    np.testing.assert_allclose(found, [1.5 * np.log([0.6, 0.3, 0.1]) + rest])


# --- the first tags, as people see them ---

both = pytest.mark.parametrize("with_features", [False, True], ids=["edges", "edges and features"])


@both
def test_one_annotation(with_features):
    X, W = three_groups()
    model = scored(W, annotations(30, 1, (0, 0)), X if with_features else None)
    values = values_of(model)[:, 0]
    assert model.items_until_percentages == ENOUGH_ITEMS - 1
    assert values.max() < 0.75
    assert values[1:PER].min() > 2 * values[PER:].max()
    assert {n for n, _ in suggested(model)} == set(range(1, PER))
    assert values[0] < values[1:PER].min()  # it is not scored by its own annotation
    # with a single tag its nearness alone speaks for it
    reasons = model.scores.contributions[:, 0]
    near = list(PREDICTORS).index("neighbours")
    assert (reasons[1:PER, near] > 0.3).all()
    assert (reasons[PER:, near] < 0).all()
    np.testing.assert_allclose(np.delete(reasons, near, axis=1), 0.0, atol=1e-6)


def test_nearer_items_come_first():
    path = np.diag(np.ones(11), 1)
    values = values_of(scored(path + path.T, annotations(12, 1, (0, 0))))[:, 0]
    assert (np.diff(values[1:]) <= 0).all()
    assert (np.diff(values[1:6]) < 0).all()


@both
def test_two_annotations_for_two_tags(with_features):
    X, W = three_groups()
    model = scored(W, annotations(30, 2, (0, 0), (PER, 1)), X if with_features else None)
    values = values_of(model)
    found = suggested(model)
    for n in range(30):
        if n not in (0, PER):
            assert [k for m, k in found if m == n] == ([GROUP[n]] if GROUP[n] < 2 else [])
    assert values.max() < 0.75
    assert values[2 * PER :].max() < values.mean()  # nobody said anything about the third group
    # the two tags in the other order
    other = scored(W, annotations(30, 2, (0, 1), (PER, 0)), X if with_features else None)
    np.testing.assert_allclose(values_of(other)[:, ::-1], values, atol=1e-5)


@both
def test_one_tag_only(with_features):
    X, W = three_groups()
    features = X if with_features else None
    model = scored(W, annotations(30, 1, *((n, 0) for n in range(5))), features)
    values = values_of(model)[:, 0]
    assert values[5:PER].min() > 1.5 * max(values.mean(), values[PER:].max())
    assert values.mean() > 2 * values[PER:].mean()
    best = sorted(suggested(model), key=lambda pair: -values[pair[0]])[:5]
    assert sorted(n for n, _ in best) == list(range(5, PER))
    # what people say it is not makes items like that less likely
    negative = [(PER, 0, -1), (PER + 1, 0, -1)]
    told = scored(W, annotations(30, 1, *((n, 0) for n in range(5)), *negative), features)
    less = values_of(told)[:, 0]
    near = np.arange(PER + 2, 2 * PER)
    assert (less[near] < values[near]).all()
    assert np.median(less[near]) < np.median(less[2 * PER :]) < less[5:PER].min()
    assert {n for n, _ in suggested(told)} == set(range(5, PER))


@both
def test_tags_that_were_never_used_together(with_features):
    X, W = three_groups()
    G = annotations(30, 2, *((n, 0) for n in range(4)), *((PER + n, 1) for n in range(4)))
    model = scored(W, G, X if with_features else None)
    values = values_of(model)
    assert (values[4:PER, 0] > 3 * values[4:PER, 1]).all()
    assert (values[PER + 4 : 2 * PER, 1] > 3 * values[PER + 4 : 2 * PER, 0]).all()
    assert not {(n, 1) for n in range(PER)} & set(suggested(model))
    assert not {(PER + n, 0) for n in range(PER)} & set(suggested(model))


@both
def test_a_tag_with_one_example(with_features):
    X, W = three_groups()
    G = annotations(30, 3, *((n, 0) for n in range(5)), *((PER + n, 1) for n in range(5)), (2 * PER, 2))
    model = scored(W, G, X if with_features else None)
    values = values_of(model)
    assert (values[2 * PER + 1 :].argmax(axis=1) == 2).all()
    assert 0.05 < values[2 * PER + 1 :, 2].min() <= values[2 * PER + 1 :, 2].max() < 0.9
    assert values[: 2 * PER, 2].max() < values[2 * PER + 1 :, 2].min() / 3
    first = dict(reversed(suggested(model)))
    assert all(first[n] == GROUP[n] for n in range(30) if G[[n]].nnz == 0)


@both
@pytest.mark.parametrize("count", [4, 30])
def test_all_items_are_tagged_alike(with_features, count):
    X, W = three_groups()
    tagged = np.linspace(0, 29, count).astype(int)
    G = annotations(30, 2, *((n, k) for n in tagged for k in range(2)))
    model = scored(W, G, X if with_features else None)
    values = values_of(model)
    np.testing.assert_allclose(values[:, 0], values[:, 1], atol=1e-3)
    others = np.setdiff1d(np.arange(30), tagged) if count < 30 else tagged
    assert values[others].min() > 0.3  # nothing speaks against them anywhere
    assert not set(suggested(model)) & set(zip(*G.nonzero(), strict=True))


@both
def test_items_unlike_all_others_are_not_offered_anything(with_features):
    """One without edges, and a pair that is connected to no tagged item; none of them has features."""
    X, W = three_groups()
    X, W = np.vstack([X, np.zeros((3, 3))]), sp.block_diag([W, np.zeros((1, 1)), [[0, 1], [1, 0]]]).tocsr()
    for stated in ([(0, 0)], [(0, 0), (PER, 1)], [(n, GROUP[n]) for n in range(0, 30, 2)]):
        K = 1 + max(k for _, k in stated)
        model = scored(W, annotations(33, K, *stated), X if with_features else None)
        values = values_of(model)
        assert values[30:].max() < values[:30].mean()
        assert not {30, 31, 32} & {n for n, _ in suggested(model)}


@both
def test_all_items_are_tagged(with_features):
    """Each by what it is; its own annotation left out, the tag of its group is still the likeliest."""
    X, W = three_groups()
    model = scored(W, annotations(30, 3, *enumerate(GROUP)), X if with_features else None)
    np.testing.assert_array_equal(values_of(model).argmax(axis=1), GROUP)
    assert model.items_until_percentages == 0
    assert not [(n, k) for n, k in suggested(model) if k == GROUP[n]]


def test_copies_of_an_item_have_the_same_scores():
    X, _ = three_groups()
    X = np.repeat(X, 2, axis=0)
    W = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0.0)
    values = values_of(scored(W, annotations(60, 2, (0, 0), (2 * PER, 1)), X))
    others = np.setdiff1d(np.arange(30), [0, PER])
    np.testing.assert_allclose(values[2 * others], values[2 * others + 1], rtol=1e-3)
    assert values[1, 0] == values[:, 0].max()  # nothing is more like the tagged one than its copy


def test_a_tagged_item_is_not_scored_by_one_of_its_own_group():
    """Each of two copies has a tag of its own that no other item has."""
    X, _ = three_groups()
    X = np.repeat(X, 2, axis=0)
    W = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0.0)
    G = annotations(60, 5, *((20 * k + copy, k) for k in range(3) for copy in range(2)), (6, 3), (26, 4))
    apart = values_of(scored(W, G, X, groups=np.arange(60) // 2))
    mixed = values_of(scored(W, G, X))
    for k in range(3):
        assert mixed[20 * k, k] > 5 * apart[20 * k, k]


def test_features_only_and_items_without_any():
    X, _ = three_groups()
    X[[5, 15, 29]] = 0.0
    model = scored(sp.csr_array((30, 30)), annotations(30, 2, (0, 0), (PER, 1)), X)
    found = suggested(model)
    assert not {5, 15, 29} & {n for n, _ in found}
    first = dict(reversed(found))
    known = [n for n in range(1, 2 * PER) if n not in (5, PER, 15)]
    assert [first[n] for n in known] == GROUP[known].tolist()
    assert values_of(model)[[5, 15, 29]].max() < values_of(model)[known].max(axis=1).min()


def test_no_edges_and_no_features():
    model = scored(sp.csr_array((6, 6)), annotations(6, 2, (0, 0), (1, 1)))
    assert values_of(model).max() < 0.05
    np.testing.assert_allclose(values_of(model)[2:], values_of(model)[2, 0])


@both
def test_hundreds_of_tags_on_one_item(with_features):
    X, W = three_groups()
    features = X if with_features else None
    G = annotations(30, 400, *((0, k) for k in range(400)))
    model = scored(W, G, features)
    values = values_of(model)
    assert values[1:PER].min() > values[PER:].max()
    np.testing.assert_allclose(values, values[:, :1] * np.ones(400), rtol=1e-4)  # no tag before another
    G = annotations(30, 400, *((0, k) for k in range(400)), (PER, 0))
    model = scored(W, G, features)
    values = values_of(model)
    assert (values[PER + 1 : 2 * PER].argmax(axis=1) == 0).all()
    assert np.median(values[1:PER, 1:]) > np.median(values[PER + 1 :, 1:])


def test_negative_annotations_only():
    X, W = three_groups()
    for stated in ([(0, 0, -1)], [(0, 0, -1), (PER, 1, -1)]):
        K = len(stated)
        model = scored(W, annotations(30, K, *stated), X)
        assert model.scores is None
        assert suggested(model) == []
        assert model.items_until_percentages == ENOUGH_ITEMS


def test_a_tag_that_no_item_has_is_not_suggested():
    X, W = three_groups()
    model = scored(W, annotations(30, 2, (0, 0), (3, 1, -1)), X)
    assert {k for _, k in suggested(model)} == {0}


# --- more and more of them ---


def blobs(items, tagged, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    cluster = rng.integers(4, size=items)
    X = 3.0 * np.eye(4)[cluster] + rng.normal(size=(items, 4))
    T = rng.random((items, 5)) < noise + 0.8 * np.eye(5)[cluster]
    T[~T.any(axis=1), 4] = True
    T[rng.permutation(items)[tagged:]] = False
    return X, lass.knn_graph(X, 8), sp.csr_array(T.astype(float))


def test_no_jump_where_the_mixture_ends():
    """One more tagged item changes no more there than one before or after it: training has its own noise."""
    X, W, G = blobs(400, MAX_TAGGED + 2, noise=0.2)  # hardly any neighbours are tagged alike
    tagged, found = np.flatnonzero(np.diff(G.indptr)), {}
    for count in range(MAX_TAGGED - 2, MAX_TAGGED + 3):
        some = G.tolil()
        some[tagged[count:]] = 0
        some = sp.csr_array(some)
        voters = find_voters(W, some)
        assert FewTags.possible(some, voters) == (count <= MAX_TAGGED)
        model = with_scores(complete(W, some, 0.5), features=X)
        assert bool(model.weights.mixture) == (count <= MAX_TAGGED)
        found[count] = values_of(model)
        assert share_of_few(some, voters) < 0.02
    *before, at_the_end, after = (np.abs(one - other).mean() for one, other in pairwise(found.values()))
    assert at_the_end < 1.5 * max(*before, after) < 0.06
    # groups that are too few to train on: the crowd instead of scores
    assert with_scores(complete(W, G, 0.5), features=X, groups=np.arange(400) % 5).scores is None


def test_no_jump_where_training_begins():
    changes = []
    for tagged in (9, 10, 11):
        X, W, G = blobs(200, tagged, seed=3)
        model = with_scores(complete(W, G, 0.5), features=X)
        assert model.weights.is_trained == (tagged >= 10)
        changes.append(values_of(model))
    steps = [np.abs(after - before).mean() for before, after in pairwise(changes)]
    assert max(steps) < 0.1


def test_the_mixture_counts_less_the_more_is_known():
    def share(G):
        return share_of_few(sp.csr_array(G), find_voters(sp.csr_array((len(G),) * 2), sp.csr_array(G)))

    shares = [share(np.ones((n, 1))) for n in (1, 2, 5, 10, 30, 100, 200)]
    assert shares[0] == pytest.approx(1.0)
    assert (np.diff(shares) < 0).all()
    assert shares[-1] == 0.0
    # no tag twice: nothing can be held out
    assert share(np.eye(50)) == pytest.approx(1.0, abs=1e-4)


@given(st.integers(0, 2**32 - 1), st.integers(4, 30), st.integers(1, 5), st.integers(1, 9), st.booleans())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_items_and_tags_in_another_order(seed, N, K, tagged, with_features):
    rng = np.random.default_rng(seed)
    W = random_graph(N, seed, parts=int(rng.integers(1, 3)))
    G = np.zeros((N, K))
    some = rng.permutation(N)[:tagged]
    G[some] = rng.choice([0, 0, 1, 1, -1], (len(some), K))
    G[some[0], 0] = 1.0
    X = rng.normal(size=(N, 3)) if with_features else None
    rows, columns = rng.permutation(N), rng.permutation(K)
    results = []
    for order, tags in ((np.arange(N), np.arange(K)), (rows, columns)):
        few = few_of(W[np.ix_(order, order)], G[np.ix_(order, tags)], None if X is None else X[order])
        odds, parts, _ = few.evidence(np.arange(N), few.train(), default_prior())
        assert np.isfinite(odds).all()
        assert np.isfinite(parts).all()
        assert (parts.sum(axis=(1, 2)) <= 1 + 1e-9).all()
        results.append(1.0 / (1.0 + np.exp(-odds)))
    np.testing.assert_allclose(results[1], results[0][np.ix_(rows, columns)], atol=2e-3)


def test_weights_of_the_mixture_survive_a_file():
    X, W = three_groups()
    model = scored(W, annotations(30, 2, (0, 0), (PER, 1)), X)
    read = Weights.from_json(model.weights.to_json())
    assert read == model.weights
    assert not read.is_trained
    assert sum(read.mixture.values()) == pytest.approx(1.0)
    again = with_scores(complete(W, annotations(30, 2, (0, 0), (PER, 1)), 0.5), features=X, weights=read)
    np.testing.assert_array_equal(values_of(again), values_of(model))
    assert again.scores.contributions.shape == (30, 2, len(PREDICTORS))


# --- whole groups tagged at once ---


def test_a_group_that_is_tagged_at_once_counts_once():
    """Six groups; of one all but two items are tagged at once, of the others one or two items each."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(6), 20)
    X = 3.0 * np.eye(6)[group] + rng.normal(size=(120, 6))
    W = lass.knn_graph(X, 8)
    whole = [(n, 0) for n in range(18)]
    model = scored(W, annotations(120, 1, *whole), X)
    assert model.items_until_percentages >= ENOUGH_ITEMS - 3
    assert not model.weights.is_trained
    singles = [(20 * k + n, k) for k in range(1, 6) for n in range(2)]
    alone = scored(W, annotations(120, 6, (0, 0), *singles), X)
    both = scored(W, annotations(120, 6, *whole, *singles), X)
    assert both.items_until_percentages <= alone.items_until_percentages
    others = np.setdiff1d(np.arange(20, 120), [n for n, _ in singles])
    right = {name: (values_of(model)[others].argmax(axis=1) == group[others]).mean()
             for name, model in (("alone", alone), ("both", both))}  # fmt: skip
    assert right["both"] > right["alone"] - 0.05
    first = values_of(both)[others].argmax(axis=1)
    assert (first == 0).mean() < 0.1
    claimed = np.take_along_axis(values_of(both)[others], first[:, None], 1)[:, 0].mean()
    assert claimed < right["both"] + 0.1


def test_clusters_of_voters():
    """Against a walk from item to item, on random graphs."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        N, K = int(rng.integers(5, 60)), int(rng.integers(1, 4))
        W = np.triu(rng.random((N, N)) < 0.15, 1) * rng.uniform(0.5, 2.0, (N, N))
        W = W + W.T
        G = rng.choice([0.0, 0.0, 1.0, -1.0], (N, K)) * (rng.random((N, 1)) < 0.6)
        annotated = np.flatnonzero(G.any(axis=1))
        found = find_voters(sp.csr_array(W), sp.csr_array(G))
        alike = {n: {m for m in annotated if (G[n] == G[m]).all()} for n in annotated}
        others = {n: [m for m in annotated if m not in alike[n]] for n in annotated}
        apart = {n for n in annotated if W[n, others[n]].sum() > W[n, sorted(alike[n])].sum()}
        if len(annotated) >= MOST * N:
            apart = set(annotated)
        cluster: dict[int, int] = {}
        for n in annotated:
            stack = [] if n in cluster else [n]
            cluster.setdefault(n, n)
            while stack:
                here = stack.pop()
                for m in alike[here] - apart if here not in apart else ():
                    if W[here, m] > 0 and m not in cluster:
                        cluster[m] = cluster[n]
                        stack.append(m)
        sizes = {c: list(cluster.values()).count(c) for c in cluster.values()}
        assert len(found.items) == sum(min(size, MEMBERS) for size in sizes.values())
        assert found.clusters == len({cluster[n] for n in annotated if (G[n] > 0).any()})
        for n, m in combinations(range(len(found.items)), 2):
            same = cluster[found.items[n]] == cluster[found.items[m]]
            assert same == (found.cluster[n] == found.cluster[m])
        weight = shares(found.cluster, rng.uniform(0.5, 3.0, len(found.items)))
        together = np.bincount(found.cluster, weight)
        assert (together > 1 - 1e-9).all()
        assert (weight < 1 + 1e-9).all()
